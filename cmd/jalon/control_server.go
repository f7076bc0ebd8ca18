package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// controller handles requests on the socket of a running trace.
type controller struct {
	listener *net.UnixListener
	trace    *jalon.Trace
}

// listen creates the socket of --control.
func listen(path string) (*controller, error) {
	l, err := openfile.ListenUnix(path)
	if err != nil {
		return nil, fmt.Errorf("--control %s: %w", path, err)
	}
	return &controller{listener: l}, nil
}

// serve handles requests until close.
func (c *controller) serve(t *jalon.Trace) {
	c.trace = t
	go func() {
		for {
			conn, err := c.listener.AcceptUnix()
			if err != nil {
				return
			}
			go c.talk(conn)
		}
	}()
}

func (c *controller) close() {
	if c != nil {
		_ = c.listener.Close() // which removes the socket
	}
}

// maxRequest bounds a line of a client.
const maxRequest = 1 << 16

// talk handles the requests of one client.
func (c *controller) talk(conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, maxRequest), maxRequest)
	for {
		_ = conn.SetDeadline(time.Now().Add(controlTimeout))
		if !lines.Scan() || json.NewEncoder(conn).Encode(c.reply(lines.Bytes())) != nil {
			return
		}
	}
}

// add arms one more tracepoint and returns its number.
func (c *controller) add(ctx context.Context, q request) (int, error) {
	tps, err := jalon.Parse([]string{q.Place}, q.Collect)
	if err != nil {
		return 0, err
	}
	return c.trace.Add(ctx, tps[0])
}

func (c *controller) reply(line []byte) reply {
	var q request
	if err := json.Unmarshal(line, &q); err != nil {
		return reply{Error: "cannot parse the request: " + err.Error()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), controlTimeout)
	defer cancel()
	var err error
	var list []jalon.Count
	switch q.Do {
	case "status":
		list, err = c.trace.Counts(ctx)
	case "add":
		n, err := c.add(ctx, q)
		if err != nil {
			return reply{Error: err.Error()}
		}
		return reply{Added: n}
	case "remove":
		err = c.trace.Remove(ctx, q.Number)
	case "enable", "disable":
		err = c.trace.SetEnabled(ctx, q.Number, q.Do == "enable")
	default:
		err = errors.New(noRequest(q.Do))
	}
	if err != nil {
		return reply{Error: err.Error()}
	}
	a := reply{}
	for i := range list {
		s := &list[i]
		a.Sites = append(a.Sites, siteReply{
			Tracepoint: s.Tracepoint, Enabled: s.Enabled, Place: s.Site.Place, Function: s.Site.Function, Tactic: s.Tactic,
			Hits: s.Hits(), Recorded: s.Recorded, False: s.False, Faults: s.Faults, Lost: s.Lost, Missed: s.Missed, CostNS: s.Cost.Nanoseconds(),
		})
	}
	return a
}

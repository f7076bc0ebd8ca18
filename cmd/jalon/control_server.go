package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// controller answers on the socket of a running trace.
type controller struct {
	listener *net.UnixListener
	trace    *jalon.Trace
}

// listen makes the socket of --control.
func listen(path string) (*controller, error) {
	l, err := openfile.ListenUnix(path)
	if err != nil {
		return nil, fmt.Errorf("--control %s: %w", path, err)
	}
	return &controller{listener: l}, nil
}

// serve answers until close.
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

// maxQuestion bounds a line of a client's.
const maxQuestion = 1 << 16

// talk answers one client's questions.
func (c *controller) talk(conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, maxQuestion), maxQuestion)
	for {
		_ = conn.SetDeadline(time.Now().Add(controlPatience))
		if !lines.Scan() || json.NewEncoder(conn).Encode(c.reply(lines.Bytes())) != nil {
			return
		}
	}
}

// add arms one more tracepoint and gives its number.
func (c *controller) add(ctx context.Context, q question) (int, error) {
	tps, err := jalon.Parse([]string{q.Place}, q.Collect)
	if err != nil {
		return 0, err
	}
	return c.trace.Add(ctx, tps[0])
}

func (c *controller) reply(line []byte) answer {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return answer{Error: "cannot parse the request: " + err.Error()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), controlPatience)
	defer cancel()
	var err error
	var list []jalon.Count
	switch q.Do {
	case "status":
		list, err = c.trace.Counts(ctx)
	case "add":
		n, err := c.add(ctx, q)
		if err != nil {
			return answer{Error: err.Error()}
		}
		return answer{Added: n}
	case "remove":
		err = c.trace.Remove(ctx, q.Number)
	case "enable", "disable":
		err = c.trace.SetEnabled(ctx, q.Number, q.Do == "enable")
	default:
		err = fmt.Errorf("%q: ask for enable N, disable N, remove N, add or status", q.Do)
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	a := answer{}
	for i := range list {
		s := &list[i]
		a.Sites = append(a.Sites, siteAnswer{
			Tracepoint: s.Tracepoint, Enabled: s.Enabled, Place: s.Site.Place, Function: s.Site.Function, Tactic: s.Tactic,
			Hits: s.Hits(), Recorded: s.Recorded, False: s.False, Faults: s.Faults, Lost: s.Lost, Missed: s.Missed, CostNS: s.Cost.Nanoseconds(),
		})
	}
	return a
}

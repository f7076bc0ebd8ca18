package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon"
)

// controller answers on the socket of a running trace.
type controller struct {
	listener *net.UnixListener
	trace    *jalon.Trace
}

// listen makes the socket: for its owner only, and never in the place of a file
// that is something else. What a killed jalon left behind is replaced.
func listen(path string) (*controller, error) {
	op := "--control " + path
	switch st, err := os.Lstat(path); {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("%s: %w", op, err)
	case st.Mode()&os.ModeSocket == 0:
		return nil, fmt.Errorf("%s: there is a file of that name, which is no socket; name another", op)
	default:
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("%s: another program listens there; name another", op)
		} else if !errors.Is(err, unix.ECONNREFUSED) {
			return nil, fmt.Errorf("%s: %w", op, err)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("%s: removing what an earlier jalon left: %w", op, err)
		}
	}
	old := unix.Umask(0o177)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	unix.Umask(old)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
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
const maxQuestion = 4096

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

func (c *controller) reply(line []byte) answer {
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		return answer{Error: "the question is not understood: " + err.Error()}
	}
	ctx, cancel := context.WithTimeout(context.Background(), controlPatience)
	defer cancel()
	var err error
	var list []jalon.Count
	switch q.Do {
	case "status":
		list, err = c.trace.Counts(ctx)
	case "enable", "disable":
		err = c.trace.SetEnabled(ctx, q.Number, q.Do == "enable")
	default:
		err = fmt.Errorf("%q: ask for enable N, disable N or status", q.Do)
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

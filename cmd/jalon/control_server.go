package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// controller handles the requests to a running trace.
type controller struct {
	requestServer
	trace *jalon.Trace
}

// listen creates the socket of --control.
func listen(path string) (*controller, error) {
	l, err := openfile.ListenUnix(path)
	if err != nil {
		return nil, fmt.Errorf("--control %s: %w", path, err)
	}
	return &controller{requestServer: requestServer{listener: l, patience: controlTimeout}}, nil
}

// start handles requests until close.
func (c *controller) start(t *jalon.Trace) {
	c.trace = t
	c.handle = func(line []byte) any { return c.reply(line) }
	go c.serve()
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

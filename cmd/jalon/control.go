package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/format"
)

// controlCmd connects to a running `jalon trace --control PATH`.
type controlCmd struct {
	Socket string   `arg:"" help:"The socket that jalon trace --control created"`
	Do     []string `arg:"" help:"${control}; N is the number of a tracepoint: 1 is the first place of the command line"`
	JSON   bool     `help:"Print the reply as JSON"`
}

// requests are the forms of a request.
const requests = "enable N, disable N, remove N, add 'PLACE if COND' [LIST]..., status"

func noRequest(text string) string {
	return fmt.Sprintf("%q is no request: use one of %s", text, requests)
}

// request and reply are the lines on the socket, one JSON object each.
type request struct {
	Do     string `json:"do"` // enable, disable, remove, add, status
	Number int    `json:"number,omitempty"`
	// For add: the place with its condition, and the collect lists.
	Place   string   `json:"place,omitempty"`
	Collect []string `json:"collect,omitempty"`
}

type reply struct {
	Error string      `json:"error,omitempty"`
	Added int         `json:"added,omitempty"` // the number of the new tracepoint
	Sites []siteReply `json:"sites,omitempty"`
}

type siteReply struct {
	Tracepoint int    `json:"tracepoint"`
	Enabled    bool   `json:"enabled"`
	Place      string `json:"place"`
	Function   string `json:"function,omitempty"`
	Tactic     string `json:"tactic,omitempty"` // how it is reached; "" when there is no site
	Hits       uint64 `json:"hits"`
	Recorded   uint64 `json:"recorded"`
	False      uint64 `json:"false"`
	Faults     uint64 `json:"faults"`
	Lost       uint64 `json:"lost"`
	Missed     uint64 `json:"missed"`
	CostNS     int64  `json:"cost_ns,omitempty"`
}

// controlTimeout is how long either side waits for the other.
const controlTimeout = 30 * time.Second

// maxReply bounds a reply. It is enough for 100,000 sites; a program of another user may listen at the
// socket.
const maxReply = 64 << 20

// Run sends the request and prints the reply.
func (c *controlCmd) Run() error {
	q, err := c.request()
	if err != nil {
		return err
	}
	a, err := c.send(q)
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(a)
	}
	if a.Error != "" {
		fmt.Fprintln(stderr, "jalon: "+a.Error)
		return exitError{1}
	}
	switch q.Do {
	case "status":
		_, err = io.WriteString(stdout, statusTable(a.Sites))
	case "add":
		_, err = fmt.Fprintf(stdout, "tracepoint %d\n", a.Added)
	}
	return err
}

func (c *controlCmd) request() (request, error) {
	switch {
	case len(c.Do) == 1 && c.Do[0] == "status":
		return request{Do: "status"}, nil
	case len(c.Do) >= 2 && c.Do[0] == "add":
		return request{Do: "add", Place: c.Do[1], Collect: c.Do[2:]}, nil
	case len(c.Do) == 2 && (c.Do[0] == "enable" || c.Do[0] == "disable" || c.Do[0] == "remove"):
		n, err := strconv.Atoi(c.Do[1])
		if err != nil || n < 1 {
			return request{}, usageError(fmt.Sprintf("%q is not the number of a tracepoint", c.Do[1]))
		}
		return request{Do: c.Do[0], Number: n}, nil
	}
	if slices.Contains([]string{"status", "add", "enable", "disable", "remove"}, c.Socket) {
		return request{}, usageError(fmt.Sprintf("the socket comes first: jalon control PATH %s, where PATH is that of jalon trace --control PATH", strings.Join(append([]string{c.Socket}, c.Do...), " ")))
	}
	return request{}, usageError(noRequest(strings.Join(c.Do, " ")))
}

func (c *controlCmd) send(q request) (*reply, error) {
	client := requestClient{socket: c.Socket, what: "trace", patience: controlTimeout, maxReply: maxReply}
	a := &reply{}
	err := client.ask(q, a)
	switch {
	case errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("there is no socket %s: start jalon trace with --control %s", c.Socket, c.Socket)
	case errors.Is(err, unix.ECONNREFUSED), errors.Is(err, unix.ENOTSOCK):
		return nil, fmt.Errorf("no jalon trace listens on %s", c.Socket)
	case errors.Is(err, unix.EACCES):
		return nil, fmt.Errorf("%s belongs to another user", c.Socket)
	case err != nil:
		return nil, err
	}
	return a, nil
}

// statusTable shows the counters, a site a line.
func statusTable(sites []siteReply) string {
	rows := [][]string{{"tracepoint", "place", "state", "hits", "recorded", "false", "faults", "lost", "missed", "ns/hit"}}
	for i := range sites {
		s := &sites[i]
		state := "enabled"
		if !s.Enabled {
			state = "disabled"
		}
		place := s.Place
		if s.Function != "" && !strings.Contains(place, s.Function) {
			place += " (" + s.Function + ")"
		}
		cost := "-"
		if s.CostNS > 0 {
			cost = strconv.FormatInt(s.CostNS, 10)
		}
		row := []string{strconv.Itoa(s.Tracepoint), place, state}
		for _, n := range []uint64{s.Hits, s.Recorded, s.False, s.Faults, s.Lost, s.Missed} {
			row = append(row, strconv.FormatUint(n, 10))
		}
		rows = append(rows, append(row, cost))
	}
	return string(format.Table(rows, func(column int) bool { return column == 0 || column > 2 }))
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/format"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// snapshotCmd asks a running flight recorder for a snapshot.
type snapshotCmd struct {
	Name string `arg:"" optional:"" help:"Which one, if several run: the directory of its trace or the last part of that name, the number of the traced process, or that of jalon"`
	List bool   `short:"l" help:"List the recordings of this user that run"`
	JSON bool   `help:"Print the reply as JSON"`
}

// Each running jalon record listens on a socket in the directory for that (openfile.RuntimeDirectory), record-PID.sock.

// recordRequest is a request to a running recording.
type recordRequest struct {
	Do string `json:"do"` // about, snapshot
}

// recordReply describes a recording, and the snapshot that was taken.
type recordReply struct {
	Error   string `json:"error,omitempty"`
	Dir     string `json:"dir"` // of the trace
	Jalon   int    `json:"jalon"`
	Pid     int    `json:"pid,omitempty"` // of the traced process
	Program string `json:"program,omitempty"`
	Flight  bool   `json:"flight"`
	Started string `json:"started"`
	Events  uint64 `json:"events"` // that are written, of the snapshot if there is one
	Bytes   int64  `json:"bytes"`
	Lost    uint64 `json:"lost"`
	Part    string `json:"part,omitempty"` // the directory of the snapshot

	socket string // where it listens
}

const recordSockets = "record-*.sock"

// snapshotTimeout is how long a recording may take for a snapshot: it waits for the disk.
const snapshotTimeout = 60 * time.Second

// aboutTimeout is how long it may take to say what it is.
const aboutTimeout = 5 * time.Second

// Run takes a snapshot.
func (c *snapshotCmd) Run() error {
	list, failed := recordings()
	if c.List {
		return c.list(list)
	}
	r, err := c.choose(list)
	if err != nil {
		return errors.Join(err, failed)
	}
	a, err := askRecording(r.socket, recordRequest{Do: "snapshot"}, snapshotTimeout)
	switch {
	case err != nil:
		return fmt.Errorf("%s: no snapshot: %w", r.Dir, err)
	case a.Error != "":
		return fmt.Errorf("%s: no snapshot: %s", r.Dir, a.Error)
	case c.JSON:
		return json.NewEncoder(stdout).Encode(a)
	}
	_, err = fmt.Fprintf(stdout, "%s: %d events, %s\n", a.Part, a.Events, bytesText(a.Bytes))
	return err
}

// recordings are those of this user that run. An error is that of one that does not reply.
func recordings() (list []*recordReply, failed error) {
	for _, dir := range openfile.RuntimeDirectories() {
		found, _ := filepath.Glob(filepath.Join(dir, recordSockets)) // a bad pattern only
		for _, socket := range found {
			r, err := askRecording(socket, recordRequest{Do: "about"}, aboutTimeout)
			switch {
			case errors.Is(err, unix.ECONNREFUSED): // jalon was killed
				_ = os.Remove(socket)
			case errors.Is(err, os.ErrNotExist): // it ended meanwhile
			case err != nil:
				failed = errors.Join(failed, err)
			default:
				list = append(list, r)
			}
		}
	}
	slices.SortFunc(list, func(a, b *recordReply) int { return strings.Compare(a.Started, b.Started) })
	return list, failed
}

// choose finds the flight recorder that is meant.
func (c *snapshotCmd) choose(list []*recordReply) (*recordReply, error) {
	var fit []*recordReply
	for _, r := range list {
		if r.called(c.Name) && (c.Name != "" || r.Flight) {
			fit = append(fit, r)
		}
	}
	switch {
	case len(fit) == 1 && !fit[0].Flight:
		return nil, usageError(fit[0].Dir + " is no flight recorder: all its events go to the disk; jalon report reads what is there")
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		fmt.Fprint(stderr, recordTable(fit))
		return nil, usageError("several flight recorders run: name one of them")
	case c.Name != "" && len(list) > 0:
		fmt.Fprint(stderr, recordTable(list))
		return nil, usageError(fmt.Sprintf("no recording %s runs; these do", c.Name))
	case len(list) > 0:
		return nil, usageError("no flight recorder runs, only recordings of all events: start one with jalon record --flight 16M")
	}
	return nil, fmt.Errorf("no recording of this user runs%s: start a flight recorder with jalon record --flight 16M (root sees those of root: sudo jalon snapshot)", c.called())
}

// called is the name in an error.
func (c *snapshotCmd) called() string {
	if c.Name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s was asked for)", c.Name)
}

// called reports whether a recording can be meant by a name.
func (r *recordReply) called(name string) bool {
	if name == "" || name == filepath.Base(r.Dir) {
		return true
	}
	if n, err := strconv.Atoi(name); err == nil && (n == r.Jalon || n == r.Pid) {
		return true
	}
	a, err := os.Stat(name)
	if err != nil {
		return false
	}
	b, err := os.Stat(r.Dir)
	return err == nil && os.SameFile(a, b)
}

func (c *snapshotCmd) list(list []*recordReply) error {
	if c.JSON {
		if list == nil {
			list = []*recordReply{}
		}
		return json.NewEncoder(stdout).Encode(list)
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(stdout, "no recording of this user runs")
		return err
	}
	_, err := io.WriteString(stdout, recordTable(list))
	return err
}

// recordTable shows recordings, one a line.
func recordTable(list []*recordReply) string {
	rows := [][]string{{"directory", "process", "program", "jalon", "kind", "events"}}
	for _, r := range list {
		kind, process, program := "all events", "-", r.Program
		if r.Flight {
			kind = "flight"
		}
		if r.Pid != 0 {
			process = strconv.Itoa(r.Pid)
		}
		if program == "" {
			program = "-"
		}
		rows = append(rows, []string{r.Dir, process, program, strconv.Itoa(r.Jalon), kind, strconv.FormatUint(r.Events, 10)})
	}
	return string(format.Table(rows, func(int) bool { return false }))
}

// askRecording sends a request to the recording that listens on a socket.
func askRecording(socket string, q recordRequest, patience time.Duration) (*recordReply, error) {
	c := requestClient{socket: socket, what: "recording", patience: patience, maxReply: maxRequest, admit: samePeer}
	a := &recordReply{socket: socket}
	if err := c.ask(q, a); err != nil {
		return nil, err
	}
	return a, nil
}

// samePeer checks that the process at the other end is of the same user.
func samePeer(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = openfile.SamePeer(int(fd)) })
	return errors.Join(err, failed)
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// recordServer handles the requests of jalon snapshot.
type recordServer struct {
	listener *net.UnixListener
	rec      *jalon.Recording
	trace    *jalon.Trace
	about    recordReply
}

// mostSockets bounds the names that are tried: processes of other pid namespaces can have the same number.
const mostSockets = 16

// listenForSnapshots makes the socket of a recording.
func listenForSnapshots() (*recordServer, error) {
	dir, err := openfile.RuntimeDirectory()
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("record-%d", os.Getpid())
	for i := range mostSockets {
		if i > 0 {
			name = fmt.Sprintf("record-%d-%d", os.Getpid(), i)
		}
		var l *net.UnixListener
		if l, err = openfile.ListenUnix(filepath.Join(dir, name+".sock")); err == nil {
			return &recordServer{listener: l}, nil
		}
		if !errors.Is(err, openfile.ErrInUse) {
			break
		}
	}
	return nil, err
}

// serve handles requests until close.
func (s *recordServer) serve(trace *jalon.Trace, rec *jalon.Recording, program []string, pid int, flight bool) {
	dir, err := filepath.Abs(rec.Dir())
	if err != nil {
		dir = rec.Dir()
	}
	s.trace, s.rec = trace, rec
	s.about = recordReply{Dir: dir, Jalon: os.Getpid(), Pid: pid, Flight: flight, Started: time.Now().Format(time.RFC3339Nano)}
	if running, ok := trace.Running(); ok && pid == 0 {
		s.about.Pid = running
	}
	switch {
	case len(program) > 0:
		s.about.Program = program[0]
	case pid != 0:
		s.about.Program = image.ProgramFile(pid)
	}
	go func() {
		for {
			conn, err := s.listener.AcceptUnix()
			if err != nil {
				return
			}
			go s.talk(conn)
		}
	}()
}

func (s *recordServer) close() {
	if s != nil {
		_ = s.listener.Close() // which removes the socket
	}
}

// talk handles the requests of one client.
func (s *recordServer) talk(conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	if samePeer(conn) != nil {
		return
	}
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, maxRequest), maxRequest)
	for {
		_ = conn.SetDeadline(time.Now().Add(2 * snapshotTimeout))
		if !lines.Scan() || json.NewEncoder(conn).Encode(s.reply(lines.Bytes())) != nil {
			return
		}
	}
}

func (s *recordServer) reply(line []byte) *recordReply {
	a := s.about
	st := s.rec.Status()
	a.Events, a.Bytes, a.Lost = st.Events, st.Bytes, st.Lost
	var q recordRequest
	switch err := json.Unmarshal(line, &q); {
	case err != nil:
		a.Error = "cannot parse the request: " + err.Error()
	case q.Do == "about":
	case q.Do != "snapshot":
		a.Error = fmt.Sprintf("%q is no request: about, snapshot", q.Do)
	case !a.Flight:
		a.Error = "it is no flight recorder"
	default:
		s.snapshot(&a)
	}
	return &a
}

func (s *recordServer) snapshot(a *recordReply) {
	ctx, cancel := context.WithTimeout(context.Background(), snapshotTimeout)
	defer cancel()
	part, err := s.rec.Snapshot(ctx, s.trace)
	if err != nil {
		a.Error = err.Error()
		return
	}
	a.Part, a.Events, a.Bytes = filepath.Join(a.Dir, filepath.Base(part.Dir)), part.Events, part.Bytes
}

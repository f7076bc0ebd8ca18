package main

import (
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
	requestServer
	rec   *jalon.Recording
	trace *jalon.Trace
	about recordReply
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
			return &recordServer{requestServer: requestServer{listener: l, patience: 2 * snapshotTimeout, admit: samePeer}}, nil
		}
		if !errors.Is(err, openfile.ErrInUse) {
			break
		}
	}
	return nil, err
}

// start handles requests until close.
func (s *recordServer) start(trace *jalon.Trace, rec *jalon.Recording, program []string, pid int, flight bool) {
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
	s.handle = func(line []byte) any { return s.reply(line) }
	go s.serve()
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

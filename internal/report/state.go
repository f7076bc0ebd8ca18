package report

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// State is the last dump of the state that a trace has.
type State struct {
	Whole     bool           `json:"whole"` // it was completed
	Unread    uint32         `json:"unread,omitempty"`
	Processes []StateProcess `json:"processes"`
	CPUs      []ctf.CPU      `json:"cpus"`

	Interrupts []ctf.Interrupt `json:"interrupts,omitempty"`
	Span       *ctf.Span       `json:"span,omitempty"` // CLOCK_MONOTONIC, nanoseconds, when it was read
}

// StateProcess is a process of a State.
type StateProcess struct {
	ctf.StateProcess
	Threads  []ctf.Thread   `json:"threads,omitempty"`
	Mappings []ctf.Mapping  `json:"mappings,omitempty"`
	Files    []ctf.OpenFile `json:"files,omitempty"`
}

// MakeState returns the state that a trace has.
func MakeState(t *ctf.Trace) *State {
	x := t.State
	s := &State{Whole: x.Dumped, Unread: x.Unread, CPUs: x.CPUs, Interrupts: x.Interrupts}
	if n := len(x.Spans); n > 0 && x.Dumped {
		s.Span = &x.Spans[n-1]
	}
	at := map[int]int{}
	for i := range x.Processes {
		at[x.Processes[i].Pid] = len(s.Processes)
		s.Processes = append(s.Processes, StateProcess{StateProcess: x.Processes[i]})
	}
	of := func(pid int) *StateProcess {
		if _, ok := at[pid]; !ok { // it ended before its name was read
			at[pid] = len(s.Processes)
			s.Processes = append(s.Processes, StateProcess{StateProcess: ctf.StateProcess{Pid: pid}})
		}
		return &s.Processes[at[pid]]
	}
	for _, names := range x.Threads() {
		th := names[len(names)-1]
		p := of(th.Pid)
		p.Threads = append(p.Threads, th)
	}
	for _, m := range x.Mappings {
		p := of(m.Pid)
		p.Mappings = append(p.Mappings, m)
	}
	for _, f := range x.Files {
		p := of(f.Pid)
		p.Files = append(p.Files, f)
	}
	slices.SortFunc(s.Processes, func(a, b StateProcess) int { return a.Pid - b.Pid })
	for i := range s.Processes {
		slices.SortFunc(s.Processes[i].Threads, func(a, b ctf.Thread) int { return a.Tid - b.Tid })
	}
	return s
}

// JSON writes the state as one object.
func (s *State) JSON(w io.Writer) error { return json.NewEncoder(w).Encode(s) }

// Text writes the state as tables.
func (s *State) Text(w io.Writer) error {
	if !s.Whole {
		fmt.Fprintln(w, "the trace has no complete dump of the state")
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "pid\tparent\tuser\tthreads\tname\tprogram")
	for i := range s.Processes {
		p := &s.Processes[i]
		program := p.Command
		if program == "" {
			program = p.Program
		}
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%s\t%s\n", p.Pid, p.Parent, p.UID, len(p.Threads), p.Name, program)
	}
	for i := range s.Processes {
		p := &s.Processes[i]
		if len(p.Mappings) > 0 {
			fmt.Fprintf(t, "\nmappings of %d\t\tbuild-id\tfile\n", p.Pid)
		}
		for _, m := range p.Mappings {
			fmt.Fprintf(t, "%#x\t%#x\t%s\t%s\n", m.Start, m.End, m.BuildID, m.Path)
		}
		if len(p.Files) > 0 {
			fmt.Fprintf(t, "\nopen files of %d\t\n", p.Pid)
		}
		for _, f := range p.Files {
			fmt.Fprintf(t, "%d\t%s\n", f.FD, f.Path)
		}
	}
	fmt.Fprintln(t, "\ncpu\tpackage\tcore\tnode")
	for _, c := range s.CPUs {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\n", c.CPU, c.Package, c.Core, c.Node)
	}
	if len(s.Interrupts) > 0 {
		fmt.Fprintln(t, "\nirq\tcontroller\thandler")
	}
	for _, x := range s.Interrupts {
		fmt.Fprintf(t, "%d\t%s\t%s\n", x.IRQ, x.Name, x.Action)
	}
	return t.Flush()
}

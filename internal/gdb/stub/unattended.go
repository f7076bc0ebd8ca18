package stub

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// unattended is a target that goes on without GDB: a trace run, or commands of breakpoints,
// outlive the connection.
type unattended struct {
	*core
	backlog     *backlog
	roster      *roster
	breakpoints *breakpoints
	reporter    *reporter
	resumer     *resumer
	settings    *settings
}

func newUnattended(m *Machine) *unattended {
	return &unattended{
		core: m.core, backlog: m.backlog, roster: m.roster, breakpoints: m.breakpoints, reporter: m.reporter,
		resumer: m.resumer, settings: m.settings,
	}
}

// goOn lets the target go on without GDB.
func (x *unattended) goOn() {
	x.reporter.forward = true
	x.breakpoints.removeAll(0)
	x.options = Options{PassSignals: x.options.PassSignals}
	x.target.SetOptions(x.options)
}

// passOn answers the stops of what runs while no GDB is there: a signal is delivered,
// everything else is let go.
func (x *unattended) passOn() {
	var rest []Stop
	var list []Resumption
	going := map[ThreadID]bool{}
	for _, s := range slices.Clone(x.backlog.pending) { // releaseChild changes the list
		t := x.roster.threads[s.Thread]
		switch {
		case !ofThread(s) || going[s.Thread]:
		case t == nil || !t.resumed:
			rest = append(rest, s)
		default:
			x.releaseChild(s)
			r := Resumption{Thread: s.Thread}
			if s.Kind == StopSignal && (x.settings.forProgram == nil || x.settings.forProgram[s.Signal]) {
				r.Signal = s.Signal
			}
			list = append(list, r)
			going[s.Thread] = true
		}
	}
	x.backlog.pending = rest
	if err := x.resumer.setGoing(list); err != nil {
		x.log("go on without GDB: " + err.Error())
	}
	if x.leaveWhenEmpty() {
		x.emit(Out{Kind: OutExit})
	}
}

// releaseChild detaches the child of a fork that GDB does not know of.
func (x *unattended) releaseChild(s Stop) {
	if s.Kind != StopForked && s.Kind != StopVForked {
		return
	}
	if err := x.target.Detach(s.Child.PID); err != nil {
		x.log(fmt.Sprintf("detach the forked process %d: %v", s.Child.PID, err))
	}
	x.reporter.forgetProcess(s.Child.PID)
}

// detachAndGoOn resumes everything for good, as a detach would.
func (x *unattended) detachAndGoOn() rsp.Packet {
	x.reporter.collect()
	x.roster.sync()
	x.backlog.queue = nil
	x.goOn()
	reported := map[ThreadID]bool{}
	for _, s := range x.backlog.pending {
		reported[s.Thread] = true
	}
	var list []Resumption
	for _, id := range x.roster.order {
		t := x.roster.threads[id]
		t.resumed = true // settle resumes those with an event to report
		if t.stopped && !reported[id] {
			list = append(list, Resumption{Thread: id})
		}
	}
	return done(x.resumer.setGoing(list))
}

package stub

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// processes come and go.
type processes struct {
	*core
	backlog     *backlog
	roster      *roster
	breakpoints *breakpoints
	replier     *replier
	reporter    *reporter
	unattended  *unattended
	launcher    *launcher
}

func newProcesses(m *Machine) *processes {
	return &processes{
		core: m.core, backlog: m.backlog, roster: m.roster, breakpoints: m.breakpoints, replier: m.replier,
		reporter: m.reporter, unattended: m.unattended, launcher: m.launcher,
	}
}

// packets are those that it handles.
func (x *processes) packets() []row {
	return []row{
		on("D", "lets a process go", x.detach),
		on("k", "ends all", x.kill),
		on("vKill", "ends a process", x.killProcess),
		on("vAttach", "stops a running process", x.attach),
		on("vRun", "starts a program", x.run),
		on("R", "starts it again", x.restart),
		on("qAttached", "was the process there before?", x.queryAttached),
	}
}

var noProcess = rsp.ErrorText{Text: rsp.Raw("there is no such process")}

func (x *processes) detach(p rsp.Detach) rsp.Packet {
	x.reporter.pause()
	if x.caps.Kernel {
		return x.detachKernel()
	}
	pid, ok := x.roster.process(p.PID)
	if !ok && x.forgetEnd(p.PID) {
		x.leaveAfter(rsp.OK{})
		return nil
	}
	if !ok {
		return noProcess
	}
	last := len(x.target.Processes()) == 1
	if last && (x.exp.Disconnected() || x.breakpoints.persistent(pid)) {
		if x.exp.Running() {
			x.log("Disconnected tracing in effect, leaving gdbserver attached to the process")
		}
		if x.breakpoints.persistent(pid) {
			x.log("Persistent commands are present, leaving gdbserver attached to the process")
		}
		return x.unattended.detachAndGoOn()
	}
	x.log(fmt.Sprintf("Detaching from process %d", pid))
	if number := uint64(pid); x.forgetEnd(&number) { // it ended just now
		x.leaveAfter(rsp.OK{})
		return nil
	}
	for _, s := range slices.Clone(x.backlog.pending) { // releaseChild changes the list
		if s.Thread.PID == pid && ofThread(s) {
			x.unattended.releaseChild(s)
		}
	}
	x.breakpoints.removeAll(pid)
	if err := x.target.Detach(pid); err != nil {
		return fail(err)
	}
	x.reporter.forgetProcess(pid)
	x.roster.sync()
	x.reporter.ended = Stop{Kind: StopExited, Thread: ThreadID{PID: pid}}
	x.leaveAfter(rsp.OK{})
	return nil
}

// forgetEnd drops the end of a process that was not reported to GDB, and reports whether
// there was one: GDB lets it go now.
func (x *processes) forgetEnd(pid *uint64) bool {
	x.reporter.collect()
	n := len(x.backlog.pending)
	x.backlog.pending = keep(x.backlog.pending, func(s Stop) bool {
		if s.Kind != StopExited && s.Kind != StopKilled || pid != nil && int(*pid) != s.Thread.PID {
			return true
		}
		x.replier.endTold(s.Thread.PID)
		return false
	})
	return len(x.backlog.pending) < n
}

// leaveAfter replies, and ends the server when nothing is left to serve.
func (x *processes) leaveAfter(p rsp.Packet) {
	x.reply(p)
	if x.leaveWhenEmpty() {
		x.emit(Out{Kind: OutClose})
		x.emit(Out{Kind: OutExit})
	}
}

// detachKernel leaves what there is of a run to itself.
func (x *processes) detachKernel() rsp.Packet {
	x.exp.Disconnected()
	return rsp.OK{}
}

// kill has no answer.
func (x *processes) kill(rsp.Kill) rsp.Packet {
	x.reporter.pause()
	if len(x.killable()) > 0 {
		x.log("Killing all inferiors")
	}
	x.killAll()
	if x.leaveWhenEmpty() || x.caps.Kernel && !x.extended && !x.cfg.Multi {
		x.emit(Out{Kind: OutClose})
		x.emit(Out{Kind: OutExit})
	}
	return nil
}

// killable are the processes; the kernel is none.
func (x *processes) killable() []int {
	if x.caps.Kernel {
		return nil
	}
	return x.target.Processes()
}

// killAll kills all processes. Some go with others: children that GDB does not know of.
func (x *processes) killAll() {
	for _, pid := range x.killable() {
		if !slices.Contains(x.killable(), pid) {
			continue
		}
		if err := x.killOne(pid); err != nil {
			x.log(err.Error())
		}
	}
}

// killOne kills a process with its unreported children, which GDB could never resume or
// detach.
func (x *processes) killOne(pid int) error {
	x.reporter.collect()
	for child, parent := range x.backlog.unreportedChildren() {
		if parent != pid || !slices.Contains(x.target.Processes(), child.PID) {
			continue
		}
		if err := x.target.Kill(child.PID); err != nil {
			x.log(fmt.Sprintf("kill the forked process %d: %v", child.PID, err))
		}
		x.reporter.forgetProcess(child.PID)
	}
	err := x.target.Kill(pid)
	if err != nil {
		return err
	}
	x.reporter.forgetProcess(pid)
	x.roster.sync()
	x.reporter.ended = Stop{Kind: StopKilled, Thread: ThreadID{PID: pid}, Signal: sigKill}
	return nil
}

func (x *processes) killProcess(p rsp.KillProcess) rsp.Packet {
	x.reporter.pause()
	pid, ok := x.roster.process(&p.PID)
	if !ok && x.forgetEnd(&p.PID) {
		return rsp.OK{}
	}
	if !ok || x.caps.Kernel {
		return noProcess
	}
	return done(x.killOne(pid))
}

// mayStart is the reason why no further process can be started; nil: one can.
func (x *processes) mayStart() error {
	switch {
	case !x.caps.Multi:
		return errors.New("this server neither starts programs nor attaches to them")
	case (!x.extended || !x.multi) && len(x.target.Processes()) > 0:
		return errors.New("a program is being debugged already")
	}
	return nil
}

func (x *processes) attach(p rsp.Attach) rsp.Packet {
	x.reporter.pause()
	if err := x.mayStart(); err != nil {
		return fail(err)
	}
	if p.PID == 0 || p.PID > 1<<31-1 {
		return noProcess
	}
	s, err := x.target.Attach(int(p.PID))
	if err != nil {
		return fail(err)
	}
	x.reporter.begun(s)
	x.roster.general = s.Thread
	if !x.nonStop {
		return x.reporter.presentStop(s.Thread)
	}
	for _, id := range x.roster.order { // sent as notifications, after the OK
		if t := x.roster.threads[id]; id.PID == s.Thread.PID && t.stopped {
			t.resumed, t.unread = true, true
			if t.why = (Stop{Kind: StopHalted, Thread: id}); id == s.Thread {
				t.why = s
			}
			x.backlog.pending = append(x.backlog.pending, t.why)
		}
	}
	return rsp.OK{}
}

func (x *processes) run(p rsp.Run) rsp.Packet {
	x.reporter.pause()
	if err := x.mayStart(); err != nil {
		return fail(err)
	}
	file := string(p.File)
	if file == "" {
		if len(x.launcher.launch.Args) == 0 {
			return failf("no program was run before, and none is named (see \"set remote exec-file\")")
		}
		file = x.launcher.launch.Args[0]
	}
	args := []string{file}
	for _, a := range p.Args {
		args = append(args, string(a))
	}
	x.launcher.launch.Args = args
	id, err := x.launcher.start()
	if err != nil {
		return fail(err)
	}
	return x.reporter.presentStop(id)
}

// restart has no answer in extended mode: GDB asks with `?`.
func (x *processes) restart(rsp.Restart) rsp.Packet {
	if !x.extended || !x.caps.Multi {
		return rsp.Unsupported{}
	}
	x.reporter.pause()
	x.killAll()
	if len(x.launcher.launch.Args) == 0 {
		return nil
	}
	_, _ = x.launcher.start() // an error was logged
	return nil
}

func (x *processes) queryAttached(p rsp.QueryAttached) rsp.Packet {
	pid, ok := x.roster.process(p.PID)
	if !ok {
		return badNumber
	}
	return rsp.Attached{Before: x.target.Attached(pid)}
}

package stub

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

var _ = []struct{}{
	on((*Machine).detach), on((*Machine).kill), on((*Machine).killProcess),
	on((*Machine).attach), on((*Machine).run), on((*Machine).restart),
}

var noProcess = rsp.ErrorText{Text: rsp.Raw("there is no such process")}

func (m *Machine) detach(p rsp.Detach) rsp.Packet {
	m.pause()
	if m.caps.Kernel {
		return m.detachKernel()
	}
	pid, ok := m.process(p.PID)
	if !ok && m.forgetEnd(p.PID) {
		m.leaveAfter(rsp.OK{})
		return nil
	}
	if !ok {
		return noProcess
	}
	last := len(m.target.Processes()) == 1
	if last && (m.exp.Disconnected() || m.persistent(pid)) {
		if m.exp.Running() {
			m.log("Disconnected tracing in effect, leaving gdbserver attached to the process")
		}
		if m.persistent(pid) {
			m.log("Persistent commands are present, leaving gdbserver attached to the process")
		}
		return m.detachAndGoOn()
	}
	m.log(fmt.Sprintf("Detaching from process %d", pid))
	m.collect()
	for _, s := range slices.Clone(m.pending) { // releaseChild changes the list
		if s.Thread.PID == pid && ofThread(s) {
			m.releaseChild(s)
		}
	}
	m.removeBreaks(pid)
	if err := m.target.Detach(pid); err != nil {
		return fail(err)
	}
	m.forgetProcess(pid)
	m.sync()
	m.ended = Stop{Kind: StopExited, Thread: ThreadID{PID: pid}}
	m.leaveAfter(rsp.OK{})
	return nil
}

// forgetEnd drops the end of a process that was not reported to GDB, and reports whether
// there was one: GDB lets it go now.
func (m *Machine) forgetEnd(pid *uint64) bool {
	m.collect()
	n := len(m.pending)
	m.pending = keep(m.pending, func(s Stop) bool {
		if s.Kind != StopExited && s.Kind != StopKilled || pid != nil && int(*pid) != s.Thread.PID {
			return true
		}
		m.endTold(s.Thread.PID)
		return false
	})
	return len(m.pending) < n
}

// leaveAfter replies, and ends the server when nothing is left to serve.
func (m *Machine) leaveAfter(p rsp.Packet) {
	m.reply(p)
	if m.leaveWhenEmpty() {
		m.emit(Out{Kind: OutClose})
		m.emit(Out{Kind: OutExit})
	}
}

// detachKernel leaves what there is of a run to itself.
func (m *Machine) detachKernel() rsp.Packet {
	m.exp.Disconnected()
	return rsp.OK{}
}

// detachAndGoOn resumes everything for good, as a detach would.
func (m *Machine) detachAndGoOn() rsp.Packet {
	m.collect()
	m.sync()
	m.queue = nil
	m.goOn()
	reported := map[ThreadID]bool{}
	for _, s := range m.pending {
		reported[s.Thread] = true
	}
	var list []Resumption
	for _, id := range m.order {
		t := m.threads[id]
		t.resumed = true // settle resumes those with an event to report
		if t.stopped && !reported[id] {
			list = append(list, Resumption{Thread: id})
		}
	}
	return done(m.setGoing(list))
}

// kill has no answer.
func (m *Machine) kill(rsp.Kill) rsp.Packet {
	m.pause()
	if len(m.killable()) > 0 {
		m.log("Killing all inferiors")
	}
	for _, pid := range m.killable() {
		if err := m.killOne(pid); err != nil {
			m.log(err.Error())
		}
	}
	if m.leaveWhenEmpty() || m.caps.Kernel && !m.extended && !m.cfg.Multi {
		m.emit(Out{Kind: OutClose})
		m.emit(Out{Kind: OutExit})
	}
	return nil
}

// killable are the processes; the kernel is none.
func (m *Machine) killable() []int {
	if m.caps.Kernel {
		return nil
	}
	return m.target.Processes()
}

// killOne kills a process, and the children of its that GDB does not know of: nobody
// would ever let them go.
func (m *Machine) killOne(pid int) error {
	m.collect()
	for child, parent := range m.unreportedChildren() {
		if parent != pid {
			continue
		}
		if err := m.target.Kill(child.PID); err != nil {
			m.log(fmt.Sprintf("kill the forked process %d: %v", child.PID, err))
		}
		m.forgetProcess(child.PID)
	}
	err := m.target.Kill(pid)
	if err != nil {
		return err
	}
	m.forgetProcess(pid)
	m.sync()
	m.ended = Stop{Kind: StopKilled, Thread: ThreadID{PID: pid}, Signal: sigKill}
	return nil
}

func (m *Machine) killProcess(p rsp.KillProcess) rsp.Packet {
	m.pause()
	pid, ok := m.process(&p.PID)
	if !ok && m.forgetEnd(&p.PID) {
		return rsp.OK{}
	}
	if !ok || m.caps.Kernel {
		return noProcess
	}
	return done(m.killOne(pid))
}

// mayStart says why no further process can be had; nil: it can.
func (m *Machine) mayStart() error {
	switch {
	case !m.caps.Multi:
		return errors.New("this server neither starts programs nor attaches to them")
	case (!m.extended || !m.multi) && len(m.target.Processes()) > 0:
		return errors.New("a program is being debugged already")
	}
	return nil
}

func (m *Machine) attach(p rsp.Attach) rsp.Packet {
	m.pause()
	if err := m.mayStart(); err != nil {
		return fail(err)
	}
	if p.PID == 0 || p.PID > 1<<31-1 {
		return noProcess
	}
	s, err := m.target.Attach(int(p.PID))
	if err != nil {
		return fail(err)
	}
	m.begun(s)
	m.general = s.Thread
	if !m.nonStop {
		return m.presentStop(s.Thread)
	}
	for _, id := range m.order { // sent as notifications, after the OK
		if t := m.threads[id]; id.PID == s.Thread.PID && t.stopped {
			t.resumed, t.unread = true, true
			if t.why = (Stop{Kind: StopHalted, Thread: id}); id == s.Thread {
				t.why = s
			}
			m.pending = append(m.pending, t.why)
		}
	}
	return rsp.OK{}
}

// presentStop tells why a thread stands.
func (m *Machine) presentStop(id ThreadID) rsp.Packet {
	t := m.threads[id]
	if t == nil {
		return noThread
	}
	return m.stopReply(t.why)
}

func (m *Machine) run(p rsp.Run) rsp.Packet {
	m.pause()
	if err := m.mayStart(); err != nil {
		return fail(err)
	}
	file := string(p.File)
	if file == "" {
		if len(m.launch.Args) == 0 {
			return failf("no program was run before, and none is named (see \"set remote exec-file\")")
		}
		file = m.launch.Args[0]
	}
	args := []string{file}
	for _, a := range p.Args {
		args = append(args, string(a))
	}
	m.launch.Args = args
	id, err := m.start()
	if err != nil {
		return fail(err)
	}
	return m.presentStop(id)
}

// start runs the program with its last arguments.
func (m *Machine) start() (ThreadID, error) {
	opt := m.launch
	opt.Env = maps.Clone(opt.Env) // the target may keep it
	s, err := m.target.Launch(opt)
	if err != nil {
		m.log(err.Error()) // GDB does not show it
		return ThreadID{}, err
	}
	m.begun(s)
	m.general = s.Thread
	return s.Thread, nil
}

// restart has no answer in extended mode: GDB asks with `?`.
func (m *Machine) restart(rsp.Restart) rsp.Packet {
	if !m.extended || !m.caps.Multi {
		return rsp.Unsupported{}
	}
	m.pause()
	for _, pid := range m.killable() {
		if err := m.killOne(pid); err != nil {
			m.log(err.Error())
		}
	}
	if len(m.launch.Args) == 0 {
		return nil
	}
	_, _ = m.start() // an error was logged
	return nil
}

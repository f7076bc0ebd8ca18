package process

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Attach traces a running process. Its threads continue to run while Attach seizes them.
func Attach(pid int, cfg Config) (*Process, error) {
	if err := unsupported(fmt.Sprintf("attach to process %d", pid)); err != nil {
		return nil, err
	}
	if err := attachable(pid); err != nil {
		return nil, err
	}
	return launch(cfg, func(p *Process) error {
		p.setPid(pid)
		raisePriority()
		if err := p.attacher.seizeAll(); err != nil {
			p.detacher.releaseAll()
			return err
		}
		p.space = inject.Open(p.pid)
		if err := p.space.Err(); err != nil {
			p.detacher.releaseAll()
			return &fail.Error{Op: fmt.Sprintf("open the memory of process %d", pid), Err: err}
		}
		if err := p.attacher.examine(); err != nil {
			p.detacher.releaseAll()
			return err
		}
		return nil
	})
}

// attachable finds the reasons that can be seen from outside.
func attachable(pid int) error {
	op := fmt.Sprintf("attach to process %d", pid)
	if pid == os.Getpid() {
		return &fail.Error{Op: op, Err: errors.New("that is jalon itself")}
	}
	st, err := sys.ReadStatus(pid)
	if err != nil {
		return diagnoseAttach(pid, unix.ESRCH)
	}
	if st.TGID != pid {
		return &fail.Error{Op: op, Err: fmt.Errorf("it is a thread of process %d", st.TGID), Remedy: fmt.Sprintf("use -p %d", st.TGID)}
	}
	if sys.IsKernelThread(pid) || st.Tracer != 0 {
		return diagnoseAttach(pid, unix.EPERM)
	}
	// Its threads could be stopped, but would run no call for jalon before it is thawed.
	if file := procdir.Frozen(pid); file != "" {
		return &fail.Error{Op: op, Err: fmt.Errorf("its control group has frozen it (%s)", file), Remedy: "thaw it, then try again"}
	}
	// Where the file may not be read the seize is refused too, with a reason.
	if ok, err := is64(pid); err == nil && !ok {
		return &fail.Error{Op: op, Err: errors.New("it is not a 64-bit x86 program"), Remedy: "jalon traces x86-64 programs"}
	}
	return nil
}

// maxLooks bounds how often seizeAll looks. Without a bound it would never end for a process whose threads
// all live for microseconds.
const maxLooks = 200

// maxRefused is how often in all the kernel may refuse threads before that is believed.
const maxRefused = 20

// seizeAll seizes every thread. The kernel attaches threads that seized ones create. Others may create
// threads meanwhile, so seizeAll reads the list until two readings show no new thread (a reading is not
// atomic). A thread that has ended may have created another.
func (p *attacher) seizeAll() error {
	refused := 0
	for looks, quiet := 0, 0; quiet < 2 && looks < maxLooks; looks++ {
		quiet++
		tids, err := sys.ThreadsOf(p.pid)
		if err != nil {
			return diagnoseAttach(p.pid, unix.ESRCH)
		}
		if p.threads.Get(p.pid) != nil && !p.attached(p.pid) {
			p.threads.Remove(p.pid) // an exec by a thread that was not seized: it has this id now
		}
		for _, tid := range tids {
			if p.threads.Get(tid) != nil {
				continue
			}
			got, err := p.seize(tid)
			switch {
			case p.unwanted.Load():
				return errInExec(p.pid)
			case p.interrupted.Load():
				return &fail.Error{Op: fmt.Sprintf("attach to process %d", p.pid), Err: errors.New("the end was asked for before all threads were traced")}
			}
			if err == nil {
				p.threads.Add(threads.Thread{TID: got, TGID: p.pid, State: threads.Running})
				p.seized = append(p.seized, got)
				quiet = 0
				continue
			} else if !p.passable(tid, err) {
				// During an exec a thread has ended, and another one has its id, between the
				// kernel's refusal and a look at it.
				if refused++; refused > maxRefused || p.foreign(tid) {
					return diagnoseAttach(p.pid, err)
				}
				quiet = 0
				break
			}
			if tid != p.pid && !p.attached(tid) {
				quiet = 0
			}
		}
	}
	if p.threads.Len() == 0 {
		return diagnoseAttach(p.pid, unix.EPERM)
	}
	return nil
}

// passable: a thread that has just ended, a leader that waits as a zombie for its
// threads, or one that the kernel attached already as the child of a seized one.
func (p *attacher) passable(tid int, err error) bool {
	if errors.Is(err, unix.ESRCH) {
		return true
	}
	st, serr := sys.ReadStatus(tid)
	if serr != nil || st.State == 'Z' || st.State == 'X' {
		return true
	}
	return p.attached(tid) && p.threads.Len() > 0
}

// attached: the kernel attached us to it.
func (p *attacher) attached(tid int) bool {
	st, err := sys.ReadStatus(tid)
	return err == nil && st.Tracer == p.tid
}

// foreign: another tracer has it.
func (p *attacher) foreign(tid int) bool {
	st, err := sys.ReadStatus(tid)
	return err == nil && st.Tracer != 0 && st.Tracer != p.tid
}

// examine stops the world once: to see that the threads are 64-bit ones, to learn
// their thread pointers, and to watch ld.so.
func (p *attacher) examine() error {
	if p.ctl != nil {
		p.ctl.collect = &p.ctl.first
		defer func() { p.ctl.collect = nil }()
	}
	defer p.world.thaw()
	if err := p.freezeSharers(); err != nil {
		if err == ErrGone {
			return diagnoseAttach(p.pid, unix.ESRCH)
		}
		return err
	}
	for _, t := range p.threads.All() {
		if t.State != threads.Stopped {
			continue
		}
		_ = sys.SetOptions(t.TID, sys.Options) // ESRCH: dying
		if !p.threads.Member(t) {
			continue
		}
		var regs Regs
		if err := sys.GetRegs(t.TID, &regs); err == sys.ErrNot64 {
			return &fail.Error{Op: fmt.Sprintf("attach to process %d", p.pid), Err: errors.New("it is not a 64-bit x86 program"), Remedy: "jalon traces x86-64 programs"}
		}
		p.driver.reportBorn(t)
	}
	p.linker.modulesArm()
	p.takePending()
	p.holdAll()
	return nil
}

// takePending stops threads with the signals that are pending for them: a debugger that attaches should see
// these first, as one that attaches by a signal does. (Such a debugger sends SIGSTOP, which is delivered
// after most other signals; our interrupt comes before them.)
func (p *attacher) takePending() {
	if p.ctl == nil {
		return
	}
	for _, t := range p.debugger.listedTasks() {
		if t.State != threads.Stopped || t.Stop != threads.StopTrap || t.Sig != 0 {
			continue
		}
		if st, err := sys.ReadStatus(t.TID); err == nil && st.Pending&^st.Blocked != 0 && p.world.deliver(t) != nil {
			continue // dying
		}
	}
	p.world.deliverShared()
}

// First are the stops that threads had at Attach: signals that waited for them. They
// are not reported by OnStop.
func (p *Process) First() (stops []Stop) {
	_ = p.controlDo(func() error { stops, p.ctl.first = p.ctl.first, nil; return nil }) // ErrGone: none
	return stops
}

// holdAll holds the threads of a process under run control: at an attach none runs on.
func (p *attacher) holdAll() {
	if p.ctl == nil {
		return
	}
	for _, t := range p.debugger.listedTasks() {
		if t.State == threads.Stopped || t.State == threads.Parked {
			t.dbg.Halted = t.Hold&threads.HoldDebug == 0
			t.Hold |= threads.HoldDebug
			t.dbg.Birth = 0 // the order of birth is not known: by number
		}
	}
}

// is64 reads the class of the program's ELF file, so that a 32-bit program is refused before anything is
// changed.
func is64(pid int) (bool, error) {
	f, err := procdir.Via(pid, func(dir string) (*os.File, error) { return os.Open(dir + "/exe") })
	if err != nil {
		return false, err
	}
	defer f.Close()
	var ident [20]byte
	if _, err := f.ReadAt(ident[:], 0); err != nil {
		return false, err
	}
	return string(ident[:4]) == elf.ELFMAG && ident[elf.EI_CLASS] == byte(elf.ELFCLASS64) &&
		elf.Machine(uint16(ident[18])|uint16(ident[19])<<8) == elf.EM_X86_64, nil
}

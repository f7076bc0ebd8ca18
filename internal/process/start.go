package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/inject"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// StartOptions say how to start a program.
type StartOptions struct {
	Env        []string // nil: jalon's own
	Dir        string   // "": jalon's own
	Stdin      *os.File // nil: /dev/null
	Stdout     *os.File // nil: /dev/null
	Stderr     *os.File // nil: /dev/null
	Credential *syscall.Credential
	Setsid     bool // in a session of its own
	// Group: in a process group of its own; with Terminal, which must be jalon's own
	// terminal, as its foreground group.
	Group    bool
	Terminal *os.File
	// FixedAddresses turns address space randomisation off.
	FixedAddresses bool
	// DieWithUs: the kernel kills the program when jalon ends in any way.
	DieWithUs bool
}

// Start starts a program and stops it before its first instruction (that of
// ld.so, for a dynamic program), held until Resume(Pid()). Errors are of the
// environment: no such program, not executable, not an x86-64 program.
func Start(argv []string, opt StartOptions, cfg Config) (*Process, error) {
	path, attr, done, err := opt.prepare(argv)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := unsupported("start " + argv[0]); err != nil {
		return nil, err
	}
	return launch(cfg, func(p *Process) error {
		pid, err := opt.fork(path, argv, attr)
		if err != nil {
			return &fail.Error{Op: fmt.Sprintf("start %s", argv[0]), Err: err}
		}
		p.waits.notify(true) // again: forkExec may have cancelled it
		p.setPid(pid)
		p.starter.child, p.starter.dieWithUs = true, opt.DieWithUs
		if err := p.starter.takeChild(); err != nil {
			_ = unix.Kill(pid, unix.SIGKILL)
			p.starter.reapChild()
			if sys.Gone(err) {
				err = errors.New("it was killed before its first instruction")
			}
			return &fail.Error{Op: fmt.Sprintf("trace %s", argv[0]), Err: err}
		}
		return nil
	})
}

// fork makes the child. It inherits the calling thread's personality, which is that
// of no other thread.
func (o *StartOptions) fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	if o.FixedAddresses {
		const addrNoRandomize = 0x0040000
		const ask = 0xffffffff
		was, _, _ := unix.RawSyscall(unix.SYS_PERSONALITY, ask, 0, 0)
		_, _, _ = unix.RawSyscall(unix.SYS_PERSONALITY, was|addrNoRandomize, 0, 0) // refused: addresses are random
		defer func() { _, _, _ = unix.RawSyscall(unix.SYS_PERSONALITY, was, 0, 0) }()
	}
	if o.Terminal == nil {
		return forkExec(path, argv, attr)
	}
	return o.forkForeground(path, argv, attr)
}

// forkForeground makes the child the foreground of the terminal. jalon must not be
// stopped by the signals for background processes. It catches them instead of ignoring
// them: an ignored signal would be inherited.
func (o *StartOptions) forkForeground(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	ignored := signal.Ignored(unix.SIGTTOU)
	if ignored {
		signal.Notify(make(chan os.Signal, 1), unix.SIGTTOU, unix.SIGTTIN)
	}
	pid, err := forkExec(path, argv, attr)
	if ignored {
		signal.Ignore(unix.SIGTTOU, unix.SIGTTIN)
	}
	if err == nil {
		// An error: it is no terminal, or not ours; the program runs without it.
		_ = unix.IoctlSetPointerInt(int(o.Terminal.Fd()), unix.TIOCSPGRP, pid)
	}
	return pid, err
}

// prepare finds the program and says how it is to be forked; done is called when
// that has happened.
func (o *StartOptions) prepare(argv []string) (path string, attr *syscall.ProcAttr, done func(), err error) {
	if len(argv) == 0 {
		return "", nil, nil, &fail.Error{Op: "start a program", Err: errors.New("no program was named")}
	}
	if path, err = exec.LookPath(argv[0]); err != nil {
		return "", nil, nil, notFound(argv[0], err)
	}
	if o.Dir != "" && !strings.Contains(argv[0], "/") {
		if path, err = filepath.Abs(path); err != nil {
			return "", nil, nil, &fail.Error{Op: fmt.Sprintf("start %s", argv[0]), Err: err}
		}
	}
	files, done, err := o.files()
	if err != nil {
		return "", nil, nil, err
	}
	attr = &syscall.ProcAttr{
		Dir: o.Dir, Env: o.Env, Files: files,
		Sys: &syscall.SysProcAttr{Ptrace: true, Credential: o.Credential, Setsid: o.Setsid},
	}
	attr.Sys.Setpgid = o.Group || o.Terminal != nil
	if attr.Env == nil {
		attr.Env = os.Environ()
	}
	return path, attr, done, nil
}

// notFound says why a program cannot be started, without the search's own words.
func notFound(name string, err error) error {
	remedy := ""
	if !strings.Contains(name, "/") {
		remedy = "give its path"
		if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
			remedy += ": ./" + name
		}
	}
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return &fail.Error{Op: fmt.Sprintf("start %s", name), Err: err, Remedy: remedy}
		}
		err = next
	}
}

func (o *StartOptions) files() (fds []uintptr, done func(), err error) {
	var null *os.File
	for _, f := range []*os.File{o.Stdin, o.Stdout, o.Stderr} {
		if f == nil {
			if null == nil {
				null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0)
				if err != nil {
					return nil, nil, err
				}
			}
			f = null
		}
		fds = append(fds, f.Fd())
	}
	return fds, func() {
		if null != nil {
			_ = null.Close()
		}
	}, nil
}

// takeChild turns the child's PTRACE_TRACEME, which is all that the fork of the
// Go runtime offers, into PTRACE_SEIZE, which alone lets group-stops work:
//
//  1. The child stops at its exec with SIGTRAP.
//  2. Detach with SIGSTOP: it goes into group-stop without executing anything.
//  3. Seize it. It reports the group-stop.
//  4. SIGCONT ends the group-stop; the signal itself is suppressed. It must be delivered for that: if the program is
//     started with it blocked, it is not until then.
func (p *starter) takeChild() error {
	ws, err := p.waitChild()
	if err != nil {
		return err
	}
	if ws.StopSignal() != unix.SIGTRAP {
		return fmt.Errorf("it stopped with %s instead of at its exec", sys.SignalName(ws.StopSignal()))
	}
	if err := sys.Detach(p.pid, unix.SIGSTOP); err != nil {
		return err
	}
	options := uintptr(sys.Options)
	if p.dieWithUs {
		options |= unix.PTRACE_O_EXITKILL
	}
	if err := sys.Seize(p.pid, options); err != nil {
		return err
	}
	t := p.threads.Add(threads.Thread{TID: p.pid, TGID: p.pid, State: threads.Starting})
	p.threads.Frozen++
	defer func() { p.threads.Frozen-- }()
	continued := false
	var blocked *uint64 // the mask, if it blocks SIGCONT
	for !continued || t.Stop != threads.StopTrap {
		ws, err := p.waitChild()
		if err != nil {
			return err
		}
		sig, ev := sys.SignalOf(ws), sys.EventOf(ws)
		t.State, t.Stop, t.Sig = threads.Stopped, threads.StopSignal, 0
		switch {
		case ev == unix.PTRACE_EVENT_STOP && sig != unix.SIGTRAP && !continued:
			t.Stop = threads.StopGroup
			if blocked == nil {
				if blocked, err = unblockContinue(p.pid); err != nil {
					return err
				}
			}
			if err := unix.Kill(p.pid, unix.SIGCONT); err != nil {
				return err
			}
		case ev == unix.PTRACE_EVENT_STOP:
			t.Stop = threads.StopTrap
		case ev == 0 && sig == unix.SIGCONT:
			continued = true
			if err := sys.Interrupt(p.pid); err != nil {
				return err
			}
		case ev == 0:
			t.Sig = sig // not ours
		}
		if continued && t.Stop == threads.StopTrap {
			break
		}
		if err := sys.Cont(p.pid, t.Sig); err != nil {
			return err
		}
		t.State = threads.Running
	}
	if blocked != nil {
		if err := sys.SetSigmask(p.pid, *blocked); err != nil {
			return err
		}
	}
	var regs Regs
	if err := sys.GetRegs(p.pid, &regs); err != nil {
		if err == sys.ErrNot64 {
			err = errors.New("it is not a 64-bit x86 program, and jalon traces no others")
		}
		return err
	}
	t.Hold = threads.HoldCaller
	if p.ctl != nil {
		t.Hold = threads.HoldDebug
	}
	p.space = inject.Open(p.pid)
	p.driver.reportBorn(t)
	p.linker.modulesArm()
	return nil
}

// unblockContinue removes SIGCONT from the signal mask of a stopped thread. It returns the mask if it was in it.
func unblockContinue(tid int) (before *uint64, err error) {
	const bit = 1 << (unix.SIGCONT - 1)
	mask, err := sys.GetSigmask(tid)
	if err != nil || mask&bit == 0 {
		return nil, err
	}
	return &mask, sys.SetSigmask(tid, mask&^bit)
}

// waitChild waits for the child's next stop.
func (p *starter) waitChild() (ws unix.WaitStatus, err error) {
	for {
		if ws, ok := sys.Wait(p.pid); ok {
			if !ws.Stopped() {
				return ws, sys.ErrThreadGone
			}
			return ws, nil
		}
		if sys.ThreadState(p.pid) == 0 {
			return 0, sys.ErrThreadGone // its end was taken already
		}
		p.waits.sleep(nap)
	}
}

// reapChild takes the end of a killed child.
func (p *starter) reapChild() {
	for {
		ws, err := p.waitChild()
		if err != nil {
			return
		}
		_ = ws
		_ = sys.Cont(p.pid, 0) // it may stop once more (exit)
	}
}

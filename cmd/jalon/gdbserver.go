package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	gdbkernel "github.com/jalon-trace/jalon/internal/gdb/kernel"
	gdbprocess "github.com/jalon-trace/jalon/internal/gdb/process"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
	"github.com/jalon-trace/jalon/internal/gdb/stub"
	"github.com/jalon-trace/jalon/internal/openfile"
)

// gdbserverCmd is only for the list of commands; its arguments are gdbserver's and are parsed by
// parseGdbserver.
type gdbserverCmd struct {
	Args []string `arg:"" optional:"" passthrough:"" help:"as gdbserver's; see jalon gdbserver --help"`
}

// gdbserver serves GDB and returns the exit status.
func gdbserver(args []string) int {
	a, err := parseGdbserver(args)
	if err != nil {
		fmt.Fprintf(stderr, "%s\n%s", strings.TrimPrefix(err.Error(), "gdbserver: "), gdbserverUsage)
		return 1
	}
	switch {
	case a.help:
		fmt.Fprint(stdout, gdbserverUsage)
		return 0
	case a.version:
		fmt.Fprintln(stdout, "jalon gdbserver", version)
		return 0
	case a.listPackets:
		fmt.Fprintln(stdout, "Packets that can be disabled: vCont, T, Tthread, qC, qfThreadInfo, threads")
		return 0
	case a.selftest:
		fmt.Fprintln(stdout, "Selftests have been disabled for this build.")
		return 0
	}
	s := &gdbServer{args: a}
	return s.main.serve(func() int {
		status, err := s.run()
		if err != nil {
			fmt.Fprintf(stderr, "%v\nExiting\n", err)
			return 1
		}
		return status
	})
}

// gdbServer is one run of `jalon gdbserver`.
type gdbServer struct {
	args   *gdbserverArgs
	target stub.Target
	stdio  bool
	log    io.Writer
	main   mainThread

	mu sync.Mutex // guards log
}

func (s *gdbServer) run() (int, error) {
	a := s.args
	s.stdio = a.comm == "-" || a.comm == "stdio"
	s.log = stderr
	if a.debugFile != "" {
		f, err := openfile.Create(a.debugFile)
		if err != nil {
			return 0, fmt.Errorf("open the file for --debug-file: %w", err)
		}
		defer f.Close()
		s.log = f
	}
	if s.stdio {
		fmt.Fprintln(stderr, "stdin/stdout redirected")
	}
	restore := s.ownTerminal()
	defer restore()
	listener, err := listenForGDB(a.comm)
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	if err := s.makeTarget(); err != nil {
		return 0, err
	}
	defer func() {
		if err := s.target.Close(); err != nil {
			s.say(err.Error())
		}
	}()
	cfg, err := s.first()
	if err != nil {
		return 0, err
	}
	exp := experiment.New(s.target.Engine(), experiment.Options{
		Target: s.target.Description(), WriteFile: writeTrace,
		Print: func(text string) { fmt.Fprint(programText(), text) }, Log: s.logf, Predefined: s.predefined(),
	})
	m := stub.New(s.target, exp, cfg)
	ctx, stop := untilSignal()
	defer stop()
	status, err := stub.Serve(ctx, &announced{Listener: listener, s: s}, s.target, m)
	if ctx.Err() != nil {
		return 1, nil // jalon detaches from attached processes
	}
	return status, err
}

// predefined returns the trace state variables that the target defines.
func (s *gdbServer) predefined() []experiment.Variable {
	if s.args.kernel {
		return gdbkernel.Predefined()
	}
	return gdbprocess.Predefined()
}

// makeTarget makes the target for GDB.
func (s *gdbServer) makeTarget() error {
	a := s.args
	if a.kernel {
		return s.makeKernel()
	}
	opt := gdbprocess.Options{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Terminal: terminal(), Wrapper: a.wrapper,
		Output: func(text string) { fmt.Fprint(programText(), text) }, OnPanic: bug, Go: s.main.run, NoOptimise: a.noOptimise,
	}
	if s.stdio { // GDB uses them
		opt.Stdin, opt.Stdout, opt.Terminal = nil, os.Stderr, nil
		opt.Output = func(text string) { fmt.Fprint(stderr, text) }
	}
	if a.debug {
		opt.Log = s.logf
	}
	t, err := gdbprocess.New(opt)
	if err != nil {
		return err
	}
	s.target = t
	return nil
}

// makeKernel makes a target of the running kernel.
func (s *gdbServer) makeKernel() error {
	opt := gdbkernel.Options{Vmlinux: s.args.vmlinux}
	if s.args.debug {
		opt.Log = s.logf
	}
	t, err := gdbkernel.Open(opt)
	if err != nil {
		return err
	}
	s.target = t
	return nil
}

// first starts the program or attaches to the process of the command line.
func (s *gdbServer) first() (stub.Config, error) {
	a := s.args
	cfg := stub.Config{
		Multi: a.multi, Once: a.once, Log: s.say,
		Launch: stub.LaunchOptions{Args: a.program, RandomAddresses: a.randomAddresses, ThroughShell: !a.noShell && os.Getenv("SHELL") != ""},
	}
	switch {
	case a.attach != 0:
		stop, err := s.target.Attach(a.attach)
		if err != nil {
			return cfg, fmt.Errorf("Cannot attach to process %d: %w", a.attach, err) //nolint:staticcheck // gdbserver's words
		}
		cfg.First = append(cfg.First, stop)
		s.say(fmt.Sprintf("Attached; pid = %d", a.attach))
	case len(a.program) > 0:
		path, err := programPath(a.program[0])
		if err != nil {
			return cfg, err
		}
		cfg.Launch.Args = append([]string{path}, a.program[1:]...)
		stop, err := s.target.Launch(cfg.Launch)
		if err != nil {
			return cfg, err
		}
		cfg.First = append(cfg.First, stop)
		s.say(fmt.Sprintf("Process %s created; pid = %d", path, stop.Thread.PID))
	}
	return cfg, nil
}

// programPath finds a program as gdbserver does: a name without a slash is looked up in the current
// directory before PATH. A name with a slash stays as it is typed: it is the program's argv[0].
func programPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	if st, err := os.Stat(name); err != nil || st.IsDir() {
		return name, nil // the shell looks it up
	}
	return filepath.Abs(name)
}

// terminal returns jalon's terminal if jalon is in the foreground group.
func terminal() *os.File {
	group, err := unix.IoctlGetInt(int(os.Stdin.Fd()), unix.TIOCGPGRP)
	if err != nil || group != unix.Getpgrp() {
		return nil
	}
	return os.Stdin
}

// ownTerminal lets jalon write to a terminal that it has given to the program, and returns a function that
// restores the terminal's owner.
func (s *gdbServer) ownTerminal() (restore func()) {
	tty := terminal()
	if s.stdio || tty == nil {
		return func() {}
	}
	ignoreTTYSignals()
	return func() { _ = unix.IoctlSetPointerInt(int(tty.Fd()), unix.TIOCSPGRP, unix.Getpgrp()) }
}

// say prints a message for the user of the server, in gdbserver's words if gdbserver has the same message.
func (s *gdbServer) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(stderr, text)
}

func (s *gdbServer) logf(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.log, "%s %s\n", time.Now().Format("15:04:05.000000"), text)
}

// listenForGDB is rsp.Listen with gdbserver's texts for a port in use and an unknown host, which users of
// GDB know.
func listenForGDB(comm string) (*rsp.Listener, error) {
	l, err := rsp.Listen(comm)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, errors.New("Can't bind address: Address already in use.") //nolint:staticcheck // gdbserver's words
	}
	var unknown *net.DNSError
	if errors.As(err, &unknown) {
		return nil, fmt.Errorf("%s: cannot resolve name: Name or service not known", comm)
	}
	return l, err
}

// announced is a listener that prints its address and the address of each client.
type announced struct {
	*rsp.Listener
	s         *gdbServer
	announced bool

	refusals int // since the last report
	reported time.Time
}

// refused reports refused connections, at most one a second: another user can make thousands.
func (l *announced) refused(err error) {
	if l.refusals++; time.Since(l.reported) < time.Second {
		return
	}
	text := "jalon: " + err.Error()
	if l.refusals > 1 {
		text += fmt.Sprintf(" (and %d more since the last report)", l.refusals-1)
	}
	l.refusals, l.reported = 0, time.Now()
	l.s.say(text)
}

// Accept implements stub.Listener.
func (l *announced) Accept() (io.ReadWriteCloser, error) {
	if !l.s.stdio && !l.announced {
		l.Refused = l.refused
		if clients := l.Exposed(); clients != "" {
			l.s.say("jalon: warning: " + clients + " can read and change memory and files with the rights of this server; a unix socket (unix:PATH) or the loopback interface (:PORT) keeps them away")
		}
		_, port, err := net.SplitHostPort(l.Addr())
		if err != nil {
			port = l.Addr()
		}
		l.s.say("Listening on port " + port)
	}
	l.announced = true
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if l.s.stdio {
		l.s.say("Remote debugging using stdio")
	} else if n, ok := c.(net.Conn); ok {
		host, port, err := net.SplitHostPort(n.RemoteAddr().String())
		if err == nil {
			l.s.say(fmt.Sprintf("Remote debugging from host %s, port %s", host, port))
		}
	}
	if l.s.args.once {
		_ = l.Listener.Close()
	}
	return c, nil
}

// writeTrace writes a trace file completely or not at all.
func writeTrace(name string, content func(io.Writer) error) error {
	f, err := openfile.Create(name)
	if err != nil {
		return err
	}
	if err := content(f); err != nil {
		_ = openfile.Discard(f)
		return err
	}
	return f.Close()
}

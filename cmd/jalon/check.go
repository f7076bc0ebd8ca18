package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/engine/kernel"
)

type checkCmd struct {
	Pid int `short:"p" help:"Also check a running process: obstacles to tracing, and changes to its code by other tracers and by jalon"`
}

// finding is the result of one check of this machine and user.
type finding struct {
	ok     bool
	what   string
	detail string
	remedy string // what to do when !ok
}

func (v *finding) print() {
	mark := "yes"
	if !v.ok {
		mark = "no "
	}
	fmt.Fprintf(stdout, "%s  %-34s %s\n", mark, v.what, v.detail)
	if !v.ok && v.remedy != "" {
		fmt.Fprintf(stdout, "     = remedy: %s\n", v.remedy)
	}
}

// Run makes every check and prints a line for each. The exit status is 1 if the main job (tracing the
// user's own programs) is not possible.
func (c checkCmd) Run() error {
	checks := []struct {
		vital bool
		run   func() finding
	}{
		{true, checkArch},
		{true, checkOwnChild},
		{false, checkAttach},
		{true, checkMemfd},
		{false, checkTSC},
		{false, checkRDPID},
		{false, checkFSGSBASE},
		{false, checkDebugRegisters},
		{false, checkRseq},
		{false, checkDebugDirs},
		{false, checkCompiler},
	}
	bad := false
	for _, c := range checks {
		v := c.run()
		v.print()
		bad = bad || c.vital && !v.ok
	}
	fmt.Fprintln(stdout, "\nthe kernel engine (places of the kernel, and programs by uprobes):")
	facts, err := kernel.Facts()
	if err != nil {
		fmt.Fprintf(stdout, "no   %v\n", err)
	}
	for _, f := range facts {
		(&finding{f.OK, f.Name, f.Text, f.Remedy}).print()
	}
	if c.Pid != 0 {
		if err := checkProcess(c.Pid); err != nil {
			return err
		}
	}
	if bad {
		return exitError{1}
	}
	return nil
}

func checkArch() finding {
	var u unix.Utsname
	_ = unix.Uname(&u)
	release := unix.ByteSliceToString(u.Release[:])
	return finding{
		runtime.GOARCH == "amd64", "x86-64 Linux", "kernel " + release,
		"code inside processes is patched on x86-64 only; on " + runtime.GOARCH + " places in programs are reached by uprobes, and GDB can trace the kernel (gdbserver --kernel)",
	}
}

// checkOwnChild traces a child of jalon, as `jalon trace -- prog` does.
func checkOwnChild() finding {
	v := finding{what: "trace programs that jalon starts", remedy: "ptrace is refused: look for a seccomp filter (containers: --cap-add=SYS_PTRACE or a newer runtime) or kernel.yama.ptrace_scope=3"}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr := &os.ProcAttr{Sys: &unix.SysProcAttr{Ptrace: true}, Files: []*os.File{nil, nil, nil}}
	p, err := os.StartProcess("/proc/self/exe", []string{"jalon", "version"}, attr)
	if err != nil {
		v.detail = err.Error()
		return v
	}
	var ws unix.WaitStatus
	_, err = unix.Wait4(p.Pid, &ws, 0, nil)
	v.ok = err == nil && ws.Stopped()
	if v.ok {
		v.detail = "by ptrace, no privilege needed"
	}
	_ = p.Kill()
	_, _ = p.Wait()
	return v
}

func checkAttach() finding {
	v := finding{what: "attach to running programs (-p)"}
	scope := strings.TrimSpace(readFile("/proc/sys/kernel/yama/ptrace_scope"))
	cap := hasCap(unix.CAP_SYS_PTRACE)
	switch {
	case cap:
		v.ok, v.detail = true, "of every user (CAP_SYS_PTRACE)"
	case scope == "" || scope == "0":
		v.ok, v.detail = true, "of user "+strconv.Itoa(os.Getuid())
		v.remedy = "for other users' programs run jalon as root or with CAP_SYS_PTRACE"
	default:
		v.detail = "kernel.yama.ptrace_scope is " + scope
		v.remedy = "start the program with `jalon trace ... -- PROGRAM`, run jalon as root, or: sysctl kernel.yama.ptrace_scope=0"
	}
	return v
}

func checkMemfd() finding {
	v := finding{what: "shared memory (memfd)", remedy: "memfd_create is refused: look for a seccomp filter"}
	fd, err := unix.MemfdCreate("jalon-check", unix.MFD_CLOEXEC)
	if err != nil {
		v.detail = err.Error()
		return v
	}
	unix.Close(fd)
	v.ok = true
	return v
}

func checkTSC() finding {
	source := strings.TrimSpace(readFile("/sys/devices/system/clocksource/clocksource0/current_clocksource"))
	return finding{
		host.X86().SteadyTSC, "steady time stamp counter", "kernel clock source: " + source,
		"times of events may drift between CPUs; nothing else is affected",
	}
}

func checkRDPID() finding {
	return finding{
		host.X86().RDPID, "CPU number by rdpid", "",
		"not needed where the rseq area is registered; otherwise a record costs some nanoseconds more",
	}
}

func checkFSGSBASE() finding {
	return finding{host.X86().FSGSBASE, "thread pointer by rdfsbase", "", "the thread pointer is read from memory instead"}
}

func checkDebugRegisters() finding {
	return finding{
		host.DebugRegisters(), "watchpoints by debug registers", "",
		"what this virtual machine's debug registers are set to has no effect; GDB can single-step (set can-use-hw-watchpoints 0)",
	}
}

func checkRseq() finding {
	var conf [24]byte
	const ptraceGetRseqConfiguration = 0x420f // Linux 5.13
	_, _, errno := unix.RawSyscall6(unix.SYS_PTRACE, ptraceGetRseqConfiguration, uintptr(1<<30), 24, 0, 0, 0)
	_ = conf
	// A process that cannot exist: ESRCH means that the request itself is known.
	return finding{
		errno == unix.ESRCH || errno == unix.EPERM, "CPU number by rseq", "programs with glibc 2.35 or newer",
		"Linux 5.13 or newer is needed; rdpid is used instead",
	}
}

func checkDebugDirs() finding {
	_, err := os.Stat("/usr/lib/debug")
	return finding{
		err == nil, "separate debug information", "/usr/lib/debug",
		"install the -dbgsym or -dbg packages of the programs you trace; programs built with -g need none",
	}
}

func checkCompiler() finding {
	return finding{true, "compiler, LLVM, kernel headers", "not needed", ""}
}

func hasCap(c uint) bool {
	for _, l := range strings.Split(readFile("/proc/self/status"), "\n") {
		if hex, ok := strings.CutPrefix(l, "CapEff:\t"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && n>>c&1 == 1
		}
	}
	return false
}

func readFile(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}

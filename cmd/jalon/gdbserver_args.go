package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// gdbserverArgs is the command line of `jalon gdbserver`. It is the same as gdbserver's, so scripts and
// IDEs can start either.
type gdbserverArgs struct {
	comm    string   // where to listen: :PORT, HOST:PORT, unix:PATH, - or stdio
	program []string // with its arguments
	attach  int      // process id; 0: none
	kernel  bool
	vmlinux string

	once, multi     bool
	wrapper         []string
	randomAddresses bool
	noShell         bool
	disabled        []string // packets that are not announced to GDB
	debug           bool     // log each step
	remoteDebug     bool     // log the packets
	debugFile       string
	noOptimise      bool // skip the IR passes, to measure their effect

	version, help, listPackets, selftest bool
}

// gdbserverFlags are the options without a value.
var gdbserverFlags = map[string]func(*gdbserverArgs){
	"--once":                     func(a *gdbserverArgs) { a.once = true },
	"--multi":                    func(a *gdbserverArgs) { a.multi = true },
	"--kernel":                   func(a *gdbserverArgs) { a.kernel = true },
	"--disable-randomization":    func(a *gdbserverArgs) { a.randomAddresses = false },
	"--no-disable-randomization": func(a *gdbserverArgs) { a.randomAddresses = true },
	"--startup-with-shell":       func(a *gdbserverArgs) { a.noShell = false },
	"--no-startup-with-shell":    func(a *gdbserverArgs) { a.noShell = true },
	"--debug":                    func(a *gdbserverArgs) { a.debug = true },
	"--remote-debug":             func(a *gdbserverArgs) { a.remoteDebug = true },
	"--event-loop-debug":         func(*gdbserverArgs) {}, // jalon has no such event loop
	"--disable-packet":           func(a *gdbserverArgs) { a.listPackets = true },
	"--no-optimise":              func(a *gdbserverArgs) { a.noOptimise = true },
	"--selftest":                 func(a *gdbserverArgs) { a.selftest = true },
	"--version":                  func(a *gdbserverArgs) { a.version = true },
	"--help":                     func(a *gdbserverArgs) { a.help = true },
	"-h":                         func(a *gdbserverArgs) { a.help = true },
}

// gdbserverValues are the options with a value behind "=".
var gdbserverValues = map[string]func(*gdbserverArgs, string){
	"--debug-file":     func(a *gdbserverArgs, v string) { a.debugFile = v },
	"--debug-format":   func(*gdbserverArgs, string) {}, // lines always have a time
	"--debug":          func(a *gdbserverArgs, _ string) { a.debug = true },
	"--selftest":       func(a *gdbserverArgs, _ string) { a.selftest = true },
	"--disable-packet": func(a *gdbserverArgs, v string) { a.disabled = append(a.disabled, strings.Split(v, ",")...) },
	"--vmlinux":        func(a *gdbserverArgs, v string) { a.vmlinux = v },
}

// parseGdbserver parses the command line. Its error is a usageError.
func parseGdbserver(args []string) (*gdbserverArgs, error) {
	a := &gdbserverArgs{}
	attach := false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" {
		word := args[0]
		args = args[1:]
		name, value, has := strings.Cut(word, "=")
		switch {
		case word == "--":
			return a, usageError("gdbserver: -- is only allowed after --wrapper")
		case word == "--attach":
			attach = true
		case word == "--wrapper":
			end := slices.Index(args, "--")
			if end <= 0 {
				return nil, usageError("gdbserver: --wrapper WRAPPER ARGS... must be followed by --")
			}
			a.wrapper, args = args[:end], args[end+1:]
		case word == "--vmlinux" && len(args) > 0:
			a.vmlinux, args = args[0], args[1:]
		case has && gdbserverValues[name] != nil:
			gdbserverValues[name](a, value)
		case !has && gdbserverFlags[name] != nil:
			gdbserverFlags[name](a)
		default:
			return nil, usageError(fmt.Sprintf("gdbserver: Unknown argument: %s", word))
		}
	}
	if a.version || a.help || a.listPackets || a.selftest {
		return a, nil
	}
	return a, a.operands(args, attach)
}

// operands parses COMM and the arguments after it.
func (a *gdbserverArgs) operands(args []string, attach bool) error {
	if len(args) == 0 {
		return usageError("gdbserver: a place to listen on is missing: :PORT, HOST:PORT, unix:PATH or - (standard input and output)")
	}
	if text := programFirst(args); text != "" {
		return usageError("gdbserver: " + text)
	}
	a.comm, args = args[0], args[1:]
	if len(args) > 1 && (args[0] == "-p" || args[0] == "--pid") {
		return usageError(fmt.Sprintf("gdbserver: a running process is attached to by --attach: jalon gdbserver --attach %s %s", a.comm, args[1]))
	}
	if len(args) > 0 && args[0] == "--attach" {
		attach, args = true, args[1:]
	}
	switch {
	case a.kernel:
		if len(args) > 0 {
			return usageError("gdbserver: --kernel takes no program")
		}
	case attach:
		if len(args) != 1 {
			return usageError("gdbserver: --attach needs the number of one process")
		}
		pid, err := strconv.Atoi(args[0])
		if err != nil || pid <= 0 {
			return usageError(fmt.Sprintf("gdbserver: %q is not a process number", args[0]))
		}
		a.attach = pid
	case len(args) == 0 && !a.multi:
		return usageError("gdbserver: a program is missing, or --attach PID, --multi or --kernel")
	default:
		a.program = args
	}
	return nil
}

const gdbserverUsage = `Usage: jalon gdbserver [OPTIONS] COMM PROG [ARGS ...]
       jalon gdbserver [OPTIONS] --attach COMM PID
       jalon gdbserver [OPTIONS] --multi COMM
       jalon gdbserver [OPTIONS] --kernel COMM

COMM is :PORT or HOST:PORT (TCP, of this machine only where HOST is missing),
unix:PATH (a socket of the user's own) or - (standard input and output, for
"target remote | jalon gdbserver - PROG").

  --attach                    trace and debug a running process
  --multi                     start without a program; stay when it ends
  --kernel                    trace the running kernel; it is never stopped
  --vmlinux=FILE              the kernel's file with symbols, for --kernel
  --once                      exit when the first connection ends
  --wrapper WRAPPER ARGS --   run WRAPPER to start new programs
  --no-disable-randomization  leave address space randomisation on
  --no-startup-with-shell     start programs without a shell
  --disable-packet=NAME,...   do without these packets (for tests)
  --debug, --remote-debug     say what is done; show the packets
  --debug-file=FILE           where to (instead of standard error)
  --version, --help
`

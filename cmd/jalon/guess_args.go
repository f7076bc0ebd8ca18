package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// Arguments that are missing, or in another order than jalon's.

// wholeCommands are command lines with what a command needs.
var wholeCommands = map[string]string{
	"report":     "name the directory of a recording: jalon report DIR (jalon record -o DIR PLACE -- PROGRAM makes one)",
	"export":     "jalon export DIR --to html -o FILE (also perfetto, chrome, parquet, pprof, folded)",
	"merge":      "jalon merge DIR1 DIR2 -o DIR",
	"gate":       "jalon gate 'sched:sched_switch if (prev_pid > 1)' -- perf record -e sched:sched_switch -a sleep 1",
	"control":    "jalon control PATH status, where PATH is that of a running jalon trace --control PATH; also enable N, disable N, add PLACE, remove N",
	"completion": "jalon completion bash, zsh or fish",
	"check":      "jalon check, or jalon check -p PID",
	"version":    "jalon version",
	"snapshot":   "jalon snapshot, or jalon snapshot DIR of a running jalon record --flight SIZE",
}

var incomplete = lazyregexp.New(`^(?:expected "|missing flags: |unexpected argument |unknown flag )`)

// otherArguments explains a command line that kong does not take; "" if it cannot.
func otherArguments(args []string, err error) string {
	whole := wholeCommands[args[0]]
	switch text := err.Error(); {
	case strings.HasPrefix(text, "unknown flag "):
		return fmt.Sprintf("%s: jalon %s --help lists the flags", text, args[0])
	case whole != "" && incomplete.MatchString(text):
		return strings.Replace("write "+whole, "write name", "name", 1)
	}
	return ""
}

// noRecording explains the error of a directory that is none of a recording.
func noRecording(dir string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, none := os.Stat(dir); none != nil {
			return fmt.Errorf("there is no recording %s: jalon record -o %[1]s PLACE -- PROGRAM makes one", dir)
		}
	case errors.Is(err, syscall.ENOTDIR):
		return fmt.Errorf("%s is a file, not the directory of a recording: jalon record -o DIR PLACE -- PROGRAM makes one", dir)
	}
	return err
}

// programFirst explains the order of gdbserver's arguments where a program is before the address.
func programFirst(args []string) string {
	if kindOfFile(args[0]) != aProgram {
		return ""
	}
	comm, rest := ":1234", args[1:]
	if len(rest) > 0 && strings.Contains(rest[0], ":") {
		comm, rest = rest[0], rest[1:]
	}
	return fmt.Sprintf("the address comes first: jalon gdbserver %s %s", comm, strings.Join(append([]string{args[0]}, rest...), " "))
}

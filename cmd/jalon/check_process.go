package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/engine/inproc"
)

// processChecks are the checks of one process, in the order of printing. A check can have several findings.
var processChecks = []func(pid int) []finding{
	checkTracer,
	checkSeccomp,
	checkCode,
}

// checkProcess runs the checks and prints their findings.
func checkProcess(pid int) error {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no process %d", pid)
	}
	if err != nil {
		return fmt.Errorf("reading process %d: %w", pid, err)
	}
	fmt.Printf("\nprocess %d (%q):\n", pid, strings.TrimSpace(string(name)))
	for _, check := range processChecks {
		for _, v := range check(pid) {
			v.print()
		}
	}
	return nil
}

// statusOf returns a field of /proc/PID/status, "" if it is missing.
func statusOf(pid int, field string) string {
	for _, l := range strings.Split(readFile(fmt.Sprintf("/proc/%d/status", pid)), "\n") {
		if v, ok := strings.CutPrefix(l, field+":"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func checkTracer(pid int) []finding {
	v := finding{ok: true, what: "no debugger is attached to it"}
	if by := statusOf(pid, "TracerPid"); by != "0" && by != "" {
		if tid, err := strconv.Atoi(by); err == nil { // the tracer is a thread
			by = statusOf(tid, "Tgid")
		}
		v.ok, v.detail = false, "process "+by+" is"
		v.remedy = "end it, or use --engine=kernel, which works beside it"
	}
	return []finding{v}
}

func checkSeccomp(pid int) []finding {
	v := finding{ok: true, what: "system calls may be run in it", detail: "no seccomp filter"}
	switch statusOf(pid, "Seccomp") {
	case "1":
		v.ok, v.detail = false, "strict seccomp"
		v.remedy = "use --engine=kernel"
	case "2":
		n := statusOf(pid, "Seccomp_filters")
		switch {
		case statusOf(os.Getpid(), "Seccomp") == "0" && hasCap(unix.CAP_SYS_ADMIN):
			v.detail = "its " + n + " seccomp filters are suspended meanwhile (CAP_SYS_ADMIN)"
		case statusOf(os.Getpid(), "Seccomp") == "2" && statusOf(os.Getpid(), "Seccomp_filters") == n:
			v.detail = "it has the same filters as jalon"
		default:
			v.ok, v.detail = false, n+" seccomp filters could kill it at a system call"
			v.remedy = "run jalon as root (CAP_SYS_ADMIN), or inside the same container"
		}
	}
	return []finding{v}
}

// shown is the largest number of places that are listed of a kind.
const shown = 8

// checkCode lists the changes of other tracers, or of jalon, to the code.
func checkCode(pid int) []finding {
	list, err := inproc.InspectCode(pid, dwarf.Options{})
	if err != nil {
		return []finding{{what: "its code is that of its files", detail: err.Error()}}
	}
	kinds := []struct {
		what, detail string
		of           func(*inproc.CodeState) []inproc.CodeRange
	}{
		{"breakpoints that its files do not have", "other tracers' uprobes; jalon uses a uprobe there too", func(c *inproc.CodeState) []inproc.CodeRange { return c.Breakpoints }},
		{"other changes of its code", "patches of a tracer (jalon), or its own", func(c *inproc.CodeState) []inproc.CodeRange { return c.Changed }},
		{"writable pages of code", "uprobes cannot be inserted there: jalon's guard, or its own", func(c *inproc.CodeState) []inproc.CodeRange { return c.Writable }},
		{"copied pages of code", "uprobes cannot be inserted there: jalon's guard, or its own", func(c *inproc.CodeState) []inproc.CodeRange { return c.Copied }},
	}
	var out []finding
	for _, k := range kinds {
		n := 0
		var lines []string
		for i := range list {
			ranges := k.of(&list[i])
			n += len(ranges)
			for _, r := range ranges[:min(len(ranges), shown)] {
				lines = append(lines, fmt.Sprintf("       %s of %s", r, list[i].Path))
			}
			if more := len(ranges) - shown; more > 0 {
				lines = append(lines, fmt.Sprintf("       and %d more of %s", more, list[i].Path))
			}
		}
		v := finding{ok: true, what: k.what, detail: "none"}
		if n > 0 {
			v.detail = strconv.Itoa(n) + " (" + k.detail + ")\n" + strings.Join(lines, "\n")
		}
		out = append(out, v)
	}
	return out
}

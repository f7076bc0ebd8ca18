package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// guessPid explains -p with the name of a program, or several processes. args begin with the command.
func guessPid(args []string) string {
	for i, a := range args {
		name, attached := strings.CutPrefix(a, "--pid=")
		switch {
		case attached:
		case a != "-p" && a != "--pid":
			continue
		case i+1 == len(args):
			return "-p needs the id of a process: -p PID (pidof NAME prints it)"
		default:
			name = args[i+1]
		}
		if _, err := strconv.Atoi(name); err == nil {
			continue
		}
		if listOfPids.MatchString(name) {
			return ofSeveral(args[0], separators.Split(name, -1))
		}
		return pidOf(name)
	}
	return ""
}

var (
	listOfPids = lazyregexp.New(`^\d+([, ]+\d+)+$`)
	separators = lazyregexp.New(`[, ]+`)
)

// guessPids explains -p that is given more than once to a command; the parser would take the last one.
func guessPids(args []string) string {
	var ids []string
	for i, a := range args {
		id, attached := strings.CutPrefix(a, "--pid=")
		switch {
		case attached:
		case (a == "-p" || a == "--pid") && i+1 < len(args):
			id = args[i+1]
		case strings.HasPrefix(a, "-p") && len(a) > 2:
			id = a[2:]
		default:
			continue
		}
		if _, err := strconv.Atoi(id); err == nil {
			ids = append(ids, id)
		}
	}
	if len(ids) < 2 {
		return ""
	}
	return ofSeveral(args[0], ids)
}

// ofSeveral names the two ways to trace several processes.
func ofSeveral(command string, ids []string) string {
	file := "FILE"
	if pid, err := strconv.Atoi(ids[0]); err == nil {
		if path := image.ProgramFile(pid); path != "" {
			file = path
		}
	}
	place := "uprobe:" + file + ":FUNCTION if $pid == " + strings.Join(ids, " || $pid == ")
	return fmt.Sprintf("-p needs the id of one process. For several: a jalon for each, or jalon %s --all %s", command, quoted(place))
}

// pidOf names the processes with a name.
func pidOf(name string) string {
	const most = 8
	var ids []int
	dirs, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, file := range dirs {
		b, err := os.ReadFile(file)
		if err != nil || !sameComm(strings.TrimSuffix(string(b), "\n"), filepath.Base(name)) {
			continue
		}
		if id, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && id != os.Getpid() {
			ids = append(ids, id)
		}
	}
	sort.Ints(ids)
	switch {
	case len(ids) == 0:
		return fmt.Sprintf("-p needs the id of a process, and no process has the name %q", name)
	case len(ids) == 1:
		return fmt.Sprintf("-p needs the id of a process: -p %d is %s", ids[0], name)
	}
	more := ""
	if len(ids) > most {
		ids, more = ids[:most], ", ..."
	}
	return fmt.Sprintf("-p needs the id of one process; %s has %s%s", name, strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ", "), "[]"), more)
}

// sameComm compares with what the kernel keeps of a name: its first 15 bytes.
func sameComm(comm, name string) bool { return comm == name || len(name) > 15 && comm == name[:15] }

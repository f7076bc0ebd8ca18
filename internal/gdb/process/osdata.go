package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// osTable is a kind of things that `info os` lists.
type osTable struct {
	annex, title, description string
	kind                      string // the type that the document names
	rows                      func(*procfs) [][]rsp.OSColumn
}

// osTables are those of GDB for Linux, in its order.
func osTables() []osTable {
	return []osTable{
		{"cpus", "CPUs", "Listing of all cpus/cores on the system", "cpus", cpuRows},
		{"files", "File descriptors", "Listing of all file descriptors", "files", fileRows},
		{"modules", "Kernel modules", "Listing of all loaded kernel modules", "modules", moduleRows},
		{"msg", "Message queues", "Listing of all message queues", "message queues", ipcRows("msg", msgColumns)},
		{"processes", "Processes", "Listing of all processes", "processes", processRows},
		{"procgroups", "Process groups", "Listing of all process groups", "process groups", groupRows},
		{"semaphores", "Semaphores", "Listing of all semaphores", "semaphores", ipcRows("sem", semColumns)},
		{"shm", "Shared-memory regions", "Listing of all shared-memory regions", "shared memory", ipcRows("shm", shmColumns)},
		{"sockets", "Sockets", "Listing of all internet-domain sockets", "I sockets", socketRows},
		{"threads", "Threads", "Listing of all threads", "threads", threadRows},
	}
}

// OSData is the object osdata. The annex is the kind of things; empty or `types`:
// which kinds there are. An unknown one has no contents.
func OSData(annex string) ([]byte, error) {
	return (&procfs{root: "/proc", names: map[string]string{}}).object(annex), nil
}

func (fs *procfs) object(annex string) []byte {
	if annex == "" || annex == "types" {
		var rows [][]rsp.OSColumn
		for _, t := range osTables() {
			rows = append(rows, row("Type", t.annex, "Description", t.description, "Title", t.title))
		}
		return rsp.OSDataXML("types", rows)
	}
	for _, t := range osTables() {
		if t.annex == annex {
			return rsp.OSDataXML(t.kind, t.rows(fs))
		}
	}
	return nil
}

// row makes one of names and values in turn.
func row(cells ...string) []rsp.OSColumn {
	var out []rsp.OSColumn
	for i := 0; i+1 < len(cells); i += 2 {
		out = append(out, rsp.OSColumn{Name: cells[i], Value: cells[i+1]})
	}
	return out
}

func cpuRows(fs *procfs) [][]rsp.OSColumn {
	var rows [][]rsp.OSColumn
	for _, line := range fs.lines("cpuinfo") {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		name = strings.TrimSpace(name)
		if name == "processor" || len(rows) == 0 {
			rows = append(rows, nil)
		}
		last := len(rows) - 1
		rows[last] = append(rows[last], rsp.OSColumn{Name: name, Value: strings.TrimSpace(value)})
	}
	return rows
}

func fileRows(fs *procfs) [][]rsp.OSColumn {
	var rows [][]rsp.OSColumn
	for _, pid := range fs.numbers(".") {
		command := fs.comm(pid)
		for _, fd := range fs.numbers(filepath.Join(pid, "fd")) {
			name, err := os.Readlink(filepath.Join(fs.root, pid, "fd", fd))
			if err != nil {
				name = fd
			}
			rows = append(rows, row("pid", pid, "command", command, "file descriptor", fd, "name", name))
		}
	}
	return rows
}

// moduleRows reads `name size uses dependencies state address`.
func moduleRows(fs *procfs) [][]rsp.OSColumn {
	var rows [][]rsp.OSColumn
	for _, line := range fs.lines("modules") {
		f := strings.Fields(line)
		if len(f) < 6 {
			continue
		}
		rows = append(rows, row("name", f[0], "size", f[1], "num uses", f[2], "dependencies", f[3],
			"status", f[4], "address", strings.TrimPrefix(f[5], "0x")))
	}
	return rows
}

func processRows(fs *procfs) [][]rsp.OSColumn {
	var rows [][]rsp.OSColumn
	for _, pid := range fs.numbers(".") {
		var cores []int
		for _, tid := range fs.numbers(filepath.Join(pid, "task")) {
			if n, err := strconv.Atoi(fs.core(pid, tid)); err == nil && n >= 0 {
				cores = append(cores, n)
			}
		}
		slices.Sort(cores)
		var text []string
		for _, n := range slices.Compact(cores) {
			text = append(text, strconv.Itoa(n))
		}
		rows = append(rows, row("pid", pid, "user", fs.owner(pid), "command", fs.commandLine(pid),
			"cores", strings.Join(text, ",")))
	}
	return rows
}

// groupRows lists processes by group, the leader of each first.
func groupRows(fs *procfs) [][]rsp.OSColumn {
	type member struct{ group, pid int }
	var members []member
	for _, pid := range fs.numbers(".") {
		group, err1 := strconv.Atoi(fs.statField(pid, "", statGroup))
		n, err2 := strconv.Atoi(pid)
		if err1 == nil && err2 == nil && group > 0 {
			members = append(members, member{group, n})
		}
	}
	order := func(m member) int {
		if m.pid == m.group {
			return -1
		}
		return m.pid
	}
	slices.SortFunc(members, func(a, b member) int {
		if a.group != b.group {
			return a.group - b.group
		}
		return order(a) - order(b)
	})
	var rows [][]rsp.OSColumn
	for _, m := range members {
		group, pid := strconv.Itoa(m.group), strconv.Itoa(m.pid)
		rows = append(rows, row("pgid", group, "leader command", fs.comm(group), "pid", pid,
			"command line", fs.commandLine(pid)))
	}
	return rows
}

func threadRows(fs *procfs) [][]rsp.OSColumn {
	var rows [][]rsp.OSColumn
	for _, pid := range fs.numbers(".") {
		command := fs.comm(pid)
		for _, tid := range fs.numbers(filepath.Join(pid, "task")) {
			rows = append(rows, row("pid", pid, "command", command, "tid", tid, "core", fs.core(pid, tid)))
		}
	}
	return rows
}

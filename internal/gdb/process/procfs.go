package process

import (
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// procfs reads the kernel's data on all processes. Processes that end meanwhile are left out, or their fields
// are empty.
type procfs struct {
	root  string
	names map[string]string // of users and groups, by "u" or "g" and number
}

func (fs *procfs) read(names ...string) string {
	b, _ := os.ReadFile(filepath.Join(append([]string{fs.root}, names...)...)) // gone, or not ours: empty
	return string(b)
}

func (fs *procfs) lines(name string) []string { return strings.Split(fs.read(name), "\n") }

// numbers are the entries of a directory whose names are numbers, in their order.
func (fs *procfs) numbers(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(fs.root, dir))
	if err != nil {
		return nil
	}
	var list []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n >= 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = strconv.Itoa(n)
	}
	return out
}

// comm is the name of a process, or its number when it is gone.
func (fs *procfs) comm(pid string) string {
	if s := strings.TrimSuffix(fs.read(pid, "comm"), "\n"); s != "" {
		return s
	}
	return pid
}

// commandLine is the arguments; kernel threads have none but a name.
func (fs *procfs) commandLine(pid string) string {
	args := strings.TrimRight(fs.read(pid, "cmdline"), "\x00")
	if args == "" {
		return "[" + fs.comm(pid) + "]"
	}
	return strings.ReplaceAll(args, "\x00", " ")
}

// Fields of /proc/PID/stat, counted from the one behind the name (proc(5)).
const (
	statGroup = 2
	statCore  = 36
)

// statField is a field of a thread's stat, or for tid "" of the process's.
func (fs *procfs) statField(pid, tid string, field int) string {
	text := fs.read(pid, "stat")
	if tid != "" {
		text = fs.read(pid, "task", tid, "stat")
	}
	// The name is in parentheses and may hold any byte, parentheses too.
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if field >= len(f) {
		return ""
	}
	return f[field]
}

// core is where a thread runs or ran last, -1: not known.
func (fs *procfs) core(pid, tid string) string {
	if c := fs.statField(pid, tid, statCore); c != "" {
		return c
	}
	return "-1"
}

// owner is the user of a process.
func (fs *procfs) owner(pid string) string {
	var st unix.Stat_t
	if unix.Stat(filepath.Join(fs.root, pid), &st) != nil {
		return "?"
	}
	return fs.userName(strconv.Itoa(int(st.Uid)))
}

// userName is the name of a user, or the number where there is no name.
func (fs *procfs) userName(uid string) string {
	return fs.cached("u"+uid, uid, func() (string, error) {
		u, err := user.LookupId(uid)
		if err != nil {
			return "", err
		}
		return u.Username, nil
	})
}

func (fs *procfs) groupName(gid string) string {
	return fs.cached("g"+gid, gid, func() (string, error) {
		g, err := user.LookupGroupId(gid)
		if err != nil {
			return "", err
		}
		return g.Name, nil
	})
}

func (fs *procfs) cached(key, fallback string, look func() (string, error)) string {
	if s, ok := fs.names[key]; ok {
		return s
	}
	s, err := look()
	if err != nil {
		s = fallback
	}
	fs.names[key] = s
	return s
}

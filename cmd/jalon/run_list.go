package main

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// probeList lists probes as bpftrace -l does: one a line as a script writes it; with arguments, one a line below.
type probeList struct {
	w       *bufio.Writer
	verbose bool
	pid     int
	dirs    []string // of debug files
	warn    func(string)
	kernelLists
	userLists
}

// listed is a probe without its kind, and what its arguments are.
type listed struct {
	name string
	args func() []string // nil: not known
}

func (c *runCmd) lister(pid int) *probeList {
	warn := func(m string) {
		if !c.NoWarn {
			fmt.Fprintln(stderr, warning(m))
		}
	}
	return &probeList{w: bufio.NewWriter(stdout), verbose: c.Verbose, pid: pid, dirs: c.debugDirs(), warn: warn}
}

// list lists what matches a pattern: 'PATTERN,...'.
func (c *runCmd) list(pattern string, pid int) error {
	l := c.lister(pid)
	defer l.w.Flush()
	if strings.Contains(pattern, ".") && !strings.ContainsAny(pattern, ":*") {
		l.warn(fmt.Sprintf("%s is no file; it is taken as a pattern", pattern))
	}
	for _, p := range strings.Split(pattern, ",") {
		p = strings.Join(strings.Fields(p), " ")
		tag, _, _ := strings.Cut(p, " ")
		if tag == "struct" || tag == "union" || tag == "enum" {
			if err := l.types(p); err != nil {
				return err
			}
			continue
		}
		if err := l.pattern(p); err != nil {
			return err
		}
	}
	return nil
}

// listProgram lists what the attach points of a script match.
func (c *runCmd) listProgram(p *check.Program, pid int) error {
	l := c.lister(pid)
	defer l.w.Flush()
	for _, pr := range p.Probes {
		for _, pl := range pr.Places {
			if err := l.place(pl); err != nil {
				return err
			}
		}
	}
	return nil
}

// place lists what an attach point matches.
func (l *probeList) place(pl *script.Place) error {
	name := pl.Provider.Name
	rest := pl.Point.Text
	if _, r, ok := strings.Cut(rest, ":"); ok {
		rest = r
	} else {
		rest = ""
	}
	switch name {
	case "begin", "end", "self":
		return nil
	case "test", "bench", "watchpoint":
		fmt.Fprintf(l.w, "%s:%s\n", name, rest)
		return nil
	case "profile", "interval":
		unit, _, ok := strings.Cut(rest, ":")
		if !ok { // a duration
			unit = strings.TrimLeft(rest, "0123456789.")
		}
		fmt.Fprintf(l.w, "%s:%s:\n", name, unit)
		return nil
	case "software", "hardware":
		fmt.Fprintf(l.w, "%s:%s:\n", name, pl.Target)
		return nil
	}
	if pl.HasAddr || pl.File != "" {
		fmt.Fprintf(l.w, "%s:%s\n", name, rest)
		return nil
	}
	return l.kind(name, strings.Split(rest, ":"))
}

// pattern lists the probes that match KIND:..., or a name of any kind.
func (l *probeList) pattern(p string) error {
	switch {
	case p == "" || p == "*":
		p = "*:*"
	case !strings.Contains(p, ":"):
		p = "*:" + p
	}
	parts := strings.Split(p, ":")
	if !strings.Contains(parts[0], "*") {
		pr := script.FindProvider(parts[0])
		if pr == nil {
			return usageError(fmt.Sprintf("there is no probe type %q; the types are %s", parts[0], strings.Join(providerNames(), ", ")))
		}
		return l.kind(pr.Name, parts[1:])
	}
	user := l.pid != 0
	if len(parts) > 1 && !strings.Contains(parts[1], "*") && parts[1] != "" {
		_, err := os.Stat(parts[1])
		user = user || err == nil
	}
	for _, name := range listedKinds {
		pr := script.FindProvider(name)
		if globMatch(parts[0], name) && (user || !pr.User) {
			if err := l.kind(name, parts[1:]); err != nil {
				return err
			}
		}
	}
	return nil
}

// listedKinds are the kinds that a pattern of kinds finds: a probe at the return of a function is written like
// that at its entry, and is left out.
var listedKinds = strings.Fields("fentry hardware interval iter kprobe profile rawtracepoint self software tracepoint uprobe usdt")

func providerNames() []string {
	var out []string
	for _, pr := range script.Providers {
		out = append(out, pr.Name)
	}
	return out
}

// kind lists the probes of a kind whose parts match.
func (l *probeList) kind(name string, parts []string) error {
	find := finders[name]
	if find == nil {
		return nil
	}
	if len(parts) == 0 || len(parts) == 1 && parts[0] == "" {
		parts = []string{"*"}
	}
	found, err := find(l, name, parts)
	if err != nil {
		return err
	}
	slices.SortFunc(found, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	found = slices.CompactFunc(found, func(a, b listed) bool { return a.name == b.name })
	for _, x := range found {
		fmt.Fprintf(l.w, "%s:%s\n", name, x.name)
		if l.verbose && x.args != nil {
			for _, a := range x.args() {
				fmt.Fprintf(l.w, "    %s\n", a)
			}
		}
	}
	return nil
}

// finders return the probes of a kind that match the parts after its name.
var finders = map[string]func(*probeList, string, []string) ([]listed, error){
	"kprobe": (*probeList).kernelFunctions, "kretprobe": (*probeList).kernelFunctions,
	"fentry": (*probeList).trampolines, "fexit": (*probeList).trampolines,
	"tracepoint": (*probeList).tracepoints, "rawtracepoint": (*probeList).rawTracepoints,
	"iter":   (*probeList).iterators,
	"uprobe": (*probeList).functions, "uretprobe": (*probeList).functions, "usdt": (*probeList).statics,
	"software": fixed(script.SoftwareEvents), "hardware": fixed(script.HardwareEvents),
	"profile": fixed(timeUnits), "interval": fixed(timeUnits), "self": fixed([]string{"signal:SIGUSR1"}),
}

var timeUnits = []string{"hz", "us", "ms", "s"}

// fixed lists names; events and units end with ":", as what follows them is to be written.
func fixed(names []string) func(*probeList, string, []string) ([]listed, error) {
	return func(_ *probeList, _ string, parts []string) ([]listed, error) {
		var out []listed
		pattern := strings.TrimSuffix(strings.Join(parts, ":"), ":")
		for _, n := range names {
			if globMatch(pattern, n) {
				if !strings.Contains(n, ":") {
					n += ":"
				}
				out = append(out, listed{name: n})
			}
		}
		return out, nil
	}
}

// types lists the types of the kernel that match "struct NAME", with their members if verbose.
func (l *probeList) types(pattern string) error {
	tag, name, _ := strings.Cut(pattern, " ")
	return l.kernelTypes(l.w, tag, name, l.verbose)
}

// globMatch matches a text with a pattern in which * is anything.
func globMatch(pattern, s string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == s
	}
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	last := len(parts) - 1
	for _, p := range parts[1:last] {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return strings.HasSuffix(s, parts[last])
}

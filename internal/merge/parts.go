package merge

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// A trace that was joined has the parts of which it was made, also in another joined trace: their threads keep their names, and their
// numbers keep their distances.

// and is between the names of the machines of a trace.
const and = " and "

// partsOf are the parts of a trace, or the trace itself.
func partsOf(t *ctf.Trace) []ctf.Joined {
	if len(t.Info.Joined) > 0 {
		return slices.Clone(t.Info.Joined)
	}
	return []ctf.Joined{{Host: t.Info.Host, Clock: "the clock of the trace", Error: new(int64), UUID: t.Info.UUIDText, Dir: absolute(t.Dir)}}
}

func absolute(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// sum is how far times may be off that were made in two steps; nil: not known.
func sum(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	n := *a + *b
	return &n
}

// timeBase is the clock of a trace.
type timeBase struct {
	host, kernel string // of the machine that has it
	boot         string // the id of the time since that was started; "" in traces of older versions
	shift        int64  // added to its times in the trace
	wall         int64  // added to its own times for the wall clock
}

// clockOf is the clock of a trace: if it was joined, that of its first part.
func clockOf(t *ctf.Trace) timeBase {
	c := timeBase{t.Info.Host, t.Info.Kernel, t.Info.Boot, 0, t.Info.WallOffset}
	if len(t.Info.Joined) > 0 {
		first := &t.Info.Joined[0]
		c.kernel, _, _ = strings.Cut(c.kernel, and)
		c.host, c.shift, c.wall = first.Host, first.Shift, c.wall+first.Shift
	}
	return c
}

// same reports whether two clocks are one.
func (c *timeBase) same(other *timeBase) bool {
	if c.boot != "" && other.boot != "" {
		return c.boot == other.boot
	}
	return c.host == other.host && c.kernel == other.kernel && time.Duration(other.wall-c.wall).Abs() < sameBoot
}

// sameBoot is how far wall clocks move between two recordings of a machine that was not started again between them. A sleep or a clock
// that is set moves them farther.
const sameBoot = 10 * time.Second

// namesOf are what the machines of a trace are called in the names of its threads.
func namesOf(t *ctf.Trace) []string {
	switch {
	case len(t.Info.Joined) > 0:
		return strings.Split(t.Info.Host, and)
	case t.Info.Host == "":
		return []string{filepath.Base(t.Dir)}
	}
	return []string{t.Info.Host}
}

// named are the names of the machines of two traces, all different, and what each trace has before the names of its threads: nothing if they
// have the names of their machines already.
func named(a, b *ctf.Trace) (machines []string, prefixes [2]string) {
	first, second := namesOf(a), namesOf(b)
	joined := [2]bool{len(a.Info.Joined) > 0, len(b.Info.Joined) > 0}
	common := slices.ContainsFunc(second, func(name string) bool { return slices.Contains(first, name) })
	switch {
	case joined[0] && joined[1] && common: // both have threads of these names
		prefixes = [2]string{filepath.Base(a.Dir), filepath.Base(b.Dir)}
		if prefixes[0] == prefixes[1] {
			prefixes[0], prefixes[1] = prefixes[0]+".1", prefixes[1]+".2"
		}
		first, second = within(first, prefixes[0]), within(second, prefixes[1])
	case joined[0] && !joined[1]:
		second[0] = another(second[0], first)
	case joined[1] && !joined[0]:
		first[0] = another(first[0], second)
	case common:
		first[0], second[0] = first[0]+".1", second[0]+".2"
	}
	if !joined[0] {
		prefixes[0] = first[0]
	}
	if !joined[1] {
		prefixes[1] = second[0]
	}
	return append(first, second...), prefixes
}

// within are names with another one before them.
func within(names []string, prefix string) (out []string) {
	for _, name := range names {
		out = append(out, prefix+"/"+name)
	}
	return out
}

// another is a name of a machine that a list does not have: several traces of a machine have numbers.
func another(name string, list []string) string {
	numbered := func(n int) string { return fmt.Sprintf("%s.%d", name, n) }
	if !slices.Contains(list, name) && !slices.Contains(list, numbered(1)) {
		return name
	}
	n := 2
	for slices.Contains(list, numbered(n)) {
		n++
	}
	return numbered(n)
}

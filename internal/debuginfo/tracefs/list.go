package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// Name is an event's full name, written system:event.
type Name struct{ System, Event string }

func (n Name) String() string { return n.System + ":" + n.Event }

// Systems lists the groups of events ("sched", "syscalls", ...) in alphabetical order. It omits "ftrace", the
// records of the kernel's own tracers, which have formats but cannot be attached to.
func (f *FS) Systems() ([]string, error) {
	dirs, err := directories(filepath.Join(f.root, "events"))
	return slices.DeleteFunc(dirs, func(s string) bool { return s == "ftrace" }), err
}

// Events lists the events of one system, in alphabetical order. A system that
// does not exist has none.
func (f *FS) Events(system string) ([]string, error) {
	if !plainName(system) {
		return nil, nil
	}
	return directories(filepath.Join(f.root, "events", system))
}

// directories lists the directories in dir, which also contains control files.
func directories(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the kernel's tracepoints: %w", err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	slices.Sort(out)
	return out, nil
}

// Match lists the events that match the two shell patterns (* ? [a-z]), in alphabetical order. If there are
// none, the error is a *debuginfo.NotFoundError with the nearest names.
func (f *FS) Match(system, event string) ([]Name, error) {
	systems, err := f.Systems()
	if err != nil {
		return nil, err
	}
	var out []Name
	for _, s := range systems {
		if ok, _ := path.Match(system, s); !ok {
			continue
		}
		events, err := f.Events(s)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if ok, _ := path.Match(event, e); ok {
				out = append(out, Name{s, e})
			}
		}
	}
	if len(out) == 0 {
		return nil, f.missing(system, event)
	}
	return out, nil
}

// nearestCount is the number of similar names in the error for a missing name.
const nearestCount = 3

// missing returns the error for a missing event. It suggests the same event in another system, otherwise
// similar events in its system, otherwise similar systems.
func (f *FS) missing(system, event string) error {
	nf := &debuginfo.NotFoundError{What: "tracepoint", Name: system + ":" + event}
	if strings.ContainsAny(system+event, "*?[") {
		nf.Hint = "the pattern matches nothing"
		return nf
	}
	systems, err := f.Systems()
	if err != nil {
		return err
	}
	var all, same []string
	for _, s := range systems {
		events, err := f.Events(s)
		if err != nil {
			return err
		}
		for _, e := range events {
			all = append(all, s+":"+e)
			if e == event {
				same = append(same, s+":"+e)
			}
		}
	}
	switch {
	case len(same) > 0:
		nf.Nearest = same[:min(len(same), nearestCount)]
	case slices.Contains(systems, system):
		events, err := f.Events(system)
		if err != nil {
			return err
		}
		for _, e := range lang.Nearest(event, events, nearestCount) {
			nf.Nearest = append(nf.Nearest, system+":"+e)
		}
	default:
		nf.Nearest = lang.Nearest(system+":"+event, all, nearestCount)
	}
	return nf
}

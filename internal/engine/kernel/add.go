package kernel

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// UserSite is an instruction of a file, found by the caller, to be probed in one
// process.
type UserSite struct {
	Tracepoint *tracepoint.Tracepoint
	Module     *dwarf.Module // stays the caller's
	Path       string        // by which the kernel finds the file
	Site       probe.Site
	Pid        int
}

// Add puts uprobes at instructions of one process beside the sites of Arm, which was
// called before, with Options.Spare. Each site has an id, or an error that says why it
// has no probe. ready is called for each before it is attached, with the schema of its
// records. Disarm and Detach take them back.
func (e *Engine) Add(list []UserSite, ready func(i int, sc *event.Schema)) (ids []uint32, errs []error) {
	ids, errs = make([]uint32, len(list)), make([]error, len(list))
	index := map[*site]int{}
	var fresh []*site
	for i := range list {
		s, err := e.addSite(&list[i])
		if err != nil {
			errs[i] = err
			continue
		}
		ids[i], index[s] = s.id, i
		fresh = append(fresh, s)
	}
	loads := e.group(fresh)
	failed := make([]error, len(loads))
	for i, l := range loads {
		if failed[i] = e.loadOne(l); failed[i] == nil {
			for _, s := range l.sites {
				ready(index[s], s.schema)
			}
		}
	}
	sideBySide(len(loads), func(i int) {
		if failed[i] == nil {
			failed[i] = e.attachAdded(loads[i], func(s *site, err error) { errs[index[s]] = err })
		}
	})
	for i, l := range loads {
		if failed[i] == nil {
			e.loads = append(e.loads, l)
			continue
		}
		l.free()
		for _, s := range l.sites {
			s.gone = true
			errs[index[s]] = failed[i]
		}
	}
	return ids, errs
}

// sideBySide calls f for 0 to n-1 in several threads: the kernel takes tens of
// milliseconds to be sure that no CPU is in a program that is detached (before it is
// attached, to try whether the kernel takes the place), and calls that wait together
// wait once.
func sideBySide(n int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, 64) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// addSite compiles a site and gives it a number.
func (e *Engine) addSite(x *UserSite) (*site, error) {
	if len(e.sites) >= e.flat.Sites {
		return nil, fmt.Errorf("the kernel engine's buffer was made for %d sites, and no more", e.flat.Sites)
	}
	scope, err := x.Module.ScopeForSite(x.Site)
	if err != nil {
		return nil, err
	}
	c, err := e.userCandidate(x.Tracepoint.Place, x.Module, x.Path, x.Site, scope)
	if err != nil {
		return nil, err
	}
	c.place = x.Tracepoint.Place.Text
	c.variants[0].target.Pid = x.Pid
	s, err := e.compile(x.Tracepoint, &c)
	if err != nil {
		return nil, err
	}
	if s.schema.RecordSize > e.flat.Slack {
		return nil, fmt.Errorf("its records of %d bytes are too large for the kernel engine's buffer, which has room for %d", s.schema.RecordSize, e.flat.Slack)
	}
	s.off = false // one that is added is wanted
	s.id = uint32(len(e.sites))
	s.schema.SiteID = s.id
	e.sites = append(e.sites, s)
	return s, nil
}

// attachAdded attaches a program; refused is called for the sites that the kernel
// refuses where it takes others.
func (e *Engine) attachAdded(l *load, refused func(*site, error)) error {
	targets := make([]bpf.Target, len(l.halves))
	for i, h := range l.halves {
		targets[i] = h.v.target
		if l.shared {
			targets[i].Cookie = uint64(l.sites[i].id)
		}
	}
	link, err := l.loaded.AttachAll(targets, func() error { return e.step("", 0, 0) })
	l.link = link
	var partial *bpf.AttachError
	if link == nil || !errors.As(err, &partial) {
		return err
	}
	for _, f := range partial.Failed {
		for i := range targets {
			if targets[i].FileOffset == f.Target.FileOffset && targets[i].Cookie == f.Target.Cookie {
				l.sites[i].gone = true
				refused(l.sites[i], f.Err)
			}
		}
	}
	return nil
}

// Detach ends the hits of added sites, which are not attached again.
func (e *Engine) Detach(ids []uint32) error {
	var gone []*load
	for _, id := range ids {
		s := e.sites[id]
		s.gone = true
		for _, h := range s.halves {
			if h.load != nil && h.load.link != nil && !slices.Contains(gone, h.load) {
				gone = append(gone, h.load)
			}
		}
	}
	sideBySide(len(gone), func(i int) { gone[i].detach() })
	var errs []error
	for _, l := range gone {
		errs = append(errs, e.attachOne(l, nil)) // the sites that are left
	}
	return errors.Join(errs...)
}

// free gives the kernel back what a load holds of it.
func (l *load) free() {
	l.detach()
	if l.loaded != nil {
		_ = l.loaded.Close()
		l.loaded = nil
	}
}

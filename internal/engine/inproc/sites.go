package inproc

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/ring"
)

// site is a program with its state in the engine, before and after installation.
type site struct {
	*engine.Program
	id     uint32
	where  *Site
	addr   uint64 // run-time address
	tactic string
	// dead and deadFlags are the registers that the program overwrites after the site before it reads them.
	dead      patch.RegSet
	deadFlags bool
	// destroys are those of them that the code of the site may destroy.
	destroys seen
	// numbered: id is valid. A site keeps it when it is planned again.
	numbered bool
	noUprobe bool // the kernel no longer accepts a uprobe there
	off      bool // disabled
}

// findDead finds the registers that a hit program may use at the site without saving them.
func (x *site) findDead(code *patch.Code) {
	x.dead, x.deadFlags = patch.DeadAt(code, x.addr, patch.Options{ABI: true})
}

// sites are the sites of an engine: their programs, their numbers, and why some are not installed. One bad
// address does not end an installation: a site that cannot be traced is refused, and the reason is the
// error of its program.
type sites struct {
	report
	known   map[*engine.Program]*site
	list    []*site         // by number
	retired []*site         // removed sites, and sites of unloaded libraries
	moved   int             // how many numbered sites became uprobes later
	refused map[*site]error // sites that the present Load or Arm refuses
}

func newSites(r report) *sites {
	return &sites{report: r, known: map[*engine.Program]*site{}, refused: map[*site]error{}}
}

// of returns the site of a program; the first call makes it.
func (l *sites) of(x *engine.Program) *site {
	s := l.known[x]
	if s == nil {
		w := x.Site.(*Site)
		s = &site{Program: x, where: w, addr: w.Addr()}
		l.known[x] = s
	}
	return s
}

func (l *sites) ofAll(list []*engine.Program) []*site {
	var out []*site
	for _, x := range list {
		out = append(out, l.of(x))
	}
	return out
}

func (l *sites) setOf(list []*engine.Program) map[*site]bool {
	set := map[*site]bool{}
	for _, x := range list {
		set[l.of(x)] = true
	}
	return set
}

// number gives a site its number. After a library was unloaded and loaded again, a site gets the number of
// the site that it replaces: the counts continue, and numbers do not run out.
func (l *sites) number(x *site) {
	x.numbered = true
	if i := l.replaces(x); i >= 0 {
		x.id = l.retired[i].id
		l.list[x.id] = x
		l.retired = append(l.retired[:i:i], l.retired[i+1:]...)
	} else {
		x.id = uint32(len(l.list))
		l.list = append(l.list, x)
	}
	x.Schema.SiteID = x.id
}

// replaces returns the index in retired of the site that x replaces, or -1.
func (l *sites) replaces(x *site) int {
	return slices.IndexFunc(l.retired, func(old *site) bool {
		return old.Key == x.Key && old.where.Same(x.where) &&
			old.Schema.RecordSize == x.Schema.RecordSize && old.Schema.ShortSize == x.Schema.ShortSize
	})
}

// retire records that sites have been removed permanently.
func (l *sites) retire(list ...*site) { l.retired = append(l.retired, list...) }

// roomFor leaves out the sites for which existing buffers have no number.
func (l *sites) roomFor(fresh []*site, b *buffers) (kept []*site) {
	if b.mem == nil {
		return fresh
	}
	free := int(b.g.Sites) - len(l.list)
	for _, x := range fresh {
		switch {
		case x.numbered || l.replaces(x) >= 0:
		case free <= 0:
			l.refuse(x, fmt.Errorf("the buffers have room for %d sites only", b.g.Sites))
			continue
		default:
			free--
		}
		kept = append(kept, x)
	}
	return kept
}

// begin clears the list of refused sites.
func (l *sites) begin() { l.refused = map[*site]error{} }

// refuse records why a site is not installed.
func (l *sites) refuse(x *site, err error) {
	l.refused[x] = err
	l.logf("%s at %#x: skipped: %v", x.Label, x.addr, err)
}

func (l *sites) refuseAll(p *placed, err error) {
	for _, x := range p.sites {
		l.refuse(x, err)
	}
}

// errors lists the errors of programs.
func (l *sites) errors(list []*engine.Program) []error {
	errs := make([]error, len(list))
	for i, x := range list {
		errs[i] = l.refused[l.known[x]]
	}
	return errs
}

// keep returns the plans for which f returns no error; the other plans are refused.
func (l *sites) keep(plans []*placed, f func(*placed) error) (kept []*placed) {
	for i, p := range plans {
		if l.step("generating code", i, len(plans)) != nil {
			return kept // the caller checks too
		}
		if err := f(p); err != nil {
			l.refuseAll(p, err)
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// counts returns the counters of a program's sites.
func (l *sites) counts(x *engine.Program, mem *ring.Shared) (c engine.Counts) {
	if mem == nil {
		return c
	}
	for id, y := range l.list {
		if y.Key != x.Key {
			continue
		}
		c.False += mem.Counter(uint32(id), ring.CounterFalse)
		c.Faults += mem.Counter(uint32(id), ring.CounterCondFault)
		c.Lost += mem.Counter(uint32(id), ring.CounterLost)
	}
	return c
}

// account adds the tactics of sites.
func (l *sites) account(sums []event.SiteSummary) {
	for i := range sums {
		if id := sums[i].Schema.SiteID; int(id) < len(l.list) {
			sums[i].Tactic = l.list[id].tactic
		}
	}
}

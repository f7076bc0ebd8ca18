package inproc

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jalon-trace/jalon/internal/backend/amd64"
	"github.com/jalon-trace/jalon/internal/patch"
)

// compiler generates the machine code of patches for its final address.
type compiler struct {
	report
	buffers  *buffers
	walks    *walks
	handlers *handlers
	seen     seen // registers that the sites' programs read
}

// chunk is the least number of plans for which another goroutine generates code.
const chunk = 64

// generateAll compiles the trampolines for their final addresses, on all processors. It returns the plans for which
// that was possible; the others are refused.
//
// How long a trampoline is, is known only when it is compiled, and the next one begins behind it. So each goroutine
// has consecutive plans, and in each region a window that is large enough for them by their estimates.
func (c *compiler) generateAll(l *sites, plans []*placed) (kept []*placed) {
	n := max(1, min(runtime.GOMAXPROCS(0), len(plans)/chunk))
	if c.opt.Dump.IR != nil || c.opt.Dump.Code != nil {
		n = 1 // in order
	}
	c.buffers.expect(plans)
	parts := make([][]*placed, n)
	windows := make([]map[*region]*window, n)
	for i := range parts {
		parts[i] = plans[i*len(plans)/n : (i+1)*len(plans)/n]
	}
	for i, part := range parts {
		windows[i] = map[*region]*window{}
		for _, p := range part {
			r := p.region
			r.hot, r.cold = aligned(r.hot), aligned(r.cold)
			if r.shared == nil {
				r.share(c.buffers.addresses()...)
			}
			if windows[i][r] == nil {
				windows[i][r] = &window{used: used{r.hot, r.cold}}
			}
			w := windows[i][r]
			if w.end = (used{r.half(), r.half()}); i < n-1 { // the last window ends with the region
				r.hot, r.cold = r.hot+p.estimate(), r.cold+p.estimate()
				w.end = r.used
			}
		}
	}
	var wg sync.WaitGroup
	var done atomic.Int64
	errs := make([][]error, n)
	known := newTemplates(plans)
	for i, part := range parts {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k, p := range part {
				if i == 0 && l.step("generating code", k*n, len(plans)) != nil {
					done.Store(int64(len(plans)) + 1)
				}
				if done.Add(1) > int64(len(plans)) {
					return // interrupted: the caller checks too
				}
				errs[i] = append(errs[i], c.generate(p, windows[i][p.region], known))
			}
		}()
	}
	wg.Wait()
	for i, part := range parts {
		for k, err := range errs[i] {
			if err != nil {
				l.refuseAll(part[k], err)
				continue
			}
			kept = append(kept, part[k])
		}
		for r, at := range windows[i] {
			r.hot, r.cold = max(r.hot, at.hot), max(r.cold, at.cold)
		}
	}
	return kept
}

func aligned(n uint64) uint64 { return (n + codeAlign - 1) &^ (codeAlign - 1) }

// window is a part of a region for the code of consecutive plans. Behind its end is the code of others.
type window struct {
	used
	end used
}

// add takes n bytes of a window, behind those at used and before end. The code of other sites is never written over, even
// if an estimate was too small.
func add(used *uint64, n, end uint64) error {
	if *used+n > end {
		return fmt.Errorf("BUG: its code needs %d bytes more than was estimated", *used+n-end)
	}
	*used += n
	return nil
}

// generate compiles the trampoline for its final address, behind what is used of a window.
func (c *compiler) generate(p *placed, w *window, known *templates) error {
	w.hot = aligned(w.hot)
	p.at = p.region.base + w.hot
	p.cold, p.marks = nil, marks{}
	insert := func(of, addr uint64) ([]byte, error) {
		var all []byte
		for _, x := range p.sites {
			if x.addr != of {
				continue
			}
			b, err := c.hitCode(p, x, addr+uint64(len(all)), w, known)
			if err != nil {
				return nil, err
			}
			all = append(all, b...)
		}
		return all, nil
	}
	code, pcs, err := p.plan.Emit(p.at, insert)
	if err != nil {
		return err
	}
	if err := add(&w.hot, uint64(len(code)), w.end.hot); err != nil {
		return err
	}
	p.code, p.size, p.pcs = code, uint64(len(code)), pcs
	if p.edits, err = p.plan.Edits(p.entry()); err != nil {
		return err
	}
	if p.plan.Tactic == patch.Trapping {
		p.marks.trap = p.at
	}
	return nil
}

// hitCode compiles the hit program of a site for an address.
func (c *compiler) hitCode(p *placed, x *site, at uint64, w *window, known *templates) ([]byte, error) {
	gpr, flags := x.dead&^c.seen.gpr, x.deadFlags && !c.seen.flags
	x.destroys = seen{gpr, flags}
	coldAt := p.region.base + p.region.half() + w.cold
	tables, err := c.buffers.mapsOf(x.Program)
	if err != nil {
		return nil, err
	}
	cfg := amd64.Config{Addr: at, ColdAddr: coldAt, PC: x.addr, Layout: c.buffers.layout(x.id), DeadGPR: gpr, DeadFlags: flags, NoTSC: c.handlers.noTSC.Load(), Clock: c.opt.Clock, Walk: c.walks.area, Constants: p.region.shared, Maps: tables}
	hit, err := known.compile(templateKey{x.IR, gpr, flags, p.region}, cfg)
	if err != nil {
		return nil, err
	}
	if err := p.mod.stackFor(x.addr, hit.Stack); err != nil {
		p.noStack = err
	}
	if len(hit.Cold) > 0 {
		p.cold = append(p.cold, coldPart{x, coldAt, hit.Cold, uint64(len(hit.Cold))})
		if err := add(&w.cold, (uint64(len(hit.Cold))+coldAlign-1)&^(coldAlign-1), w.end.cold); err != nil {
			return nil, err
		}
	}
	p.marks.hits = append(p.marks.hits, hitMarks{x.id, hit.Faults, hit.Edges, hit.Clocks})
	if d := c.opt.Dump; d.IR != nil {
		d.IR(x.Label, x.IR.String())
	}
	if d := c.opt.Dump; d.Code != nil {
		d.Code(x.Label, strings.Join(hit.Listing(), "\n"))
	}
	return hit.Bytes, nil
}

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
	windows := make([]map[*region]*used, n)
	for i := range parts {
		parts[i] = plans[i*len(plans)/n : (i+1)*len(plans)/n]
	}
	for i, part := range parts {
		windows[i] = map[*region]*used{}
		for _, p := range part {
			r := p.region
			r.hot, r.cold = aligned(r.hot), aligned(r.cold)
			if r.shared == nil {
				r.share(c.buffers.addresses()...)
			}
			if windows[i][r] == nil {
				windows[i][r] = &used{r.hot, r.cold}
			}
			if i < n-1 { // the last window has no end
				r.hot, r.cold = r.hot+p.estimate(), r.cold+p.estimate()
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

// generate compiles the trampoline for its final address, behind what is used of its region.
func (c *compiler) generate(p *placed, used *used, known *templates) error {
	used.hot = aligned(used.hot)
	p.at = p.region.base + used.hot
	p.cold, p.marks = nil, marks{}
	insert := func(of, addr uint64) ([]byte, error) {
		var all []byte
		for _, x := range p.sites {
			if x.addr != of {
				continue
			}
			b, err := c.hitCode(p, x, addr+uint64(len(all)), used, known)
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
	if uint64(len(code)) > p.estimate() {
		panic(fmt.Sprintf("BUG: a trampoline of %d bytes was estimated at %d", len(code), p.estimate()))
	}
	p.code, p.size, p.pcs = code, uint64(len(code)), pcs
	used.hot += uint64(len(code))
	if used.hot > p.region.half() || used.cold > p.region.half() {
		panic(fmt.Sprintf("BUG: the code for %#x is larger than its region: %d and %d of %d bytes", p.plan.Addr, used.hot, used.cold, p.region.half()))
	}
	if p.edits, err = p.plan.Edits(p.entry()); err != nil {
		return err
	}
	if p.plan.Tactic == patch.Trapping {
		p.marks.trap = p.at
	}
	return nil
}

// hitCode compiles the hit program of a site for an address.
func (c *compiler) hitCode(p *placed, x *site, at uint64, used *used, known *templates) ([]byte, error) {
	gpr, flags := x.dead&^c.seen.gpr, x.deadFlags && !c.seen.flags
	x.destroys = seen{gpr, flags}
	coldAt := p.region.base + p.region.half() + used.cold
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
		used.cold += (uint64(len(hit.Cold)) + coldAlign - 1) &^ (coldAlign - 1)
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

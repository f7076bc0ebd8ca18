package inproc

import (
	"fmt"
	"strings"

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

// generate compiles the trampoline for its final address.
func (c *compiler) generate(p *placed) error {
	p.region.hot = (p.region.hot + codeAlign - 1) &^ (codeAlign - 1)
	p.at = p.region.base + p.region.hot
	p.tab = tables{fault: map[uint64]uint64{}, edge: map[uint64]edge{}, clock: map[uint64]uint64{}, trap: map[uint64]uint64{}}
	insert := func(addr, at uint64) ([]byte, error) {
		var all []byte
		for _, x := range p.sites {
			if x.addr != addr {
				continue
			}
			b, err := c.hitCode(p, x, at+uint64(len(all)))
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
	p.code, p.pcs = code, pcs
	p.region.hot += uint64(len(code))
	if p.region.hot > p.region.half() || p.region.cold > p.region.half() {
		panic(fmt.Sprintf("BUG: the code for %#x is larger than its region: %d and %d of %d bytes", p.plan.Addr, p.region.hot, p.region.cold, p.region.half()))
	}
	if p.edits, err = p.plan.Edits(p.entry()); err != nil {
		return err
	}
	if p.plan.Tactic == patch.Trapping {
		p.tab.trap[p.plan.Addr] = p.at
	}
	p.tab.origin = p.copies()
	p.tab.code = []span{{p.at, p.at + uint64(len(code))}}
	if p.stub != 0 {
		p.tab.code = append(p.tab.code, span{p.stub, p.stub + stubLen})
	}
	for _, part := range p.cold {
		p.tab.code = append(p.tab.code, span{part.at, part.at + uint64(len(part.code))})
	}
	return nil
}

// hitCode compiles the hit program of a site for an address.
func (c *compiler) hitCode(p *placed, x *site, at uint64) ([]byte, error) {
	gpr, flags := x.dead&^c.seen.gpr, x.deadFlags && !c.seen.flags
	coldAt := p.region.base + p.region.half() + p.region.cold
	hit, err := amd64.Compile(x.IR, amd64.Config{Addr: at, ColdAddr: coldAt, PC: x.addr, Layout: c.buffers.layout(x.id), DeadGPR: gpr, DeadFlags: flags, NoTSC: c.handlers.noTSC.Load(), Clock: c.opt.Clock, Walk: c.walks.area, Constants: p.region.share(c.buffers.addresses()...)})
	if err != nil {
		return nil, err
	}
	if err := p.mod.stackFor(x.addr, hit.Stack); err != nil {
		p.noStack = err
	}
	if len(hit.Cold) > 0 {
		p.cold = append(p.cold, coldPart{x, coldAt, hit.Cold})
		p.region.cold += uint64(len(hit.Cold)+15) &^ 15
	}
	for _, f := range hit.Faults {
		p.tab.fault[f.PC] = f.Fixup
	}
	for _, f := range hit.Edges {
		p.tab.edge[f.PC] = edge{f.Fixup, x.id}
	}
	for _, pc := range hit.Clocks {
		p.tab.clock[pc] = pc + rdtscLen
	}
	if d := c.opt.Dump; d.IR != nil {
		d.IR(x.Label, x.IR.String())
	}
	if d := c.opt.Dump; d.Code != nil {
		d.Code(x.Label, strings.Join(hit.Listing(), "\n"))
	}
	return hit.Bytes, nil
}

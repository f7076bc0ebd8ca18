package inproc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// placed is a plan with its place: one jump, its trampoline, its sites.
type placed struct {
	mod  *module
	plan *patch.Plan
	// trapping is the plan with int3, for a punned jump without room for its stub.
	trapping *patch.Plan
	noTrap   error // why there is no trapping plan
	sites    []*site
	region   *region
	at       uint64 // address of the trampoline
	stub     uint64 // address of the stub of a punned jump; 0: none
	code     []byte // of the trampoline; nil when it was written
	size     uint64 // its bytes
	cold     []coldPart
	pcs      []patch.PCPair
	edits    []patch.Edit
	marks    marks // nothing when the tracer has them
	active   bool  // its bytes are in the process; of the tracer's goroutine
	restored bool  // an int3, and the program's own byte is in its place while no site is enabled
	// noStack is why the code must not run: it would store below a goroutine's stack.
	noStack error
}

// coldPart is the rarely executed part of a hit program.
type coldPart struct {
	site *site
	at   uint64
	code []byte // nil when it was written
	size uint64
}

// traps reports whether the site is reached by an int3.
func (p *placed) traps() bool { return p.plan.Tactic == patch.Trapping }

// off reports whether no site is enabled.
func (p *placed) off() bool {
	return !slices.ContainsFunc(p.sites, func(x *site) bool { return !x.off })
}

func (p *placed) end() uint64 { return p.plan.Addr + uint64(p.plan.Len) }

// heldEnd is the end of the bytes that the patch changes or depends on.
func (p *placed) heldEnd() uint64 { return p.plan.End() }

// entry returns the target of the site's jump.
func (p *placed) entry() uint64 {
	if p.stub != 0 {
		return p.stub
	}
	return p.at
}

// stubCode returns the jump from a stub to the trampoline.
func (p *placed) stubCode() []byte {
	return binary.LittleEndian.AppendUint32([]byte{0xe9}, uint32(p.at-(p.stub+stubLen)))
}

// copyOf returns the address of the copy of the instruction at addr.
func (p *placed) copyOf(addr uint64) uint64 {
	for _, pair := range p.pcs {
		if pair.Orig == addr {
			return pair.Copy
		}
	}
	return p.pcs[0].Copy
}

// copies lists the addresses of the displaced instructions, for the tables.
func (p *placed) copies() (list []copied) {
	for i, pair := range p.pcs {
		c := copied{span: span{pair.Copy, pair.End}, Origin: process.Origin{PC: pair.Orig}}
		if p.plan.Tactic == patch.JumpMany {
			c.Lo, c.Hi = p.plan.Addr, p.end()
		}
		class := p.plan.Inst(i).Class
		c.pushed = class == patch.Call || class == patch.CallInd
		list = append(list, c)
	}
	return list
}

// join adds a site at an instruction that the plan displaces already.
func (p *placed) join(x *site) error {
	for i := range p.plan.Insts {
		if p.plan.Insts[i].Addr == x.addr {
			p.sites = append(p.sites, x)
			return nil
		}
	}
	return fmt.Errorf("no instruction begins at %#x", x.addr)
}

// replan changes the plan to int3.
func (p *placed) replan() error {
	if p.trapping == nil {
		return p.noTrap
	}
	p.plan = p.trapping
	for _, x := range p.sites {
		x.tactic = p.plan.Tactic.String()
	}
	return nil
}

// wayBack is the program's own address for a pc at a boundary of the displaced copies.
func (p *placed) wayBack(pc uint64) (to uint64, ok bool) {
	if p.stub != 0 && pc == p.stub {
		return p.plan.Addr, true
	}
	for i, pair := range p.pcs {
		if pc == pair.Entry || pc == pair.Copy {
			return pair.Orig, true
		}
		if in := p.plan.Inst(i); in.Class == patch.Syscall && pc == pair.End {
			return in.Next(), true
		}
	}
	if to, ok = p.plan.Back(p.pcs); ok && pc == p.pcs[len(p.pcs)-1].End {
		return to, true
	}
	return 0, false
}

// unchanged reports whether the program's bytes that the patch replaces or depends on are those that it was
// planned from.
func (p *placed) unchanged(code *codePages) bool {
	for _, d := range p.edits {
		if !code.has(d.Addr, d.Old) {
			return false
		}
	}
	return len(p.plan.Kept) == 0 || code.has(p.end(), p.plan.Kept)
}

// ours reports whether the bytes at an edit are still those that were written: the library may have been
// unloaded unnoticed, and another mapped there.
func ours(st readable, addr uint64, written []byte) bool {
	now := make([]byte, len(written))
	return st.ReadMem(addr, now) == nil && bytes.Equal(now, written)
}

// putBack restores the program's own bytes.
func putBack(st *process.Stopped, list []*placed) error {
	code := codePages{st: st, write: st.RestoreMem}
	for _, p := range list {
		p.active = false
		for _, d := range p.edits {
			if !code.has(d.Addr, d.New) {
				continue
			}
			if err := code.change(d.Addr, d.Old); err != nil {
				return err
			}
		}
	}
	return code.flush()
}

// pieces lists the code of the trampoline.
func (p *placed) pieces() []piece {
	list := []piece{{p.at, p.code}}
	if p.stub != 0 {
		list = append(list, piece{p.stub, p.stubCode()})
	}
	for _, c := range p.cold {
		list = append(list, piece{c.at, c.code})
	}
	return list
}

// written drops what is in the process, and in the tables of the tracer, now: 3 KB of each site.
func (p *placed) written() {
	p.code, p.marks = nil, marks{}
	for i := range p.cold {
		p.cold[i].code = nil
	}
}

// jump writes the jumps of a patch to its trampoline.
func (p *placed) jump(code *codePages) error {
	p.active = true
	for _, d := range p.edits {
		if err := code.change(d.Addr, d.New); err != nil {
			return err
		}
	}
	return nil
}

// jumpAgain writes int3s whose trampolines are still in place.
func jumpAgain(st *process.Stopped, list []*placed) error {
	code := codePages{st: st, write: st.WriteMem}
	for _, p := range list {
		if !p.unchanged(&code) {
			return fmt.Errorf("tracepoint %d: the code at %#x has changed", p.sites[0].Number, p.plan.Addr)
		}
	}
	for _, p := range list {
		if err := p.jump(&code); err != nil {
			return err
		}
	}
	return code.flush()
}

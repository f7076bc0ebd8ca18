package amd64

import "github.com/jalon-trace/jalon/internal/ir"

// address is a constant address in the code of a site.
type address struct {
	n  uint64
	of siteOf
}

// fixed is an address that is the same at all sites.
func fixed(n uint64) address { return address{n: n} }

// addrReg loads a constant address: rip-relative when near, else in full.
func (od *operands) addrReg(addr address) Reg {
	s := od.scratch()
	od.loadAddr(s, addr)
	return s
}

func (od *operands) loadAddr(r Reg, addr address) {
	if addr.n > 1<<32 && od.near(addr) {
		od.lea(8, r, ripTo(addr))
		return
	}
	od.a.own = od.a.own || addr.of != sameEverywhere
	if c, off, ok := od.constant(addr); ok && off == 0 && addr.n >= 1<<32 {
		od.rmo(iMOV, 8, r, memOpd(ripTo(fixed(c.At))))
		return
	}
	od.movImm(r, int64(addr.n))
}

// near reports whether addr can be addressed rip-relative from all of the generated code.
func (pl *planner) near(addr address) bool {
	near := pl.cfg.near(addr.n)
	pl.reached = append(pl.reached, reached{addr, near})
	return near
}

func (c *Config) near(addr uint64) bool {
	const margin = 1 << 24
	d := int64(addr - c.Addr)
	return d > -(1<<31)+margin && d < (1<<31)-margin
}

// constant is Config.constant for an address that may be a site's own.
func (pl *planner) constant(addr address) (c Constant, off int32, ok bool) {
	c, off, ok = pl.cfg.constant(addr.n)
	if addr.of != sameEverywhere {
		pl.based = append(pl.based, based{addr, c})
	}
	return c, off, ok
}

// fixedMem is the memory operand for a constant address.
func (od *operands) fixedMem(addr address) mem {
	if od.near(addr) {
		return ripTo(addr)
	}
	if c, off, ok := od.constant(addr); ok {
		return at(od.addrReg(fixed(c.Value)), off).follow(addr.of)
	}
	return at(od.addrReg(addr), 0)
}

// isRSP reports whether v is the program's rsp.
func (pl *planner) isRSP(v ir.Value) bool {
	in := pl.an.instr(v)
	return in != nil && in.Op == ir.Reg && in.Imm == 7
}

// base returns v for use in an address: a register and what to add to it.
func (od *operands) base(v ir.Value) (Reg, int32) {
	if od.isRSP(v) {
		if od.framed() {
			return RSP, od.plan.frame
		}
		return RSP, 0
	}
	return od.reg(v, 8), 0
}

// sumMem turns a decomposed sum into a memory operand. rest is an offset too
// large for it.
func (od *operands) sumMem(a amode, rest int64) mem {
	if a.base == ir.None {
		panic("BUG: amd64: sum without base")
	}
	b, add := od.base(a.base)
	disp := int64(a.disp) + int64(add) + rest
	m := at(b, int32(disp))
	if disp != int64(int32(disp)) {
		s := od.constReg(disp)
		od.rmo(iADD, 8, s, regOpd(b))
		m = at(s, 0)
	}
	if a.index != ir.None {
		m.index, m.scale = od.indexReg(a.index, 8), a.scale
		if m.index == RSP {
			m.base, m.index = RSP, m.base
		}
	}
	return m
}

// indexReg is reg for an index, which rsp cannot be. (A load that is folded is read
// in its own width: w.)
func (od *operands) indexReg(v ir.Value, w uint8) Reg {
	r := od.reg(v, w)
	if r != RSP {
		return r
	}
	s := od.scratch()
	od.rmo(iMOV, 8, s, regOpd(RSP))
	return s
}

// loadOpd is the memory operand of a load, with its null test and fault edge.
func (od *operands) loadOpd(in *ir.Instr) opd {
	a := od.an.modes[in]
	rest := int64(0)
	if in.Imm != int64(int32(in.Imm)) {
		rest = in.Imm
	}
	m := od.sumMem(a, rest)
	o := memOpd(m)
	if in.Fault != ir.NoBlock {
		o.fix = od.faultEdge(in.Fault, m)
		if a.index == ir.None && rest == 0 && a.disp >= 0 && a.disp < 4096 {
			od.nullTest(a.base, m.base, o.fix)
		}
	}
	return o
}

// nullTest leaves to fix when the pointer v, in register r, points to the null
// page. It is only an economy (a trap is slow), so it is left out where the flags
// would have to be saved for it, and where v was tested before.
func (od *operands) nullTest(v ir.Value, r Reg, fix label) {
	if r == RSP || od.checked[v] || od.savable.has(itemFlags) && !od.plan.out[od.cur].has(itemFlags) {
		return
	}
	od.checked[v] = true
	od.mi(iCMP, 8, rmReg(r), 4095)
	od.a.jcc(ccBE, fix)
}

// faultEdge returns the label of a stub that goes to block to with the address m
// as its parameter.
func (od *operands) faultEdge(to ir.BlockID, m mem) label {
	stub := od.a.newLabel()
	od.later(func() {
		od.a.bind(stub)
		busy := od.busy
		grows := od.savesBefore(to).has(itemFrame)
		od.beginEdge(to)
		od.busy |= busy
		if grows && m.base == RSP {
			m.disp += od.plan.frame
		}
		param := od.an.p.Blocks[to].Params[0]
		switch d := od.al.loc[param]; d.kind {
		case locReg:
			od.leaMove(d.r, m)
		case locSpill:
			s := od.scratch()
			od.lea(8, s, m)
			od.mr(iMOV, 8, rmMem(od.spillSlot(d.slot)), s)
		}
		od.edgeTo = ir.NoBlock
		od.a.jmp(od.blockLab[to])
	})
	return stub
}

// leaMove is lea, or a plain move when the address is just a register.
func (od *operands) leaMove(r Reg, m mem) {
	if m.index == NoReg && m.disp == 0 && !m.rip && m.base != NoReg {
		if m.base != r {
			od.rmo(iMOV, 8, r, regOpd(m.base))
		}
		return
	}
	od.lea(8, r, m)
}

// pointer returns A + off as a register and a displacement that leaves room for
// span bytes more.
func (od *operands) pointer(a ir.Value, off, span int64) mem {
	r, d := od.base(a)
	sum := int64(d) + off
	if sum == int64(int32(sum)) && sum+span == int64(int32(sum+span)) {
		return at(r, int32(sum))
	}
	s := od.constReg(sum)
	od.rmo(iADD, 8, s, regOpd(r))
	return at(s, 0)
}

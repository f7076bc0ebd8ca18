package patch

// Taken is a set of registers: general ones by their numbers, and the first two for floating-point numbers.
type Taken uint32

// The registers that may have results of a function.
const (
	TakenRAX  = Taken(RAX)
	TakenRDX  = Taken(RDX)
	TakenXMM0 = Taken(1 << 16)
	TakenXMM1 = Taken(1 << 17)

	results = TakenRAX | TakenRDX | TakenXMM0 | TakenXMM1
	vectors = TakenXMM0 | TakenXMM1
	noTaken = Taken(0)
)

// ResultsUsed returns the registers in which direct callers of the function at entry take results: behind such a call
// they read the register before anything else writes to it. No other register survives a call by the calling
// conventions of compilers, so the function returns something there, whatever it says of itself. A register that is
// not in the set need not be without a result: callers may be indirect, and only what leaves no doubt counts.
func (t *Text) ResultsUsed(entry uint64) (used Taken) {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := 0
	for _, f := range t.far(&Code{Lo: entry, Hi: entry + 1}) {
		if f.absolute || f.to != entry {
			continue
		}
		n := t.neighbourAt(f.at)
		if n == nil || !n.certain {
			continue
		}
		in := n.covering(f.at)
		if in == nil || in.Class != Call || in.Target != entry || in.Next() != f.at+4 {
			continue
		}
		used |= n.taken(in.Next(), results)
		if seen++; seen == maxCallers || used == results {
			break
		}
	}
	return used
}

// Takes reports whether the function at entry takes a value from a general register: it reads the register before
// anything else writes to it.
func (t *Text) Takes(entry uint64, reg int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.neighbourAt(entry)
	return n != nil && n.certain && n.code.Lo == entry && n.taken(entry, 1<<reg) != 0
}

// taken returns those of the registers that the code from addr on certainly reads before it writes to them.
func (n *neighbour) taken(addr uint64, regs Taken) Taken {
	w := takenWalk{code: n.code.analyse(), lo: n.code.Lo, budget: takenBudget}
	w.walk(addr, regs)
	return w.used
}

// maxCallers is how many calls are looked at, and takenBudget how many instructions behind each.
const (
	maxCallers  = 200
	takenBudget = 48
)

// takenWalk goes forward. Whatever it does not understand ends the search for a register without a finding.
type takenWalk struct {
	code   *analysis
	lo     uint64
	used   Taken
	budget int
}

// walk follows the paths from an address; no register of pending has been touched on the way.
func (w *takenWalk) walk(addr uint64, pending Taken) {
	for pending&^w.used != 0 {
		if w.budget--; w.budget < 0 || addr < w.lo || addr-w.lo >= uint64(len(w.code.index)) {
			return
		}
		i := w.code.index[addr-w.lo]
		if i < 0 {
			return
		}
		in := &w.code.insts[i]
		read, touched := in.takes()
		w.used |= pending & read
		pending &^= touched
		switch in.Class {
		case Normal, Nop:
			addr = in.Next()
		case Jmp:
			addr = in.Target
		case Jcc:
			w.walk(in.Target, pending)
			addr = in.Next()
		default:
			return
		}
	}
}

// takes returns the registers whose values the instruction certainly uses, and those that it touches in any way.
func (in *Inst) takes() (read, touched Taken) {
	if in.Unknown {
		return 0, ^noTaken
	}
	read, touched = in.generalUse()
	r, t := in.vectorUse()
	touched |= t
	return (read | r) & touched, touched
}

// use says which operands of ModRM an instruction needs the values of.
type use uint8

const (
	useReg  use = 1 << iota // the register in ModRM.reg
	useRM                   // the register in ModRM.rm
	useSame                 // also if both are one register
)

// generalUses are the instructions of integers that count. Not those that compilers use for registers without a value:
// push (keeps the stack aligned), xor and sub of a register with itself, or with -1, partial and conditional writes.
var generalUses = map[uint8]use{
	0x88: useReg, 0x89: useReg, 0x8a: useRM, 0x8b: useRM, 0x63: useRM, // mov, movsxd
	0x01: useReg | useRM | useSame, 0x03: useReg | useRM | useSame, // add
	0x21: useReg | useRM, 0x23: useReg | useRM, 0x09: useReg | useRM, 0x0b: useReg | useRM, // and, or
	0x38: useReg | useRM, 0x39: useReg | useRM, 0x3a: useReg | useRM, 0x3b: useReg | useRM, // cmp
	0x84: useReg | useRM | useSame, 0x85: useReg | useRM | useSame, // test
	0x69: useRM | useSame, 0x6b: useRM | useSame, // imul with an immediate operand
}

// digitUses are instructions whose ModRM.reg says what they do: a bit for each digit that counts.
var digitUses = map[uint8]uint8{
	0x80: 1<<0 | 1<<4 | 1<<5 | 1<<7, 0x81: 1<<0 | 1<<4 | 1<<5 | 1<<7, 0x83: 1<<0 | 1<<4 | 1<<5 | 1<<7, // add, and, sub, cmp
	0xc1: 1<<4 | 1<<5 | 1<<7, 0xd1: 1<<4 | 1<<5 | 1<<7, // shifts
	0xf6: 1 << 0, 0xf7: 1 << 0, // test
}

// accumulatorUses are cmp, test, add, sub and and of al, eax or rax with an immediate operand.
var accumulatorUses = map[uint8]bool{
	0x3c: true, 0x3d: true, 0xa8: true, 0xa9: true, 0x04: true, 0x05: true, 0x2c: true, 0x2d: true, 0x24: true, 0x25: true,
}

// general and vector give the set of one register; none if it is not of interest.
func general(reg int) Taken {
	if reg < 0 {
		return 0
	}
	return 1 << reg
}

func vector(reg int) Taken {
	if reg > 1 {
		return 0
	}
	return TakenXMM0 << reg
}

// operands are the register in ModRM.reg and the operand in ModRM.rm.
func (in *Inst) operands() (reg int, rm memOperand) {
	reg = int(in.b[in.modOff]>>3&7 | in.pfx.r)
	if in.RIPOff != 0 {
		return reg, memOperand{isMem: true, base: -1, index: -1}
	}
	return reg, in.memory()
}

// generalUse is results for the registers of integers.
func (in *Inst) generalUse() (read, touched Taken) {
	touched = Taken(in.Reads | in.Writes)
	switch {
	case in.pfx.addrsize:
		return 0, touched
	case in.modOff == 0:
		if in.space == spaceOne && accumulatorUses[in.opcode] && in.b[in.Len-1] != 0 {
			read = TakenRAX
		}
		return read, touched
	}
	reg, rm := in.operands()
	if rm.isMem {
		read = general(rm.base) | general(rm.index)
	}
	u, digit := use(0), in.b[in.modOff]>>3&7
	switch {
	case in.space == spaceOne && digitUses[in.opcode]&(1<<digit) != 0:
		if u = useRM | useSame; digit == 4 && in.opcode < 0x84 && in.b[in.Len-1] == 0 { // and with 0, perhaps
			u = 0
		}
	case in.space == spaceOne:
		u = generalUses[in.opcode]
	case in.space == space0F && (in.opcode == 0xb6 || in.opcode == 0xb7 || in.opcode == 0xbe || in.opcode == 0xbf): // movzx, movsx
		u = useRM | useSame
	case in.space == space0F && in.opcode == 0x6e: // movd, movq to a vector register
		u = useRM | useSame
	}
	bytes := in.space == spaceOne && in.opcode&1 == 0 && in.opcode != 0x6b || in.space == space0F && in.opcode&1 == 0
	second := func(r int) bool { return bytes && !in.pfx.rex && r >= 4 } // ah, dh
	if !rm.isMem && rm.reg == reg && u&useSame == 0 && u&(useReg|useRM) != 0 {
		return read, touched
	}
	if u&useReg != 0 && !second(reg) {
		read |= general(reg)
	}
	if u&useRM != 0 && !rm.isMem && !second(rm.reg) {
		read |= general(rm.reg)
	}
	return read, touched
}

// vectorUses are the instructions of floating-point numbers that count, without a VEX prefix.
var vectorUses = map[uint8]use{
	0x11: useReg, 0x13: useReg, 0x17: useReg, 0x29: useReg, 0x7f: useReg, 0xd6: useReg, // stores
	0x10: useRM, 0x28: useRM, 0x6f: useRM, // moves
	0x2c: useRM, 0x2d: useRM, 0x5a: useRM, // conversions
	0x14: useReg | useRM, 0x16: useRM, // unpcklps, movlhps
	0x2e: useReg | useRM | useSame, 0x2f: useReg | useRM | useSame, // comparisons
	0x58: useReg | useRM | useSame, 0x59: useReg | useRM | useSame, 0x5c: useReg | useRM, 0x5e: useReg | useRM, // + * - /
}

// vectorUse is results for the registers of floating-point numbers.
func (in *Inst) vectorUse() (read, touched Taken) {
	switch {
	case in.space == spaceOne:
		return 0, 0
	case in.space != space0F:
		return 0, vectors
	case in.modOff == 0 || in.opcode < 0x10 || in.opcode > 0x17 && in.opcode < 0x28 || in.opcode > 0x2f && in.opcode < 0x50 ||
		in.opcode > 0x7f && in.opcode < 0xc2:
		return 0, 0
	}
	reg, rm := in.operands()
	touched = vector(reg)
	u := vectorUses[in.opcode]
	if in.opcode == 0x7e { // movd, movq to memory or a register of integers; with f3 from a vector register
		u = useReg | useSame
		if in.pfx.rep == 0xf3 {
			u = useRM | useSame
		}
	}
	if !rm.isMem {
		touched |= vector(rm.reg)
		if rm.reg == reg && u&useSame == 0 {
			return 0, touched
		}
		if u&useRM != 0 {
			read |= vector(rm.reg)
		}
	}
	if u&useReg != 0 {
		read |= vector(reg)
	}
	return read, touched
}

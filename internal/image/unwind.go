package image

import (
	"encoding/binary"
	"slices"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// maxFrames bounds a stack trace.
const maxFrames = 128

// walks is what an image keeps for the stacks of its program.
type walks struct {
	rules  []cachedRule // by the low bits of the address; nil: not used yet
	stacks map[uint64]*stack
	frames int // in stacks
	pcs    []uint64
}

// cachedRule is the rule at an address of the program.
type cachedRule struct {
	addr uint64
	rule unwind.Rule
}

// stack is a stack that was seen, with its names.
type stack struct {
	pcs    []uint64
	end    unwind.End
	frames []debuginfo.Frame
}

const (
	// ruleCache is how many rules an image keeps.
	ruleCache = 1 << 11
	// maxStackFrames bounds the frames of the stacks that an image keeps.
	maxStackFrames = 1 << 16
)

// lookup is how walking finds code: by address of the program.
type lookup struct {
	rule func(addr uint64) unwind.Rule
	file func(addr uint64) (*dwarf.Module, uint64)
}

// Unwind names the frames of a recorded stack, innermost first. regs are the registers in the order of
// arch.Processor.Dump, 8 bytes each; stack is a copy of the memory from the stack pointer up. The result is shared
// by all equal stacks: it must not be changed.
func (im *Image) Unwind(regs, stack []byte) []debuginfo.Frame {
	pcs, end := im.walks.follow(regs, stack, lookup{im.rule, im.File})
	return im.Walked(pcs, end)
}

// Walked names the frames of a stack that was walked at the hit, like Unwind.
func (im *Image) Walked(pcs []uint64, end unwind.End) []debuginfo.Frame {
	if n := len(pcs); n > 1 && end == unwind.Unknown && len(im.code) > 0 && !im.IsCode(pcs[n-1]-1) {
		pcs, end = pcs[:n-1], unwind.Damaged // the word is not a return address
	}
	return im.walks.named(pcs, end, im)
}

// Where the registers that begin a walk are in a dump.
var (
	dumpPC = 8 * slices.Index(host.Processor.Dump, arch.Reg(regPC))
	dumpSP = 8 * slices.Index(host.Processor.Dump, arch.Reg(regSP))
	dumpFP = 8 * slices.Index(host.Processor.Dump, arch.Reg(regFP))
)

// follow returns the program counters of a stack, which are valid until the next call.
func (w *walks) follow(regs, stack []byte, code lookup) ([]uint64, unwind.End) {
	if w.pcs == nil {
		w.pcs = make([]uint64, 0, maxFrames)
	}
	r := firstRegisters(regs)
	pcs, end := unwind.Walk(r, &unwind.Memory{Base: r.SP, Bytes: stack}, code.rule, w.pcs[:0])
	if end == unwind.Special {
		pcs, end = unwindAll(regs, stack, code.file, w.pcs[:0])
	}
	return pcs, end
}

// firstRegisters are the registers that a walk begins with.
func firstRegisters(regs []byte) unwind.Registers {
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(regs[at:]) }
	return unwind.Registers{PC: word(dumpPC), SP: word(dumpSP), FP: word(dumpFP)}
}

// rule is the rule at an address.
func (im *Image) rule(addr uint64) unwind.Rule {
	w := &im.walks
	if w.rules == nil {
		w.rules = make([]cachedRule, ruleCache)
	}
	c := &w.rules[(addr^addr>>12)%ruleCache]
	if c.addr == addr && addr != 0 {
		return c.rule
	}
	m, bias := im.File(addr)
	if m == nil { // it may be mapped later
		if im.made(addr) {
			return madeRule
		}
		return unwind.Rule(unwind.None)
	}
	*c = cachedRule{addr, m.UnwindTable().Find(addr - bias)}
	return c.rule
}

// namer names addresses of an image.
type namer interface {
	Frames(pc uint64, caller bool) []debuginfo.Frame
	rule(addr uint64) unwind.Rule
	made(addr uint64) bool
	IsCode(addr uint64) bool
}

// named returns the frames of a stack, from those that are known.
func (w *walks) named(pcs []uint64, end unwind.End, n namer) []debuginfo.Frame {
	key := uint64(end)
	for _, pc := range pcs {
		key = (key ^ pc) * 0x9e3779b97f4a7c15
		key ^= key >> 29
	}
	if s := w.stacks[key]; s != nil && s.end == end && slices.Equal(s.pcs, pcs) {
		return s.frames
	}
	s := &stack{pcs: slices.Clone(pcs), end: end}
	exact := true
	pcs, end, made := throughMade(pcs, end, n)
	for i, pc := range pcs {
		at := pc
		if !exact {
			at--
		}
		signal := n.rule(at).Kind() == unwind.Signal // a handler returns to its first instruction
		s.frames = append(s.frames, n.Frames(pc, !exact && !signal)...)
		exact = signal
		last := i+1 == len(pcs)
		if f := len(s.frames); f > 0 && (last || made != nil) {
			s.frames[f-1].Cut = cut(last, made != nil && made[i], !last && made != nil && made[i+1], end)
		}
	}
	w.frames += len(s.frames)
	if w.stacks == nil || w.frames > maxStackFrames {
		w.stacks, w.frames = map[uint64]*stack{}, len(s.frames)
	}
	w.stacks[key] = s
	return s.frames
}

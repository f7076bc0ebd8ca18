package patch

import "fmt"

// The kernel replaces the breakpoint of a kprobe by a jump of 5 bytes where it is certain that the copies of the instructions that
// the jump overwrites do the same elsewhere, and that nothing jumps between them (Documentation/trace/kprobes.rst, "How Does
// Jump Optimization Work"; seen on Linux 6.1 to 6.18). KernelCode says where that may be, from the function's code alone. Functions
// with instructions that may fault (an exception table) and code that the kernel changes itself are not known here.

// KernelCode is the code of a function of the kernel.
type KernelCode struct {
	list []Inst
	why  string // why no instruction can have a jump
	end  uint64
}

// ReadKernelCode decodes a function that begins at addr. What follows an int3 is padding. indirect reports whether a jump to an address
// is an indirect one (by a retpoline).
func ReadKernelCode(code []byte, addr uint64, indirect func(target uint64) bool) *KernelCode {
	k := &KernelCode{end: addr + uint64(len(code))}
	for len(code) > 0 && code[0] != 0xcc {
		in, err := Decode(code, addr)
		if err != nil {
			k.why = err.Error()
			return k
		}
		if in.Class == JmpInd || in.Class == Jmp && indirect(in.Target) {
			k.why = fmt.Sprintf("the function has an indirect jump (at +%#x), which may lead anywhere in it", in.Addr-k.start(in.Addr))
		}
		k.list = append(k.list, in)
		code, addr = code[in.Len:], in.Next()
	}
	k.end = addr
	return k
}

func (k *KernelCode) start(or uint64) uint64 {
	if len(k.list) == 0 {
		return or
	}
	return k.list[0].Addr
}

// NoJump returns why the kernel cannot put a jump at the instruction at addr; "" if it may.
func (k *KernelCode) NoJump(addr uint64) string {
	if k.why != "" {
		return k.why
	}
	end := addr
	for i := range k.list {
		in := &k.list[i]
		if in.Addr < addr || end >= addr+jumpLen {
			continue
		}
		if in.Addr != end {
			return "no instruction begins there"
		}
		if why := in.stays(); why != "" {
			return fmt.Sprintf("the %s at +%#x cannot be executed elsewhere", why, in.Addr-k.start(addr))
		}
		end = in.Next()
	}
	switch {
	case end == addr:
		return "no instruction begins there"
	case end < addr+jumpLen:
		return "the function ends within the 5 bytes of a jump"
	}
	for i := range k.list {
		if in := &k.list[i]; in.Target > addr && in.Target < addr+jumpLen && in.branches() {
			return fmt.Sprintf("the %s at +%#x leads between the instructions that a jump would overwrite", in.Class, in.Addr-k.start(addr))
		}
	}
	return ""
}

// Nearest returns the instruction nearest to addr at which the kernel may put a jump.
func (k *KernelCode) Nearest(addr uint64) (at uint64, ok bool) {
	distance := func(x uint64) uint64 { return max(x, addr) - min(x, addr) }
	for i := range k.list {
		x := k.list[i].Addr
		if (!ok || distance(x) < distance(at)) && k.NoJump(x) == "" {
			at, ok = x, true
		}
	}
	return at, ok
}

func (in *Inst) branches() bool {
	switch in.Class {
	case Jmp, Jcc, Loop, XBegin, Call:
		return true
	}
	return false
}

// stays names an instruction that the kernel does not execute in a copy without a step, "" for others.
func (in *Inst) stays() string {
	if in.Class != Normal && in.Class != Nop {
		return in.Class.String()
	}
	if op, ok := in.oneByte(); ok && (op >= 0xd8 && op <= 0xdf || op == 0xf4) {
		return "instruction"
	}
	return ""
}

// oneByte is the opcode of an instruction of the first table.
func (in *Inst) oneByte() (byte, bool) {
	b := in.b[in.opOff]
	return b, int(in.opOff) < in.Len && in.space == spaceOne
}

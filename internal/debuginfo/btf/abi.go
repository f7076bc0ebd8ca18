package btf

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Where the arguments of kernel functions are: in registers and on the stack by the
// processor's calling convention (package arch) at the function's first instruction, and
// in the words that a BPF trampoline makes of them. The kernel uses no floating point, so
// all is integers and aggregates of them.

// entryPlaces says where parameters are before the first instruction of a function with
// this result; nil: void.
func entryPlaces(params []Param, result *ctype.Type) []debuginfo.Location {
	return entryPlacesOf(host.Processor, params, result)
}

// entryPlacesOf: on x86-64 the stack pointer points at the return address there (psABI
// 3.2.3); on arm64 at the first argument in memory (AAPCS64 6.8.2). Where a result in
// memory has its address passed as the first argument, the parameters come behind it.
func entryPlacesOf(proc *arch.Processor, params []Param, result *ctype.Type) []debuginfo.Location {
	out := make([]debuginfo.Location, len(params))
	regs, stack := 0, proc.ReturnSlot
	onStack := func(words, alignment int64) []debuginfo.Op {
		if alignment > 8 {
			stack = (stack-proc.ReturnSlot+15)&^15 + proc.ReturnSlot
		}
		at := stack
		stack += words * 8
		return []debuginfo.Op{{Code: debuginfo.OpReg, Arg: int64(proc.SP)}, {Code: debuginfo.OpAddConst, Arg: at}}
	}
	if result != nil && proc.HiddenArg && sized(result.Strip()) && returnedInMemory(proc, result.Strip()) {
		regs++
	}
	lost := "" // set when a parameter's place is not known, nor those behind it
	for i, p := range params {
		t := p.Type.Strip()
		if lost == "" && !sized(t) {
			lost = fmt.Sprintf("the type of parameter %s is not known, so its place is not", p.Name)
		}
		n := int((t.Size + 7) / 8)
		if lost == "" && proc.AlignArgs && n == 2 && align(t, 0) > 8 {
			regs = (regs + 1) &^ 1 // an even register
		}
		switch {
		case lost != "":
			out[i].Unavailable = lost
		case t.Size == 0: // an empty struct takes no room in C
			out[i].Unavailable = "it has no bytes"
		case t.Kind == ctype.Float || t.Kind == ctype.Complex:
			out[i].Unavailable = "floating point is not passed in registers that are recorded"
		case n <= 2 && !inMemoryClass(proc, t) && regs+n <= len(proc.Args):
			out[i].Pieces = registers(proc.Args[regs:regs+n], t.Size)
			regs += n
		case n > 2 && proc.CopiedArgs && regs < len(proc.Args): // a pointer to a copy
			out[i].Pieces = inMemory(debuginfo.Op{Code: debuginfo.OpReg, Arg: int64(proc.Args[regs])})
			regs++
		case n > 2 && proc.CopiedArgs:
			out[i].Pieces = inMemory(append(onStack(1, 8), debuginfo.Op{Code: debuginfo.OpDeref, Arg: 8})...)
		default:
			if proc.CopiedArgs {
				regs = len(proc.Args) // no later one is in a register
			}
			out[i].Pieces = inMemory(onStack(int64(n), align(t, 0))...)
		}
	}
	return out
}

func inMemory(ops ...debuginfo.Op) []debuginfo.Piece {
	return []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: ops}}
}

// registers are the pieces of a value of size bytes in whole registers.
func registers(regs []arch.Reg, size int64) []debuginfo.Piece {
	if len(regs) == 1 {
		return []debuginfo.Piece{{Kind: debuginfo.InRegister, Reg: int(regs[0])}}
	}
	var out []debuginfo.Piece
	for i, r := range regs {
		out = append(out, debuginfo.Piece{Kind: debuginfo.InRegister, Reg: int(r), BitSize: min(64, (size-int64(i)*8)*8)})
	}
	return out
}

// returnPlace is where a function's result is when it has returned.
func returnPlace(t *ctype.Type) debuginfo.Location { return returnPlaceOf(host.Processor, t) }

// returnPlaceOf returns where a function's result is. A large struct is in memory whose address x86-64
// returns in rax; on arm64 no register is guaranteed to still have it.
func returnPlaceOf(proc *arch.Processor, t *ctype.Type) debuginfo.Location {
	s := t.Strip()
	switch {
	case !sized(s):
		return debuginfo.Location{Unavailable: "the type of the result is not known"}
	case s.Kind == ctype.Float || s.Kind == ctype.Complex:
		return debuginfo.Location{Unavailable: "floating point is not returned in a register that is recorded"}
	case s.Size == 0:
		return debuginfo.Location{Unavailable: "it has no bytes"}
	case returnedInMemory(proc, s):
		if proc.LargeResult == arch.NoReg {
			return debuginfo.Location{Unavailable: "it is in memory, and no register has its address after the return"}
		}
		return debuginfo.Location{Pieces: inMemory(debuginfo.Op{Code: debuginfo.OpReg, Arg: int64(proc.LargeResult)})}
	}
	return debuginfo.Location{Pieces: registers(proc.Results[:(s.Size+7)/8], s.Size)}
}

// returnedInMemory reports whether the caller provides the memory of a result.
func returnedInMemory(proc *arch.Processor, t *ctype.Type) bool {
	return t.Size > 16 || inMemoryClass(proc, t)
}

// sized reports whether a value of the type has a known size.
func sized(t *ctype.Type) bool {
	switch t.Kind {
	case ctype.Invalid, ctype.Void, ctype.Func:
		return false
	}
	return !t.Incomplete
}

// inMemoryClass reports whether a struct of at most 16 bytes has members that
// are not aligned, which puts it into memory on x86-64.
func inMemoryClass(proc *arch.Processor, t *ctype.Type) bool {
	return !proc.CopiedArgs && unaligned(t, 0, 0)
}

func unaligned(t *ctype.Type, at int64, depth int) bool {
	t = t.Strip()
	switch {
	case depth > 32:
		return false
	case t.Kind == ctype.Array:
		return t.Count > 0 && unaligned(t.Elem, at, depth+1)
	case t.Kind == ctype.Struct || t.Kind == ctype.Union:
		for _, f := range t.Fields() {
			if f.BitSize == 0 && unaligned(f.Type, at+f.BitOffset/8, depth+1) {
				return true
			}
		}
		return false
	}
	return t.Size > 1 && at%min(t.Size, 16) != 0
}

// align is a type's natural alignment in bytes.
func align(t *ctype.Type, depth int) int64 {
	t = t.Strip()
	switch {
	case depth > 32:
		return 1
	case t.Kind == ctype.Array:
		return align(t.Elem, depth+1)
	case t.Kind == ctype.Struct || t.Kind == ctype.Union:
		most := int64(1)
		for _, f := range t.Fields() {
			most = max(most, align(f.Type, depth+1))
		}
		return most
	}
	return max(1, min(t.Size, 16))
}

// What a BPF trampoline can do (btf_distill_func_proto and
// arch_prepare_bpf_trampoline in the kernel's sources).
const (
	maxWords      = 12 // MAX_BPF_FUNC_ARGS
	maxStructSize = 16
)

// contextPlaces says where parameters are in the words of a context.
func contextPlaces(params []Param) []debuginfo.Location {
	out := make([]debuginfo.Location, len(params))
	word := int64(0)
	for i, p := range params {
		if word >= 0 && !sized(p.Type.Strip()) {
			word = -1
		}
		if word < 0 {
			out[i].Unavailable = "BTF does not have its type, so its place is unknown"
			continue
		}
		out[i] = inContext(word)
		word += words(p.Type)
	}
	return out
}

func inContext(word int64) debuginfo.Location {
	return debuginfo.Location{Pieces: []debuginfo.Piece{{Kind: debuginfo.InContext, Ctx: word * 8}}}
}

// trampolined returns why the kernel's BPF trampolines (fentry, fexit) cannot handle a function, "" if they
// can.
func trampolined(f *Func) string {
	n := int64(0)
	for _, p := range f.Params {
		switch s := p.Type.Strip(); {
		case !sized(s):
			return fmt.Sprintf("the type of parameter %s is not known", p.Name)
		case s.Size > maxStructSize:
			return fmt.Sprintf("parameter %s has %d bytes, more than %d", p.Name, s.Size, maxStructSize)
		}
		n += words(p.Type)
	}
	switch r := f.Result.Strip(); {
	case n > maxWords:
		return fmt.Sprintf("its parameters take %d words, more than %d", n, maxWords)
	case f.Type.Variadic:
		return "it takes a variable number of arguments"
	case r.Kind != ctype.Void && (!sized(r) || r.Size > 8 || r.IsAggregate()):
		return "it returns a struct"
	}
	return ""
}

// argsType is a struct of parameters as a BPF program finds them in its context:
// each begins at a new word.
func argsType(params []Param) *ctype.Type {
	t := &ctype.Type{Kind: ctype.Struct}
	var fields []ctype.Field
	for _, p := range params {
		fields = append(fields, ctype.Field{Name: p.Name, Type: p.Type, BitOffset: t.Size * 8})
		t.Size += words(p.Type) * 8
	}
	t.SetFields(fields)
	return t
}

// words is how many words of a context a value takes.
func words(t *ctype.Type) int64 { return max(1, (t.Size+7)/8) }

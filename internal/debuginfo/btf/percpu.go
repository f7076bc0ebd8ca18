package btf

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
)

// perCPUVariable finds a per-CPU variable. Its location is the address to which
// an element of the kernel's __per_cpu_offset is to be added.
func (k *Kernel) perCPUVariable(u *unit, name string) *debuginfo.Variable {
	x, err := u.open()
	if err != nil {
		return nil
	}
	v, offset, ok := x.PerCPU(name)
	if !ok {
		return nil
	}
	out := &debuginfo.Variable{Name: name, Type: k.typeOf(v.Ref()), Kind: debuginfo.PerCPU}
	start, ok := k.perCPUStart(u, x)
	if !ok {
		out.Loc.Unavailable = "the start of per-CPU variables is unknown: /proc/kallsyms has none of their addresses " +
			"(the kernel needs CONFIG_KALLSYMS_ALL, and root must read it)"
		return out
	}
	out.Loc.Pieces = []debuginfo.Piece{{Kind: debuginfo.InMemory, Expr: []debuginfo.Op{
		{Code: debuginfo.OpConst, Arg: int64(start + uint64(offset))},
	}}}
	return out
}

// perCPUStart returns the address of offset 0 of a BTF's per-CPU section. The kernel's section begins at 0
// before Linux 6.15, and at an ordinary address since. A module's section has no symbol, so its address is
// computed from its variables.
func (k *Kernel) perCPUStart(u *unit, x *raw.BTF) (uint64, bool) {
	t := k.symbols()
	if t == nil {
		return 0, false
	}
	if u.name == "" {
		if a, ok := t.Addr("__per_cpu_start"); ok {
			return a, true
		}
	}
	// Two variables must agree, because static ones may share their names with
	// symbols elsewhere; one is enough where there is no second.
	votes := map[uint64]int{}
	seen := 0
	for name, offset := range x.PerCPUs() {
		for _, s := range t.Lookup(name) {
			if s.Module != u.name || s.IsText() {
				continue
			}
			seen++
			start := s.Addr - uint64(offset)
			if votes[start]++; votes[start] == 2 {
				return start, true
			}
		}
	}
	for start := range votes {
		return start, seen == 1
	}
	return 0, false
}

// untyped says how to use what the kernel has a symbol but no variable of; "" when
// it has no symbol either.
func (k *Kernel) untyped(name string) string {
	t := k.symbols()
	if t == nil {
		return ""
	}
	list := t.Lookup(name)
	for _, s := range list {
		if !s.IsText() {
			return fmt.Sprintf("the kernel has such a symbol, but its type is unknown; write *(TYPE*)kaddr(%q)", name)
		}
	}
	if len(list) > 0 {
		return fmt.Sprintf("it is a function of the kernel: kaddr(%q) is its address", name)
	}
	return ""
}

package usdt

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// Symbols looks up symbols used in operands. *elf.File implements it, and so does dwarf.Module, which also has
// the symbols of the separate debug file.
type Symbols interface {
	Lookup(name string) []elf.Symbol
	// TLS is the thread-local segment's size and alignment.
	TLS() (t elf.TLS, ok bool)
}

// placer converts operands to locations.
type placer struct {
	pc   uint64
	syms Symbols
	exec bool // the module is the executable: its TLS block is next to the thread pointer
	// among chooses between several symbols of one name, which the notes do not distinguish.
	among func(name string, of []elf.Symbol) (elf.Symbol, bool)
}

func ops(list ...debuginfo.Op) []debuginfo.Op { return list }

func konst(v int64) debuginfo.Op  { return debuginfo.Op{Code: debuginfo.OpConst, Arg: v} }
func addrOp(v int64) debuginfo.Op { return debuginfo.Op{Code: debuginfo.OpAddr, Arg: v} }

func plus(list []debuginfo.Op, n int64) []debuginfo.Op {
	if n == 0 {
		return list
	}
	return append(list, debuginfo.Op{Code: debuginfo.OpAddConst, Arg: n})
}

// location returns the location of an argument's value.
func (p *placer) location(a *Arg) debuginfo.Location {
	piece, err := p.piece(a)
	if err != nil {
		return debuginfo.Location{Unavailable: err.Error()}
	}
	return debuginfo.Location{Pieces: []debuginfo.Piece{piece}}
}

func (p *placer) piece(a *Arg) (debuginfo.Piece, error) {
	if a.Err != nil {
		return debuginfo.Piece{}, a.Err
	}
	switch a.op.kind {
	case opReg:
		return p.register(a), nil
	case opImm:
		n := a.op.disp
		if n.sym == "" {
			return debuginfo.Piece{Kind: debuginfo.IsValue, Expr: ops(konst(n.val))}, nil
		}
		at, err := p.symbol(n)
		return debuginfo.Piece{Kind: debuginfo.IsValue, Expr: at}, err
	}
	if a.op.disp.rel == "gotpcrel" {
		// A slot of the global offset table holds the symbol's address.
		if a.op.base.num != regIP || a.op.disp.val != 0 {
			return debuginfo.Piece{}, fmt.Errorf("its operand %q is not supported: an offset from a slot of the global offset table", a.Text)
		}
		at, err := p.symbol(number{sym: a.op.disp.sym})
		return debuginfo.Piece{Kind: debuginfo.IsValue, Expr: at}, err
	}
	at, err := p.address(&a.op)
	return debuginfo.Piece{Kind: debuginfo.InMemory, Expr: at}, err
}

// register uses the size before the "@". The register's name may be a shorter or longer alias (<sys/sdt.h>,
// note on GDB PR24541).
func (p *placer) register(a *Arg) debuginfo.Piece {
	r := a.op.reg
	switch {
	case r.num == regIP:
		return debuginfo.Piece{Kind: debuginfo.IsValue, Expr: ops(addrOp(int64(p.pc)))}
	case r.high && a.Size == 1:
		return debuginfo.Piece{Kind: debuginfo.InRegister, Reg: r.num, BitOffset: 8, BitSize: 8}
	case r.high:
		conv := int64(1)
		if a.Signed {
			conv = -1
		}
		return debuginfo.Piece{Kind: debuginfo.IsValue, Expr: ops(
			debuginfo.Op{Code: debuginfo.OpReg, Arg: int64(r.num)}, konst(8),
			debuginfo.Op{Code: debuginfo.OpShr}, debuginfo.Op{Code: debuginfo.OpConvert, Arg: conv},
		)}
	}
	return debuginfo.Piece{Kind: debuginfo.InRegister, Reg: r.num}
}

// address computes the address of a memory operand.
func (p *placer) address(o *operand) ([]debuginfo.Op, error) {
	if o.seg != "" {
		return p.threadLocal(o)
	}
	var list []debuginfo.Op
	disp := o.disp.val
	switch {
	case o.disp.sym != "":
		at, err := p.symbol(o.disp)
		if err != nil {
			return nil, err
		}
		list, disp = at, 0
	case o.base.num == regIP:
		// Relative to the probe itself, as the assembler's ".".
		return ops(addrOp(int64(p.pc) + disp)), nil
	}
	if o.base.num >= 0 {
		list = join(list, o.base.push())
	}
	if o.index.num >= 0 {
		idx := o.index.push()
		if o.signed {
			idx[len(idx)-1].Arg *= -1 // of the conversion
		}
		if o.scale > 1 {
			idx = append(idx, konst(o.scale), debuginfo.Op{Code: debuginfo.OpMul})
		}
		list = join(list, idx)
	}
	if list == nil {
		return ops(konst(disp)), nil
	}
	return plus(list, disp), nil
}

// join adds b to the sum on the stack, if there is one.
func join(a, b []debuginfo.Op) []debuginfo.Op {
	if a == nil {
		return b
	}
	return append(slices.Clone(a), append(b, debuginfo.Op{Code: debuginfo.OpAdd})...)
}

// symbol returns the address of symbol+n, or the value of its relocation operator.
func (p *placer) symbol(n number) ([]debuginfo.Op, error) {
	s, err := p.find(n.sym)
	if err != nil {
		return nil, err
	}
	switch {
	case n.rel == "dtpoff" && s.TLS: // from the start of the module's block, whose address is in the base register
		return ops(konst(int64(s.Value) + n.val)), nil
	case n.rel != "" || s.TLS:
		return nil, fmt.Errorf("its place %s@%s is known only to the linker", n.sym, n.rel)
	}
	return ops(addrOp(int64(s.Value) + n.val)), nil
}

func (p *placer) find(name string) (elf.Symbol, error) {
	if p.syms == nil {
		return elf.Symbol{}, fmt.Errorf("the address of %s is not known without a symbol table", name)
	}
	list := p.syms.Lookup(name)
	switch {
	case len(list) == 0:
		return elf.Symbol{}, fmt.Errorf("the address of %s is not known: the file has no such symbol (is it stripped?)", name)
	case len(list) == 1:
		return list[0], nil
	}
	if p.among != nil {
		if s, ok := p.among(name, list); ok {
			return s, nil
		}
	}
	// Prefer the global symbol: other files refer to it.
	var global []elf.Symbol
	for _, s := range list {
		if !s.Local {
			global = append(global, s)
		}
	}
	if len(global) == 1 {
		return global[0], nil
	}
	return elf.Symbol{}, fmt.Errorf("ambiguous: there are %d symbols %s", len(list), name)
}

// threadLocal handles %fs:symbol@tpoff and %fs:number, which are relative to the thread pointer (System V TLS
// variant II: the executable's block ends there).
func (p *placer) threadLocal(o *operand) ([]debuginfo.Op, error) {
	if o.seg != "fs" || o.base.num != regNone || o.index.num != regNone {
		return nil, fmt.Errorf("its place is relative to segment %%%s and registers", o.seg)
	}
	tls := debuginfo.Op{Code: debuginfo.OpTLS}
	if o.disp.sym != "" {
		s, err := p.find(o.disp.sym)
		if err != nil {
			return nil, err
		}
		if !s.TLS || o.disp.rel != "tpoff" && o.disp.rel != "ntpoff" {
			return nil, fmt.Errorf("its place %%fs:%s is not thread-local", o.disp.sym)
		}
		return ops(konst(int64(s.Value)+o.disp.val), tls), nil
	}
	if p.syms == nil || !p.exec {
		return nil, fmt.Errorf("its place is relative to the thread pointer, not to this module")
	}
	segment, ok := p.syms.TLS()
	if off := o.disp.val + int64(segment.Below()); ok && o.disp.val < 0 && off >= 0 {
		return ops(konst(off), tls), nil
	}
	return nil, fmt.Errorf("its place at %%fs:%d is not in this module's thread-local data", o.disp.val)
}

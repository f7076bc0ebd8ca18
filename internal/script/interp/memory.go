package interp

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// Kernel is the running kernel, for probes that run in jalon itself: they read it while they run.
type Kernel interface {
	// Task is the address of the task of this thread.
	Task() (uint64, error)
	Jiffies() (uint64, error)
	// Read reads memory of the kernel. readable is false if there is none at all of the addresses.
	Read(addr uint64, n int) (data []byte, readable bool, err error)
	Symbol(name string) (uint64, error)
	// PerCPU is the address of a variable of a CPU; 0 if there is no such CPU.
	PerCPU(name string, cpu uint64) (uint64, error)
	// Offset is that of a member in a struct, in bytes.
	Offset(tag, member string) (int64, error)
	// Print writes to the kernel's trace_pipe.
	Print(text string) error
}

// Addresses of variables of the script. No memory has such addresses: they are not canonical. Each variable that has
// one keeps it for as long as the script runs, and no other gets it, so an address that outlives its variable reads
// nothing.
const (
	firstLocal = 1 << 56
	lastLocal  = 1 << 57
	localRoom  = 1 << 24 // addresses of each
	mostRead   = 1 << 20 // bytes of an object
)

// local is a variable or map whose address was taken.
type local struct {
	value func() (val, *types.Type)
	slot  *slot // of a variable
	name  string
}

// address is &x.
func (m *evaluator) address(x *script.Addr) val {
	l := local{}
	switch y := x.X.(type) {
	case *script.Var:
		s := m.lookup(y.Name)
		if s == nil {
			s = &slot{v: blank(m.typeOf(y)), t: m.typeOf(y)}
			m.vars[len(m.vars)-1][y.Name] = s
		}
		l.slot, l.value = s, func() (val, *types.Type) { return s.v, s.t }
	case *script.Map:
		t := m.maps[y.Name]
		l.name = y.Name
		l.value = func() (val, *types.Type) {
			if c := t.get(val{}); c != nil {
				return c.value(t.Value), t.Value
			}
			return blank(t.Value), t.Value
		}
	}
	for addr, old := range m.locals {
		if old.slot == l.slot && old.name == l.name {
			return num(addr)
		}
	}
	if m.locals == nil {
		m.locals = map[uint64]local{}
	}
	m.lastLocal += localRoom
	addr := uint64(firstLocal) + m.lastLocal
	if addr >= lastLocal {
		abandon(x.File().At(x.Span(), "the script takes too many addresses", ""))
	}
	m.locals[addr] = l
	return num(addr)
}

// bytesAt reads memory. A read that fails is reported, and is nil.
func (m *evaluator) bytesAt(at script.Node, addr uint64, n int64) []byte {
	switch {
	case m.hit != nil: // what is there now is not what was there at the hit
		abandon(at.File().At(at.Span(), "memory cannot be read after the hit", ""))
	case n < 0 || n > mostRead:
		m.warn(at, unread, fmt.Sprintf("%d bytes are too many", n))
		return nil
	case n == 0:
		return []byte{}
	case addr >= firstLocal && addr < lastLocal:
		return m.localBytes(at, addr, n)
	case int64(addr) >= 0 || m.opts.Kernel == nil:
		m.warn(at, unread, fmt.Sprintf("unreadable address %#x", addr))
		return nil
	}
	b, readable, err := m.opts.Kernel.Read(addr, int(n))
	if err != nil {
		abandon(at.File().At(at.Span(), err.Error(), ""))
	}
	if !readable {
		m.warn(at, unread, fmt.Sprintf("unreadable address %#x", addr))
		return nil
	}
	return b
}

func (m *evaluator) localBytes(at script.Node, addr uint64, n int64) []byte {
	off := int64(addr % localRoom)
	if l, ok := m.locals[addr-uint64(off)]; ok {
		if b := bytesOf(l.value()); off+n <= int64(len(b)) {
			return b[off : off+n]
		}
	}
	m.warn(at, unread, "it is not in a variable")
	return nil
}

// load reads an object.
func (m *evaluator) load(at script.Node, addr uint64, t *types.Type) val {
	b := m.bytesAt(at, addr, t.Size)
	if b == nil {
		return blank(t)
	}
	return decode(b, t)
}

// located is the address of an object in memory; ok is false if the expression is a value.
func (m *evaluator) located(x script.Expr) (addr uint64, ok bool) {
	switch x := x.(type) {
	case *script.Unary:
		if x.Op == "*" && m.typeOf(x.X).Is(types.Int, types.Pointer) {
			return m.expr(x.X).n, true
		}
	case *script.Field:
		base, t, ok := m.structAt(x)
		if !ok {
			return 0, false
		}
		f, off, found := t.C.CMember(x.Name)
		return base + uint64(off/8), found && f.BitSize == 0
	case *script.Index:
		t := m.typeOf(x.X)
		if t.Kind == types.Pointer {
			return m.expr(x.X).n + m.expr(x.I).n*uint64(max(t.Pointee().Size, 1)), true
		}
		base, ok := m.located(x.X)
		if !ok || !t.Is(types.Array, types.String) {
			return 0, false
		}
		i, size := m.expr(x.I).n, int64(1)
		if t.Kind == types.Array {
			size = t.Elem.Size
		}
		if t.Size > 0 && i >= uint64(t.Size/max(size, 1)) {
			return 0, false
		}
		return base + i*uint64(size), true
	case *script.Cast:
		if types.Same(m.typeOf(x), m.typeOf(x.X)) {
			return m.located(x.X)
		}
	}
	return 0, false
}

// structAt is the struct of which a field is a member, in memory.
func (m *evaluator) structAt(x *script.Field) (addr uint64, t *types.Type, ok bool) {
	if t = m.typeOf(x.X); t.Kind == types.Pointer {
		addr, ok = m.expr(x.X).n, true
		for t = t.Pointee(); t.Kind == types.Pointer; t = t.Pointee() {
			addr = m.load(x, addr, types.Uint64).n
		}
	} else if t.Kind == types.Struct {
		addr, ok = m.located(x.X)
	}
	if !ok || t.Kind != types.Struct {
		return 0, nil, false
	}
	if t.C.Incomplete && m.p.Complete != nil {
		if def := m.p.Complete(t); def != nil {
			t = def
		}
	}
	return addr, t, true
}

// memberAt reads a member of a struct in memory; ok is false if the struct is a value.
func (m *evaluator) memberAt(x *script.Field) (v val, ok bool) {
	if m.hit != nil {
		return val{}, false
	}
	base, t, ok := m.structAt(x)
	if !ok {
		return val{}, false
	}
	f, off, found := t.C.CMember(x.Name)
	if !found {
		return val{}, false
	}
	if f.BitSize == 0 {
		return m.load(x, base+uint64(off/8), m.typeOf(x)), true
	}
	b := m.bytesAt(x, base+uint64(off/8), (off%8+f.BitSize+7)/8)
	v, _ = memberOf(string(b), f, off%8)
	return v, true
}

// textAt is the string at an address, at most size bytes of it.
func (m *evaluator) textAt(at script.Node, addr uint64, size int64) string {
	var out []byte
	for int64(len(out)) < size { // a page may be readable and the next not
		next := addr + uint64(len(out))
		n := min(size-int64(len(out)), int64(pageSize-next%pageSize), 256)
		if next >= firstLocal && next < lastLocal {
			n = 1
		}
		b := m.bytesAt(at, next, n)
		if b == nil {
			return string(out)
		}
		s := cstr(string(b))
		out = append(out, s...)
		if len(s) < len(b) {
			break
		}
	}
	return string(out)
}

const pageSize = 4096

package event

// KernelSymbol is the function or object of the kernel that an address is in.
type KernelSymbol struct {
	Name   string
	Offset uint64 // of the address in it
	Size   uint64
	Module string // "" for the kernel itself
}

// KernelNames knows addresses of the kernel that records of static tracepoints hold.
type KernelNames interface {
	// KernelSymbol finds what contains an address.
	KernelSymbol(addr uint64) (KernelSymbol, bool)
	// KernelString finds the string at an address that print formats may point to.
	KernelString(addr uint64) (string, bool)
}

// Names is what addresses in records are called, as data: a recording keeps those of
// its records. It is a KernelNames.
type Names struct {
	Symbols map[uint64]string // addresses of pointers: "handler+8"
	Kernel  map[uint64]KernelSymbol
	Strings map[uint64]string
}

// Symbol names an address, "" when it has no name.
func (n *Names) Symbol(addr uint64) string { return n.Symbols[addr] }

// KernelSymbol implements KernelNames.
func (n *Names) KernelSymbol(addr uint64) (KernelSymbol, bool) {
	s, ok := n.Kernel[addr]
	return s, ok
}

// KernelString implements KernelNames.
func (n *Names) KernelString(addr uint64) (string, bool) {
	s, ok := n.Strings[addr]
	return s, ok
}

// maxNames bounds each table of Names.
const maxNames = 1 << 20

// Remember passes questions on and keeps the answers in Names: what is printed once
// with it can be printed again from data alone.
type Remember struct {
	Names
	From   func(addr uint64) string // may be nil
	Kernel KernelNames              // may be nil
}

// Symbol calls From.
func (r *Remember) Symbol(addr uint64) string {
	if r.From == nil {
		return ""
	}
	s := r.From(addr)
	if s != "" {
		keep(&r.Symbols, addr, s)
	}
	return s
}

// KernelSymbol calls Kernel.
func (r *Remember) KernelSymbol(addr uint64) (s KernelSymbol, ok bool) {
	if r.Kernel == nil {
		return s, false
	}
	if s, ok = r.Kernel.KernelSymbol(addr); ok {
		keep(&r.Names.Kernel, addr, s)
	}
	return s, ok
}

// KernelString calls Kernel.
func (r *Remember) KernelString(addr uint64) (s string, ok bool) {
	if r.Kernel == nil {
		return "", false
	}
	if s, ok = r.Kernel.KernelString(addr); ok {
		keep(&r.Strings, addr, s)
	}
	return s, ok
}

func keep[T any](m *map[uint64]T, addr uint64, v T) {
	if *m == nil {
		*m = map[uint64]T{}
	}
	if len(*m) < maxNames {
		(*m)[addr] = v
	}
}

package event

// KernelSymbol is the function or object of the kernel that an address is in.
type KernelSymbol struct {
	Name   string
	Offset uint64 // of the address from its start
	Size   uint64
	Module string // "" for the kernel itself
}

// KernelNames resolves addresses of the kernel in records of static tracepoints.
type KernelNames interface {
	// KernelSymbol returns the function or object that contains an address.
	KernelSymbol(addr uint64) (KernelSymbol, bool)
	// KernelString returns the string at an address that print formats may point to.
	KernelString(addr uint64) (string, bool)
}

// Names has the names of addresses in records, as data: a recording keeps those of its records. It
// implements KernelNames.
type Names struct {
	Symbols map[uint64]string // addresses of pointers: "handler+8"
	Kernel  map[uint64]KernelSymbol
	Strings map[uint64]string
}

// Symbol returns the name of an address, or "".
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

// Remember forwards look-ups and stores the results in Names, so that everything printed once with it can
// be printed again from the data.
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

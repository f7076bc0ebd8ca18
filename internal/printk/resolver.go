package printk

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// Resolver supplies information that is not in a record. The Resolver and each of its functions may be nil. The
// functions must always return the same results, because formats cache them; they may be called from several
// goroutines.
type Resolver struct {
	// Enumerator finds an enumeration constant's value.
	Enumerator func(name string) (int64, bool)
	// Type finds a type by its C name ("struct page", "gfp_t"), or returns nil.
	Type func(name string) *ctype.Type
	// Symbol finds the symbol that contains a kernel address.
	Symbol func(addr uint64) (Symbol, bool)
	// String finds the string at a kernel address.
	String func(addr uint64) (string, bool)
	// Variable finds the value of one of the kernel's variables ("vmemmap_base").
	Variable func(name string) (uint64, bool)
	// Jiffies finds the kernel's tick count at the time of a record.
	Jiffies func(record []byte) (uint64, bool)
	// HZ is the kernel's number of jiffies per second, 0 if unknown.
	HZ uint64
}

// Symbol is the function or object that contains an address.
type Symbol = event.KernelSymbol

func (r *Resolver) enumerator(name string) (int64, bool) {
	if r == nil || r.Enumerator == nil {
		return 0, false
	}
	return r.Enumerator(name)
}

func (r *Resolver) typ(name string) *ctype.Type {
	if r == nil || r.Type == nil {
		return nil
	}
	return r.Type(name)
}

func (r *Resolver) symbol(addr uint64) (Symbol, bool) {
	if r == nil || r.Symbol == nil {
		return Symbol{}, false
	}
	return r.Symbol(addr)
}

func (r *Resolver) text(addr uint64) (string, bool) {
	if r == nil || r.String == nil {
		return "", false
	}
	return r.String(addr)
}

func (r *Resolver) jiffies(record []byte) (uint64, bool) {
	if r == nil || r.Jiffies == nil {
		return 0, false
	}
	return r.Jiffies(record)
}

func (r *Resolver) variable(name string) (uint64, bool) {
	if r == nil || r.Variable == nil {
		return 0, false
	}
	return r.Variable(name)
}

package printk

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// Resolver says what a record does not. Any of the functions may be nil, and so
// may the Resolver. They must give the same answers for as long as it is in
// use, because formats keep what they were told of names; they may be called
// from several goroutines.
type Resolver struct {
	// Enumerator finds an enumeration constant's value.
	Enumerator func(name string) (int64, bool)
	// Type finds a type by the name that C writes for it ("struct page",
	// "gfp_t"); nil when there is none.
	Type func(name string) *ctype.Type
	// Symbol finds what contains a kernel address.
	Symbol func(addr uint64) (Symbol, bool)
	// String finds the string at a kernel address.
	String func(addr uint64) (string, bool)
	// Variable finds the value of one of the kernel's variables ("vmemmap_base").
	Variable func(name string) (uint64, bool)
	// Jiffies finds the kernel's tick count at the time of a record.
	Jiffies func(record []byte) (uint64, bool)
	// HZ is the kernel's jiffies in a second, 0 when unknown.
	HZ uint64
}

// Symbol is the function or object that an address is in.
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

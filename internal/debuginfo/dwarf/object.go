package dwarf

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/ianlancetaylor/demangle"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// object is the module's files as ELF: headers, bytes and symbols.
type object struct {
	*border
	file *elf.File // the module itself: code, call frames
	dbg  *elf.File // separate debug file, nil when there is none
	syms *elf.File // the file whose symbol table is used

	isGoOnce sync.Once
	isGo     bool

	inCodeOnce sync.Once
	inCode     []elf.Symbol // objects in sections with code
}

// Path is the path the module was opened by.
func (ob *object) Path() string { return ob.path }

// Name is the last component of the path.
func (ob *object) Name() string { return filepath.Base(ob.path) }

// BuildID returns the build-id note in hexadecimal, or "".
func (ob *object) BuildID() string { return ob.file.BuildID }

// Type reports whether the module has a load bias.
func (ob *object) Type() ModuleType {
	if ob.file.PIE {
		return Dyn
	}
	return Exec
}

// Machine is always this machine's processor: other files do not open.
func (ob *object) Machine() string { return host.Processor.Title }

// Interp is the program interpreter, "" for static programs and libraries.
func (ob *object) Interp() string { return ob.file.Interp() }

// Segments are the loadable segments by ascending vaddr; with /proc/PID/maps
// they give the load bias.
func (ob *object) Segments() []elf.Segment { return ob.file.Segments() }

// Sections are the section headers.
func (ob *object) Sections() []elf.Section { return ob.file.Sections() }

// SectionAt names the section in memory that holds vaddr, "" for none.
func (ob *object) SectionAt(vaddr uint64) string { return ob.file.SectionAt(vaddr) }

// IsCode reports whether vaddr lies in executable content.
func (ob *object) IsCode(vaddr uint64) bool { return ob.file.IsCode(vaddr) }

// TLS describes the module's thread-local segment.
func (ob *object) TLS() (t elf.TLS, ok bool) { return ob.file.TLS() }

// Text returns n bytes of the file at vaddr, relocations unapplied; fewer at the
// end of a segment. The slice is a copy.
func (ob *object) Text(vaddr uint64, n int) (b []byte, err error) {
	defer ob.guard(&err)()
	got := ob.file.ReadVaddr(vaddr, n)
	if len(got) == 0 {
		return nil, fmt.Errorf("%s has no bytes at address %#x", ob.path, vaddr)
	}
	return append([]byte(nil), got...), nil
}

// Relocated reports whether the dynamic linker changes the byte at vaddr: in text only
// where it was linked with relocations there (-z notext).
func (ob *object) Relocated(vaddr uint64) bool {
	list, err := ob.file.Relocated(vaddr, vaddr+1)
	return err == nil && len(list) > 0
}

// symbolAt finds the code symbol at pc.
func (ob *object) symbolAt(pc uint64) (elf.Symbol, uint64, bool) {
	if s, end, ok := ob.syms.FuncAt(pc); ok {
		return s, end, true
	}
	if ob.syms != ob.file {
		return ob.file.FuncAt(pc)
	}
	return elf.Symbol{}, 0, false
}

// lookupSymbols finds symbols by raw name in the module and its debug file.
func (ob *object) lookupSymbols(name string) []elf.Symbol {
	out := ob.syms.Lookup(name)
	if len(out) == 0 && ob.syms != ob.file {
		out = ob.file.Lookup(name)
	}
	return out
}

// CodePointers lists the addresses of code that relocations put into data, sorted.
func (ob *object) CodePointers() (out []uint64, err error) {
	defer ob.guard(&err)()
	return ob.file.CodePointers()
}

// Loaded is Text with the relocations applied that depend only on the file.
func (ob *object) Loaded(vaddr uint64, n int, bias uint64) (b []byte, err error) {
	defer ob.guard(&err)()
	b, err = ob.file.ReadLoaded(vaddr, n, bias)
	if err == nil && len(b) == 0 {
		err = fmt.Errorf("%s has no bytes at address %#x", ob.path, vaddr)
	}
	return b, err
}

// DataInCode returns the symbol and start of an object in a section with code that contains vaddr; "" if
// there is none.
func (ob *object) DataInCode(vaddr uint64) (name string, at uint64) {
	defer ob.guard(nil)()
	ob.inCodeOnce.Do(func() {
		take := func(s elf.Symbol) {
			if ob.file.IsCode(s.Value) {
				ob.inCode = append(ob.inCode, s)
			}
		}
		ob.syms.Objects(take)
		if ob.syms != ob.file {
			ob.file.Objects(take)
		}
	})
	for i := range ob.inCode {
		if s := &ob.inCode[i]; vaddr >= s.Value && vaddr-s.Value < s.Size {
			return demangled(s.Name), s.Value
		}
	}
	return "", 0
}

// ImportedAs are the symbols by which the module takes a function from others: its name,
// or in C++ and Rust those of the functions that have it.
func (ob *object) ImportedAs(name string) (symbols []elf.Import) {
	all, err := ob.file.Imports()
	if err != nil {
		return nil
	}
	for _, im := range all {
		mangled := strings.HasPrefix(im.Name, "_Z") || strings.HasPrefix(im.Name, "_R")
		if im.Name == name || mangled && demangle.Filter(im.Name, demangle.NoParams) == name {
			symbols = append(symbols, im)
		}
	}
	return symbols
}

// File is the module's ELF file, open until Close.
func (ob *object) File() *elf.File { return ob.file }

// Lookup returns the symbols of that raw name, of the module or, when it is
// stripped, of its separate debug file.
func (ob *object) Lookup(name string) (out []elf.Symbol) {
	defer ob.guard(nil)()
	return ob.lookupSymbols(name)
}

// isIFunc reports whether an indirect function's resolver begins at an address.
func (ob *object) isIFunc(addr uint64) bool {
	s, _, ok := ob.symbolAt(addr)
	return ok && s.Value == addr && s.IFunc
}

// ModuleType distinguishes fixed-address from position-independent modules.
type ModuleType uint8

// The module types.
const (
	Exec ModuleType = iota // fixed addresses: the load bias is 0
	Dyn                    // position-independent executable or shared library
)

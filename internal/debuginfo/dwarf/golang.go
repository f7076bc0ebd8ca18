package dwarf

import (
	"errors"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo/pclntab"
)

// IsGo reports whether the module has code of Go's compiler, whose run-time system moves
// stacks and preempts goroutines at any instruction.
func (ob *object) IsGo() bool {
	defer ob.guard(nil)()
	return ob.ofGo()
}

func (ob *object) ofGo() bool {
	ob.isGoOnce.Do(func() { ob.isGo = ob.looksLikeGo() })
	return ob.isGo
}

func (ob *object) looksLikeGo() bool {
	for _, sec := range ob.Sections() {
		if strings.HasSuffix(sec.Name, ".gopclntab") || sec.Name == ".go.buildinfo" {
			return true
		}
	}
	return len(ob.lookupSymbols("runtime.morestack")) > 0
}

// GoCode reports whether the code at vaddr is Go's, as far as is known: without debug information all
// code of a module of Go is taken for it.
func (pr *prologues) GoCode(vaddr uint64) (is bool) {
	defer pr.guard(nil)()
	if u := pr.unitFor(vaddr); u != nil {
		return u.isGo()
	}
	return pr.ofGo()
}

// GoTable returns the table of functions that Go's run-time system has, and the address that the functions' offsets in it are
// counted from.
func (ob *object) GoTable() (table *pclntab.Table, start uint64, err error) {
	defer ob.guard(&err)()
	table, start, ok := ob.file.GoTable()
	if !ok {
		return nil, 0, errors.New("Go's table of functions was not found: it has no section, no symbols, and no known version")
	}
	return table.Clone(), start, nil
}

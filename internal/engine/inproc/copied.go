package inproc

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
)

// Some run-time systems copy machine code of theirs from the file to another address, or
// write another function's code over it, and run it there. A jump of ours in the copy
// leads to a wrong address, and an int3 in it is in no table. Nothing in the code shows
// that it is copied: these are the ones that are known.
var copiedCode = []struct {
	mark  string   // a symbol that only modules with such code have
	names []string // what names of the functions begin with
	what  string
}{
	// CodeRange::RemapEmbeddedBuiltins maps the file's pages again, near compiled code;
	// where they are not one mapping (as when some are guarded), it copies their bytes.
	{"v8_Default_embedded_blob_code_", []string{"Builtins_", "v8_Default_embedded_blob_code_"}, "V8 runs a copy of its builtins, which it makes from memory; --engine=kernel sees the copies"},
	// The code between PatchedCodeStart and PatchedCodeLast is copied to memory that may
	// be written, and the write barriers over each other.
	{"JIT_PatchedCodeStart", []string{"JIT_PatchedCode", "JIT_WriteBarrier", "JIT_CheckedWriteBarrier", "JIT_ByRefWriteBarrier"}, "the run-time system of .NET copies its write barriers"},
}

// copied refuses functions whose code the program copies.
func (m *module) copied(fn *dwarf.Function) error {
	for i := range copiedCode {
		c := &copiedCode[i]
		for _, name := range c.names {
			if strings.HasPrefix(fn.Name, name) && len(m.dw.Lookup(c.mark)) > 0 {
				return fmt.Errorf("the program copies this function: %s", c.what)
			}
		}
	}
	return nil
}

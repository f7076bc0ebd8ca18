package inproc

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
)

// Some run-time systems copy machine code of theirs from the file to another address, or
// write another function's code over it, and run it there. A jump of ours in the copy
// leads to a wrong address, and an int3 in it is in no table. Nothing in the code shows
// that it is copied: these are the ones that are known.
var copiedCode = []struct {
	from  string   // the symbol at which such code begins: only modules with it are meant
	size  string   // of the variable that has its size as 32 bits
	last  string   // or of the symbol behind it
	names []string // what names of other functions that are copied begin with
	why   string
}{
	{
		// CodeRange::RemapEmbeddedBuiltins maps the file's pages again, near compiled code;
		// where they are not one mapping (as when some are guarded), it copies their bytes.
		from: "v8_Default_embedded_blob_code_", size: "v8_Default_embedded_blob_code_size_", names: []string{"Builtins_"},
		why: "V8 runs a copy of its builtins, which it makes from memory; --engine=kernel sees the copies",
	},
	{
		// What lies between is copied to memory that may be written, and the write
		// barriers over each other.
		from: "JIT_PatchedCodeStart", last: "JIT_PatchedCodeLast", names: []string{"JIT_WriteBarrier", "JIT_CheckedWriteBarrier", "JIT_ByRefWriteBarrier"},
		why: "the run-time system of .NET copies its write barriers",
	},
}

// copies is what of a module is copied.
type copies struct {
	code  debuginfo.Range
	names []string
	why   string
}

// copied refuses functions whose code the program copies.
func (m *module) copied(fn *dwarf.Function, vaddr uint64) error {
	if !m.copiesKnown {
		m.copies, m.copiesKnown = copiesOf(m.dw), true
	}
	for _, c := range m.copies {
		in := vaddr >= c.code.Lo && vaddr < c.code.Hi
		for _, name := range c.names {
			in = in || strings.HasPrefix(fn.Name, name)
		}
		if in {
			return fmt.Errorf("the program copies this function: %s", c.why)
		}
	}
	return nil
}

func copiesOf(dw *dwarf.Module) (out []copies) {
	for i := range copiedCode {
		c := &copiedCode[i]
		for _, s := range dw.Lookup(c.from) {
			end := s.Value
			if at := dw.Lookup(c.size); c.size != "" && len(at) > 0 {
				if b, err := dw.Text(at[0].Value, 4); err == nil && len(b) == 4 {
					end += uint64(binary.LittleEndian.Uint32(b))
				}
			}
			if at := dw.Lookup(c.last); c.last != "" && len(at) > 0 {
				end = at[0].Value
			}
			out = append(out, copies{debuginfo.Range{Lo: s.Value, Hi: end}, c.names, c.why})
		}
	}
	return out
}

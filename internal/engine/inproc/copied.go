package inproc

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
)

// Some run-time systems copy their machine code from the file to another address, or overwrite it with
// another function's code, and run it there. In such a copy, a jump of jalon leads to a wrong address, and
// an int3 is in no table. Nothing in the code marks it as copied, so this table lists the known cases.
var copiedCode = []struct {
	from  string   // the symbol at which such code begins; for modules with this symbol
	size  string   // the variable with its size, 32 bits
	last  string   // or the symbol after it
	names []string // prefixes of the names of other copied functions
	why   string
}{
	{
		// CodeRange::RemapEmbeddedBuiltins maps the file's pages again, near compiled code. If they are not
		// one mapping (for example when some are guarded), it copies their bytes.
		from: "v8_Default_embedded_blob_code_", size: "v8_Default_embedded_blob_code_size_", names: []string{"Builtins_"},
		why: "V8 runs a copy of its builtins, which it makes from memory; the kernel's uprobes see the copies (jalon trace --engine=kernel; jalon run without -p, -c and --)",
	},
	{
		// The code between these symbols is copied to writable memory, and the write barriers are copied
		// over each other.
		from: "JIT_PatchedCodeStart", last: "JIT_PatchedCodeLast", names: []string{"JIT_WriteBarrier", "JIT_CheckedWriteBarrier", "JIT_ByRefWriteBarrier"},
		why: "the run-time system of .NET copies its write barriers",
	},
}

// copies describes the code of a module that is copied.
type copies struct {
	code  debuginfo.Range
	names []string
	why   string
}

// copied refuses a function whose code the program copies.
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

package inproc

import (
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/format"
)

// moduleAt finds the module that an address belongs to and opens it.
func (e *Engine) moduleAt(addr uint64) *module {
	for _, m := range e.mods {
		if m.contains(addr) && e.open(m) == nil {
			return m
		}
		// Zeroed data behind the file's last page is mapped without a name.
		if m.dw != nil && m.readable(addr-m.bias, 1) {
			return m
		}
	}
	return nil
}

// open opens a module the first time. What its debug information is looked for by is
// not made for the others: it asks /proc for the root directory of the process.
func (e *Engine) open(m *module) error {
	if m.tried {
		return m.err
	}
	return m.open(e.dwarfOptions())
}

// Symbol names a run-time address in code or data: "main", "main+4", "" when
// nothing is known.
func (e *Engine) Symbol(addr uint64) string {
	if name, ok := e.names[addr]; ok {
		return name
	}
	name := ""
	if m := e.moduleAt(addr); m != nil {
		fn, off, _, _, _ := m.dw.Symbolize(addr - m.bias)
		if fn == "" {
			if fn, off = m.dw.DataSymbol(addr - m.bias); off == 0 {
				fn = sourceName(fn)
			}
		}
		if name = fn; name != "" && off != 0 {
			name += "+" + strconv.FormatUint(off, 10)
		}
	}
	if e.names == nil || len(e.names) > maxNames {
		e.names = map[uint64]string{}
	}
	e.names[addr] = name
	return name
}

// sourceName is the name in the source of a function's static variable, as GDB
// shows it for an address where one begins: gcc calls its symbol calls.2, clang
// work.calls or work.calls.2.
func sourceName(symbol string) string {
	if i := strings.LastIndexByte(symbol, '.'); i > 0 && strings.Trim(symbol[i+1:], "0123456789") == "" {
		symbol = symbol[:i]
	}
	if i := strings.LastIndexByte(symbol, '.'); i > 0 && i+1 < len(symbol) {
		symbol = symbol[i+1:]
	}
	return symbol
}

// maxNames bounds the cache of symbol names.
const maxNames = 1 << 16

// Unwind gives the frames of a $bt field.
func (e *Engine) Unwind(v *event.Value) []format.Frame {
	pcs := UnwindPCs(v, e.fileAt)
	var out []format.Frame
	for i, pc := range pcs {
		out = append(out, e.framesAt(pc, i > 0)...)
	}
	return out
}

// fileAt is the debug information of the module at an address, and its bias.
func (e *Engine) fileAt(addr uint64) (*dwarf.Module, uint64) {
	if m := e.moduleAt(addr); m != nil {
		return m.dw, m.bias
	}
	return nil, 0
}

// framesAt names a pc, inlined functions first. The pc of a caller is that after
// its call, which may belong to another line: the call itself is what counts.
func (e *Engine) framesAt(pc uint64, caller bool) []format.Frame {
	at := pc
	if caller {
		at--
	}
	f := format.Frame{PC: pc}
	m := e.moduleAt(at)
	if m == nil {
		return []format.Frame{f}
	}
	f.Module = m.path
	var inlined []string
	f.Function, f.Offset, f.File, f.Line, inlined = m.dw.Symbolize(at - m.bias)
	return format.CodeFrames(f, caller, inlined)
}

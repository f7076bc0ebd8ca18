package image

import (
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// Symbol names an address in code or data: "main", "main+4", "" when nothing is known.
// Addresses of the kernel are named as Kernel.Symbol names them.
func (im *Image) Symbol(addr uint64) string {
	if im.kernel != nil && InKernel(addr) {
		return kernelSymbol(im.kernel, addr)
	}
	if name, ok := im.names[addr]; ok {
		return name
	}
	name := ""
	if m, vaddr := im.Find(addr); m != nil {
		fn, off, _, _, _ := m.info.Symbolize(vaddr)
		if fn == "" {
			if fn, off = m.info.DataSymbol(vaddr); off == 0 {
				fn = sourceName(fn)
			}
		}
		if name = fn; name != "" && off != 0 {
			name += "+" + strconv.FormatUint(off, 10)
		}
	}
	if im.names == nil || len(im.names) > maxNames {
		im.names = map[uint64]string{}
	}
	im.names[addr] = name
	return name
}

// sourceName is the name in the source of a function's static variable, as GDB
// shows it for an address where one begins: gcc calls its symbol calls.2, clang
// work.calls or work.calls.2. What becomes visible to other parts of a program that is
// optimised when it is linked has one more suffix: table.lto_priv.0, table.llvm.1234.
func sourceName(symbol string) string {
	for _, suffix := range []string{".lto_priv", ".llvm."} {
		if i := strings.LastIndex(symbol, suffix); i > 0 {
			symbol = symbol[:i]
		}
	}
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

// Frames names a pc, inlined functions first. The pc of a caller is that after its call,
// which may belong to another line: the call itself is what counts.
func (im *Image) Frames(pc uint64, caller bool) []debuginfo.Frame {
	at := pc
	if caller {
		at--
	}
	if im.kernel != nil && InKernel(at) {
		return kernelFrames(im.kernel, pc, caller)
	}
	f := debuginfo.Frame{PC: pc}
	if m := im.Owner(at); m != nil {
		f.Module = m.Path
	}
	m, vaddr := im.Find(at)
	if m == nil {
		return []debuginfo.Frame{f}
	}
	if part := m.mapping(at); part != nil {
		f.BuildID, f.FileOffset = m.info.BuildID(), pc-part.Start+part.Offset
		f.Address, f.Caller = vaddr+(pc-at), caller
	}
	var inlined []string
	f.Function, f.Offset, f.File, f.Line, inlined = m.info.Symbolize(vaddr)
	var calls []debuginfo.SourceLine
	if len(inlined) > 0 {
		calls = m.info.Calls(vaddr)
	}
	return debuginfo.CodeFrames(f, caller, inlined, calls)
}

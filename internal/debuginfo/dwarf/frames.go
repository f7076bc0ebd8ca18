package dwarf

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
	"github.com/jalon-trace/jalon/internal/unwind"
)

// callFrames is the module's call frame information.
type callFrames struct {
	*object
	cfi     *frame.Table
	rules   recent[*frame.Rule] // of Unwind
	walk    *unwind.Table       // see UnwindTable
	walkHas bool
	pads    *[]uint64 // see AllLandingPads
	padsErr error
}

// Unwind finds the rule for vaddr. The error means that the module has no call frame information there.
func (cf *callFrames) Unwind(vaddr uint64) (rule *frame.Rule, err error) {
	defer cf.guard(&err)()
	if rule, ok := cf.rules.get(vaddr); ok {
		return rule, nil
	}
	if rule, err = cf.unwind(vaddr); err == nil {
		cf.rules.put(vaddr, rule)
	}
	return rule, err
}

func (cf *callFrames) unwind(vaddr uint64) (*frame.Rule, error) {
	f := cf.frames().Find(vaddr)
	if f == nil {
		return nil, fmt.Errorf("no call frame information for address %#x of %s", vaddr, cf.path)
	}
	return f.Rule(vaddr)
}

// UnwindTable returns the compact form of the module's call frame information, which the first call makes;
// nil if there is none.
func (cf *callFrames) UnwindTable() *unwind.Table {
	defer cf.guard(nil)()
	if !cf.walkHas {
		cf.walkHas = true
		cf.walk = unwind.Compile(cf.frames())
	}
	return cf.walk
}

// frames is the module's call frame information: .eh_frame is in the module itself,
// .debug_frame may be in the separate debug file.
func (cf *callFrames) frames() *frame.Table {
	if cf.cfi != nil {
		return cf.cfi
	}
	src := frame.Sources{Read: cf.file.ReadVaddr}
	if s, ok := cf.file.Section(".eh_frame"); ok && !s.NoBits {
		if b, err := cf.file.Bytes(".eh_frame"); err == nil {
			src.EHFrame, src.EHFrameVaddr = b, s.Vaddr
		}
	}
	src.HeaderVaddr, src.Header = cf.file.EhFrameHdr()
	debug := cf.file
	if cf.dbg != nil {
		debug = cf.dbg
	}
	if b, err := debug.Bytes(".debug_frame"); err == nil && len(b) > 0 {
		src.DebugFrame = b
	} else if host.Processor == &amd64.Processor && cf.ofGo() {
		if table, start, ok := cf.file.GoTable(); ok {
			src.DebugFrame = goFrames(table, start)
		}
	}
	cf.cfi = frame.New(src)
	return cf.cfi
}

package image

import (
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/usdt"
)

// Markers returns the static markers of a file (<sys/sdt.h>). With an error, it still returns those that
// could be read.
func Markers(info *dwarf.Module) ([]usdt.Probe, error) { return usdt.Read(info.File()) }

// MarkerScope is what names mean at a marker: its arguments, and what under has, which
// may be nil.
func MarkerScope(info *dwarf.Module, p *usdt.Probe, under debuginfo.Scope) debuginfo.Scope {
	return usdt.NewScope(p, info.File(), info.Interp() != "", under)
}

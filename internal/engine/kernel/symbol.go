package kernel

import (
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/image"
)

// symbols name addresses of the kernel and of processes.
type symbols struct {
	*base
	facts   *facts
	strings once[map[uint64]string]
	user    *image.Processes
}

// Symbol names an address of the kernel: "vfs_read+0x10", "" when nothing is known.
func (e *symbols) Symbol(addr uint64) string { return e.facts.kernel.Symbol(addr) }

// KernelString is a string of the kernel that its print formats may point to.
func (e *symbols) KernelString(addr uint64) (string, bool) {
	list, err := e.strings.get(func() (map[uint64]string, error) {
		fs, err := e.facts.tracefs()
		if err != nil {
			return nil, err
		}
		return fs.Strings()
	})
	if err != nil {
		return "", false
	}
	text, ok := list[addr]
	return text, ok
}

// KernelSymbol is what contains an address of the kernel.
func (e *symbols) KernelSymbol(addr uint64) (event.KernelSymbol, bool) {
	at, ok := e.facts.kernel.At(addr)
	return event.KernelSymbol{Name: at.Name, Offset: at.Offset, Size: at.Size, Module: at.Module}, ok
}

// Epoch identifies the modules by which Engine.Unwind names a stack of the hit's process.
func (e *symbols) Epoch(ev *event.Event) uint64 {
	e.user.At(uint64(max(ev.TimeNS, 0)))
	return e.user.Epoch(ev.Pid)
}

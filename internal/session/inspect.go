package session

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

// Inspected is a module that is looked at, not traced.
type Inspected struct {
	Path string
	Bias uint64
	Info *dwarf.Module
	mod  *module
}

// InspectFile opens an executable or library.
func InspectFile(path string, opt dwarf.Options) (*Inspected, error) {
	dw, err := dwarf.Open(path, opt)
	if err != nil {
		return nil, err
	}
	m := &module{path: path, file: path, exe: true, dw: dw, tried: true}
	return &Inspected{Path: path, Info: dw, mod: m}, nil
}

// InspectProcess lists the modules of a running process that can be opened, the
// executable first.
func InspectProcess(pid int, opt dwarf.Options) ([]*Inspected, error) {
	maps, err := process.Maps(pid)
	if err != nil {
		remedy := ""
		switch {
		case errors.Is(err, fs.ErrPermission):
			remedy = "; it is another user's: run jalon as that user or as root, or give it CAP_SYS_PTRACE"
		case errors.Is(err, fs.ErrNotExist):
			err = errors.New("there is no such process")
		}
		return nil, fmt.Errorf("looking at process %d: %w%s", pid, err, remedy)
	}
	var out []*Inspected
	for _, m := range modules(pid, maps) {
		if m.open(opt) == nil {
			out = append(out, &Inspected{Path: m.path, Bias: m.bias, Info: m.dw, mod: m})
		}
	}
	return out, nil
}

// Tactic says how a site at vaddr would be reached, and why the better ways are
// not possible.
func (in *Inspected) Tactic(vaddr uint64) (tactic string, refused []string, err error) {
	fn, ok := in.Info.FunctionAt(vaddr)
	if !ok {
		return "", nil, fmt.Errorf("no function is known at %#x", vaddr)
	}
	read := func(addr uint64, n int) ([]byte, error) {
		b, err := in.Info.Text(addr-in.Bias, n)
		if err == nil && len(b) < n {
			err = fmt.Errorf("the file ends within %#x", addr)
		}
		return b, err
	}
	c, err := in.mod.functionCode(fn, vaddr, read)
	if err != nil {
		return "", nil, err
	}
	p, err := patch.Make(c, vaddr+in.Bias, patch.Options{ABI: true, Boundary: true, Pun: true})
	if err != nil {
		return "", nil, err
	}
	for _, r := range p.Refused {
		refused = append(refused, r.Tactic.String()+": "+r.Why)
	}
	return p.Tactic.String(), refused, nil
}

// File is the path by which jalon opens the module.
func (in *Inspected) File() string { return in.mod.file }

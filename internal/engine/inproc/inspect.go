package inproc

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/lazyregexp"
	"github.com/jalon-trace/jalon/internal/patch"
)

// Inspected is a module that is inspected, not traced.
type Inspected struct {
	Path string
	Bias uint64
	Info *dwarf.Module
	mod  *module
}

// InspectFile opens an executable or library.
func InspectFile(path string, opt dwarf.Options) (*Inspected, error) {
	f, err := image.OfFile(path, usualBias, image.NewFiles(opt))
	if err != nil {
		return nil, err
	}
	m := &module{Module: f}
	return &Inspected{Path: path, Info: f.Info(), mod: m}, m.open()
}

// usualBias is the approximate address at which the kernel and ld.so map such a file. The targets of punned
// jumps depend on it, and so does which numbers can be addresses.
func usualBias(dw *dwarf.Module) uint64 {
	switch {
	case dw.Type() == dwarf.Exec:
		return 0
	case dw.Interp() != "":
		return 0x555555554000
	}
	return 0x7f0000000000
}

// InspectProcess lists the modules of a running process that can be opened, the
// executable first.
func InspectProcess(pid int, opt dwarf.Options) ([]*Inspected, error) {
	space, err := image.OfProcess(pid, image.NewFiles(opt))
	if err != nil {
		remedy := ""
		switch {
		case errors.Is(err, fs.ErrPermission):
			remedy = "; it belongs to another user: run jalon as that user or as root, or give it CAP_SYS_PTRACE"
		case errors.Is(err, fs.ErrNotExist):
			err = errors.New("there is no such process")
		}
		return nil, fmt.Errorf("inspecting process %d: %w%s", pid, err, remedy)
	}
	var out []*Inspected
	for _, x := range space.Modules() {
		m := &module{Module: x, running: true}
		if m.open() == nil {
			out = append(out, &Inspected{Path: m.Path, Bias: m.bias, Info: m.dw, mod: m})
		}
	}
	return out, nil
}

// Int3 is the tactic of a site where no jump fits. If uprobes of the kernel are permitted, the site gets a
// uprobe instead.
const Int3 = "int3"

// Tactic returns the tactic for a site at vaddr, and why the better tactics are not possible.
func (in *Inspected) Tactic(vaddr uint64) (tactic string, refused []string, err error) {
	return in.tactic(&Site{mod: in.mod, site: dwarf.Site{Addr: vaddr}})
}

func (in *Inspected) tactic(w *Site) (tactic string, refused []string, err error) {
	p, err := in.mod.planSite(w, in.mod.fromFile)
	if err != nil {
		return "", nil, err
	}
	for _, r := range p.Refused {
		refused = append(refused, r.Tactic.String()+": "+in.shown(r.Why))
	}
	if p.Tactic == patch.Trapping {
		return Int3, refused, nil
	}
	return p.Tactic.String(), refused, nil
}

// shown replaces the assumed addresses in a reason by those of the file.
func (in *Inspected) shown(why string) string {
	if in.Bias == in.mod.bias {
		return why
	}
	return hexNumber.ReplaceAllStringFunc(why, func(s string) string {
		v, err := strconv.ParseUint(s[2:], 16, 64)
		if err != nil || v < in.mod.bias {
			return s
		}
		return fmt.Sprintf("%#x", v-in.mod.bias+in.Bias)
	})
}

var hexNumber = lazyregexp.New(`0x[0-9a-f]+`)

// Exit is a return or a tail call, as it is listed.
type Exit struct {
	Vaddr   uint64
	What    string
	Tactic  string // as of Tactic
	Refused []string
	Err     error // why there is no tactic, or why the returns of the function are not known
}

// Exits lists the returns and tail calls of the function at vaddr.
func (in *Inspected) Exits(vaddr uint64) (list []Exit) {
	for _, w := range in.mod.exits(dwarf.Site{Addr: vaddr}) {
		x := Exit{Vaddr: w.site.Addr, Err: w.unsure}
		if w.exit != nil {
			x.What = w.what()
			x.Tactic, x.Refused, x.Err = in.tactic(w)
		}
		list = append(list, x)
	}
	return list
}

// planAt plans a patch from the bytes that read returns.
func (m *module) planAt(vaddr uint64, read reader) (*patch.Plan, error) {
	return m.planSite(&Site{mod: m, site: dwarf.Site{Addr: vaddr}}, read)
}

func (m *module) planSite(w *Site, read reader) (*patch.Plan, error) {
	vaddr := w.site.Addr
	fn, ok := m.dw.FunctionAt(vaddr)
	if !ok {
		return nil, fmt.Errorf("no function is known at %#x", vaddr)
	}
	c, err := m.functionCode(fn, vaddr, read)
	if err != nil {
		return nil, err
	}
	return w.make(c, vaddr+m.bias, 0, patch.Options{ABI: true, Boundary: true, Pun: true})
}

// File returns the path by which jalon opens the module.
func (in *Inspected) File() string { return in.mod.File() }

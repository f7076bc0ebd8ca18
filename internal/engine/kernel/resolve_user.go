package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jalon-trace/jalon/internal/backend/ebpf"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/usdt"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/sema"
)

// Places in programs and libraries, for every process that runs them.

var errNoFile = errors.New("name the program or library, which all its processes have in common: uprobe:PATH:FUNCTION or uprobe:PATH@FILE:LINE")

// uprobes are instructions of a file.
func (e *programs) uprobes(p *probe.Place) ([]candidate, error) {
	m, path, err := e.files.binary(p)
	if err != nil {
		return nil, err
	}
	check := func() error { return e.step("", 0, 0) }
	sites, err := probe.Resolve(p, m, check)
	if err != nil {
		lib, in, lerr := e.imported(p, m, path)
		var unsure *image.UnsureError
		if errors.As(lerr, &unsure) {
			return nil, lerr
		}
		if lerr != nil {
			return nil, err
		}
		m, path = lib, in
		if sites, err = probe.Resolve(p, m, check); err != nil {
			return nil, err
		}
	}
	if len(sites) > maxSites {
		return nil, tooMany(p)
	}
	e.warnMoved(p, sites)
	return e.several(p, len(sites), func(i int) (candidate, error) {
		scope, err := m.ScopeForSite(sites[i])
		if err != nil {
			return candidate{}, err
		}
		return e.userCandidate(p, m, path, sites[i], scope)
	})
}

// imported is the library from which a program takes a function that it has not itself: see image.Provider. Where the
// place names no file and the program does not take the function, it is the first of its libraries that has it.
func (e *programs) imported(p *probe.Place, m *dwarf.Module, path string) (*dwarf.Module, string, error) {
	if p.Func == "" || p.Glob() {
		return nil, "", fs.ErrNotExist
	}
	from, err := e.provider(path, p.Func)
	if err != nil {
		return nil, "", err
	}
	if p.Path == "" {
		from = e.inLibraries(p, path, from)
	}
	if from == nil || from.Open() != nil {
		return nil, "", fs.ErrNotExist
	}
	e.warn(fmt.Sprintf("%s: %s is in %s, which the program uses: its calls from all programs are meant", p.Text, p.Func, from.File()))
	return from.Info(), from.File(), nil
}

// inLibraries is the preferred one of a program's libraries that have a function, or else the first. The others are
// printed.
func (e *programs) inLibraries(p *probe.Place, path string, preferred *image.Module) *image.Module {
	from := preferred
	var others []string
	for _, lib := range e.files.all.Linked(path, e.files.library) {
		if from != nil && openfile.Same(lib.File(), from.File()) {
			continue
		}
		if _, err := probe.Resolve(p, lib.Info(), nil); err != nil {
			continue
		}
		if from == nil {
			from = lib
		} else {
			others = append(others, lib.File())
		}
	}
	if len(others) > 0 {
		e.warn(fmt.Sprintf("%s is also in %s, which is not traced: name the file that is meant", p.Text, strings.Join(others, ", ")))
	}
	return from
}

// provider is the module from which the file at path takes a function: as the traced
// process has it where that has its libraries, else as a new one would.
func (e *programs) provider(path, name string) (*image.Module, error) {
	if e.opt.Tgid != 0 {
		if im, err := image.OfProcess(e.opt.Tgid, e.files.all); err == nil {
			for _, m := range im.Modules() {
				if !openfile.Same(m.File(), path) {
					continue
				}
				if from, err := im.Provider(m, name); from != nil || err != nil {
					return from, err
				}
			}
		}
	}
	return e.files.all.Provider(path, name, e.files.library), nil
}

// userCandidate is a uprobe at a site of a file.
func (e *programs) userCandidate(p *probe.Place, m *dwarf.Module, path string, s probe.Site, scope debuginfo.Scope) (candidate, error) {
	if err := e.placeable(p, m, s.Addr); err != nil {
		return candidate{}, err
	}
	if err := e.runnable(p, m, s.Addr); err != nil {
		return candidate{}, err
	}
	off, err := fileOffset(m, s.Addr)
	if err != nil {
		return candidate{}, err
	}
	fn, known := m.FunctionAt(s.Addr)
	var behind uint64
	if s.Entry != 0 && p.Off == 0 {
		behind = s.Addr - s.Entry
	}
	return candidate{
		place: placeOf(p, "uprobe:", s.Func), function: s.Func, file: s.File, line: s.Line, moved: s.Moved(), module: m, vaddr: s.Addr, behindCheck: behind,
		variants: []variant{{
			how:     "uprobe",
			target:  bpf.Target{Kind: bpf.Uprobe, Path: path, FileOffset: off, Pid: e.uprobePid()},
			context: ebpf.Regs, scope: scope, kernel: sema.KernelInput{Context: sema.ContextRegs, User: true, Fixed: m.Type() == dwarf.Exec},
			atEntry: known && s.Addr == fn.Lo,
			lineOf: func(vaddr uint64) (string, int) {
				_, _, file, line, _ := m.Symbolize(vaddr)
				return file, line
			},
		}},
	}, nil
}

// placeOf is the place of one function that a place means.
func placeOf(p *probe.Place, kind, function string) string {
	switch {
	case !p.Glob():
		return p.Text
	case p.Path == "":
		return function
	}
	return kind + p.Path + ":" + function
}

// uprobePid returns the process to which the kernel limits a uprobe. The kernel finds the memory through
// the process's first thread. If that has ended and others continue, breakpoints are inserted in every
// process, and only the program's own filter skips the others.
func (e *programs) uprobePid() int {
	if procdir.FirstEnded(e.opt.Tgid) {
		return 0
	}
	return e.opt.Tgid
}

// fileOffset is where in the file an address of its image is.
func fileOffset(m *dwarf.Module, vaddr uint64) (uint64, error) {
	for _, seg := range m.Segments() {
		if seg.Exe && vaddr >= seg.Vaddr && vaddr-seg.Vaddr < seg.Filesz {
			return vaddr - seg.Vaddr + seg.Offset, nil
		}
	}
	return 0, fmt.Errorf("address %#x is in no executable segment of %s", vaddr, m.Path())
}

// usdts are static markers of a file.
func (e *programs) usdts(p *probe.Place) ([]candidate, error) {
	m, path, err := e.files.binary(p)
	if err != nil {
		return nil, err
	}
	probes, err := image.Markers(m)
	if err != nil {
		e.warn(err.Error()) // the others still run
	}
	found := usdt.Match(probes, p.System, p.Event)
	if len(found) == 0 {
		return nil, noMarker(p, probes)
	}
	if len(found) > maxSites {
		return nil, tooMany(p)
	}
	return e.several(p, len(found), func(i int) (candidate, error) {
		x := &found[i]
		site, err := probe.ResolveAddress(m, x.PC)
		if err != nil {
			return candidate{}, err
		}
		under, err := m.ScopeForSite(site)
		if err != nil {
			return candidate{}, err
		}
		c, err := e.userCandidate(p, m, path, site, image.MarkerScope(m, x, under))
		if err != nil {
			return candidate{}, err
		}
		c.function = x.Provider + ":" + x.Name
		c.place = placeOf(p, "usdt:", c.function)
		v := &c.variants[0]
		v.how, v.target.RefCtrOffset, v.atEntry = "usdt", x.SemOffset, false
		return c, nil
	})
}

// noMarker returns the error for a missing marker, with the markers that the file has.
func noMarker(p *probe.Place, probes []usdt.Probe) error {
	nf := &debuginfo.NotFoundError{What: "static marker", Name: p.Event}
	if p.System != "" {
		nf.Name = p.System + ":" + p.Event
	}
	if len(probes) == 0 {
		nf.Hint = "the file has no static markers (section .note.stapsdt)"
		return nf
	}
	var names []string
	for i := range probes {
		names = append(names, probes[i].Name)
	}
	nf.Nearest = lang.Nearest(p.Event, names, 3)
	if len(nf.Nearest) == 0 {
		nf.Hint = fmt.Sprintf("the file has %d, such as %s:%s", len(probes), probes[0].Provider, probes[0].Name)
	}
	return nf
}

package kernel

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracesite"
)

// vmlinux is the file with the debug information of the running kernel, and how
// far the kernel lies from where the file says (KASLR).
type vmlinux struct {
	m     *dwarf.Module
	slide uint64
}

// lineOf is the source line of an address in the file.
func (v *vmlinux) lineOf(vaddr uint64) (string, int) {
	_, _, file, line, _ := v.m.Symbolize(vaddr)
	return file, line
}

// kernelFile is the kernel's file, which is opened when it is asked for.
type kernelFile struct {
	*base
	facts *facts
	files *files
	file  once[*vmlinux]
	sites once[*tracesite.Sites]
}

// errNoVmlinux says what is missing for lines and locals of the kernel.
var errNoVmlinux = errors.New("lines and local variables of the kernel need its debug information: name the file by --vmlinux PATH (Debian: /usr/lib/debug/boot/vmlinux-VERSION of the package linux-image-VERSION-dbg)")

func (v *kernelFile) vmlinux() (*vmlinux, error) {
	if v.opt.Vmlinux == "" {
		return nil, errNoVmlinux
	}
	return v.file.get(func() (*vmlinux, error) { return v.openVmlinux(v.opt.Vmlinux) })
}

func (v *kernelFile) openVmlinux(path string) (*vmlinux, error) {
	m, err := v.files.file(path)
	if err != nil {
		return nil, err
	}
	slide, err := v.slideOf(path)
	if err != nil {
		return nil, err
	}
	return &vmlinux{m: m, slide: slide}, nil
}

// slideOf is how far the running kernel lies from where a file says.
func (v *kernelFile) slideOf(path string) (uint64, error) {
	f, err := v.files.file(path)
	if err != nil {
		return 0, err
	}
	if id, own := runningBuildID(), f.BuildID(); id != "" && own != "" && own != id {
		return 0, fmt.Errorf("%s is of another kernel: its build-id is %s, that of the running one %s", path, own, id)
	}
	const anchor = "_stext"
	addr, ok := v.facts.address(anchor)
	if !ok {
		return 0, fmt.Errorf("placing %s: the kernel hides the address of %s (/proc/kallsyms; root can read it unless kernel.kptr_restrict is 2)", path, anchor)
	}
	list := f.Lookup(anchor)
	if len(list) == 0 {
		return 0, fmt.Errorf("%s has no symbol %s: is it a vmlinux?", path, anchor)
	}
	return addr - list[0].Value, nil
}

// linked is where x86-64 kernels have their first byte in the file, unless they were
// built with another CONFIG_PHYSICAL_START.
const linked = 0xffffffff81000000

// slide is how far the kernel lies from where its file says (KASLR): the file of the
// options, or without one a file that was linked as usual.
func (v *kernelFile) slide() (uint64, error) {
	if v.opt.Vmlinux != "" {
		return v.slideOf(v.opt.Vmlinux)
	}
	addr, ok := v.facts.address("_text")
	if !ok {
		return 0, errors.New("the kernel hides the address of _text (/proc/kallsyms; root can read it unless kernel.kptr_restrict is 2)")
	}
	return addr - linked, nil
}

// calls finds the calls of all tracepoints in the kernel's image.
func (v *kernelFile) calls() (*tracesite.Sites, error) {
	return v.sites.get(func() (*tracesite.Sites, error) {
		f, err := v.files.file(v.opt.Vmlinux)
		if err != nil {
			return nil, err
		}
		return tracesite.Find(f.File())
	})
}

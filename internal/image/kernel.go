package image

import (
	"errors"
	"fmt"
	"sync"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/kallsyms"
	"github.com/jalon-trace/jalon/internal/fail"
)

// InKernel reports whether an address is one of the kernel's.
func InKernel(addr uint64) bool { return addr >= kallsyms.KernelHalf }

// Kernel is the address space of the running kernel: its symbols, those of its modules, and, if a file with
// its debug information is given, source lines and inlined functions. Everything is read on first use. It
// is used from one goroutine.
type Kernel struct {
	path    string // of the file; "" if there is none
	files   *Files
	read    func() (*kallsyms.Table, error)
	notes   func(module string) []byte      // see notesOf
	symbols func() (*kallsyms.Table, error) // read, once
	file    func() (*KernelFile, error)     // openFile, once
}

// KernelFile is the file with the debug information of a kernel (vmlinux).
type KernelFile struct {
	Info *dwarf.Module
	// Slide is how far the kernel lies from the addresses in the file (KASLR).
	Slide uint64
}

// LineOf is the source line of an address in the file.
func (f *KernelFile) LineOf(vaddr uint64) (string, int) {
	_, _, file, line, _ := f.Info.Symbolize(vaddr)
	return file, line
}

// NewKernel is the image of the running kernel. path is the file with its debug
// information, "" for none.
func NewKernel(path string, files *Files) *Kernel {
	return newKernel(path, files, kallsyms.Open, notesOf)
}

func newKernel(path string, files *Files, read func() (*kallsyms.Table, error), notes func(string) []byte) *Kernel {
	k := &Kernel{path: path, files: files, read: read, notes: notes}
	k.Renew()
	k.file = sync.OnceValues(k.openFile)
	return k
}

// Renew drops the symbols: modules were loaded or unloaded.
func (k *Kernel) Renew() { k.symbols = sync.OnceValues(k.read) }

// Symbols is the kernel's symbol table.
func (k *Kernel) Symbols() (*kallsyms.Table, error) { return k.symbols() }

// Address is that of a symbol; see kallsyms.Table.Addr.
func (k *Kernel) Address(symbol string) (uint64, bool) {
	t, err := k.Symbols()
	if err != nil {
		return 0, false
	}
	return t.Addr(symbol)
}

// At is the symbol that contains an address.
func (k *Kernel) At(addr uint64) (kallsyms.Location, bool) {
	t, err := k.Symbols()
	if err != nil {
		return kallsyms.Location{}, false
	}
	return t.At(addr)
}

// Symbol names an address: "vfs_read+0x10", "ext4_map_blocks [ext4]", "" when nothing is
// known.
func (k *Kernel) Symbol(addr uint64) string { return kernelSymbol(k, addr) }

// Frames names a pc, inlined functions first; see Image.Frames for those of callers.
func (k *Kernel) Frames(pc uint64, caller bool) []debuginfo.Frame { return kernelFrames(k, pc, caller) }

// kernelSpace is a kernel whose addresses can be named: the running one, or a saved one.
type kernelSpace interface {
	At(addr uint64) (kallsyms.Location, bool)
	// debugFile returns the file with its debug information, or nil.
	debugFile() *KernelFile
}

func kernelSymbol(k kernelSpace, addr uint64) string {
	at, ok := k.At(addr)
	if !ok {
		return ""
	}
	name := at.Name
	if at.Offset != 0 {
		name += fmt.Sprintf("+%#x", at.Offset)
	}
	if at.Module != "" {
		name += " [" + at.Module + "]"
	}
	return name
}

func kernelFrames(k kernelSpace, pc uint64, caller bool) []debuginfo.Frame {
	f := debuginfo.Frame{PC: pc}
	addr := pc
	if caller {
		addr--
	}
	at, ok := k.At(addr)
	if !ok {
		return []debuginfo.Frame{f}
	}
	f.Function, f.Offset, f.Module = at.Name, at.Offset, at.Module
	var inlined []string
	var calls []debuginfo.SourceLine
	if file := k.debugFile(); file != nil && at.Module == "" {
		_, _, f.File, f.Line, inlined = file.Info.Symbolize(addr - file.Slide)
		if len(inlined) > 0 {
			calls = file.Info.Calls(addr - file.Slide)
		}
	}
	return debuginfo.CodeFrames(f, caller, inlined, calls)
}

// ErrNoKernelFile means that no file with the kernel's debug information is named.
var ErrNoKernelFile = errors.New("no file with the kernel's debug information is named")

// File opens the file with the debug information. The error is the same each time.
func (k *Kernel) File() (*KernelFile, error) { return k.file() }

func (k *Kernel) debugFile() *KernelFile {
	f, err := k.File()
	if err != nil {
		return nil
	}
	return f
}

// anchor is the symbol by which a file is placed: the kernel's code begins there.
const anchor = "_stext"

func (k *Kernel) openFile() (*KernelFile, error) {
	if k.path == "" {
		return nil, ErrNoKernelFile
	}
	info, err := k.files.Open(k.path)
	if err != nil {
		return nil, err
	}
	if id, own := k.BuildID(), info.BuildID(); id != "" && own != "" && own != id {
		return nil, fmt.Errorf("%s is of another kernel: its build-id is %s, that of the running one %s", k.path, own, id)
	}
	addr, err := k.place(anchor, k.path)
	if err != nil {
		return nil, err
	}
	return kernelFile(info, addr)
}

// kernelFile places a file by the run-time address of anchor.
func kernelFile(info *dwarf.Module, addr uint64) (*KernelFile, error) {
	list := info.Lookup(anchor)
	if len(list) == 0 {
		return nil, fmt.Errorf("%s has no symbol %s: is it a vmlinux?", info.Path(), anchor)
	}
	return &KernelFile{info, addr - list[0].Value}, nil
}

// place is the address of a symbol by which a file is placed.
func (k *Kernel) place(symbol, file string) (uint64, error) {
	t, err := k.Symbols()
	if err == nil {
		if addr, ok := t.Addr(symbol); ok {
			return addr, nil
		}
		err = fmt.Errorf("the kernel has no symbol %s", symbol)
	}
	return 0, &fail.Error{Op: "find how far the kernel lies from the addresses in " + file, Err: err}
}

// Slide is how far the kernel lies from the addresses in its file (KASLR): the file that
// is named, or without one a file that was linked as usual.
func (k *Kernel) Slide() (uint64, error) {
	if k.path != "" {
		f, err := k.File()
		if err != nil {
			return 0, err
		}
		return f.Slide, nil
	}
	linked := host.Processor.KernelText
	if linked == 0 {
		return 0, fmt.Errorf("the addresses in the kernel's file are not known on %s: %w", host.Processor.Title, ErrNoKernelFile)
	}
	addr, err := k.place("_text", "its file")
	if err != nil {
		return 0, err
	}
	return addr - linked, nil
}

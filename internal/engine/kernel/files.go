package kernel

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jalon-trace/jalon/internal/image"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/probe"
)

// files are the programs and libraries that have been used, each opened on first use.
type files struct {
	*base
	all   *image.Files
	code  map[codeKey]*codeAt
	texts map[*dwarf.Module]*patch.Text
	known map[*dwarf.Module]traits
}

func newFiles(b *base) *files {
	opt := dwarf.Options{DebugDirs: b.opt.DebugDirs, Warn: func(m string) { b.logf("%s", m) }}
	return &files{base: b, all: image.NewFiles(opt), code: map[codeKey]*codeAt{}, texts: map[*dwarf.Module]*patch.Text{}}
}

// file opens the debug information of a program or library.
func (f *files) file(path string) (*dwarf.Module, error) { return f.all.Open(path) }

func (f *files) close() { f.all.Close() }

// binary opens the file that a place names: a path, or a command or library by
// its bare name.
func (f *files) binary(p *probe.Place) (*dwarf.Module, string, error) {
	name := p.Path
	if name == "" {
		name = f.opt.Program
	}
	if name == "" {
		return nil, "", errNoFile
	}
	path, err := f.find(name)
	if err != nil {
		return nil, "", err
	}
	m, err := f.file(path)
	return m, path, err
}

// find finds a program or library: where one process is traced, as that process
// sees the files, which may be others in a container.
func (f *files) find(name string) (string, error) {
	if f.opt.File != nil {
		if path := f.opt.File(name); path != "" {
			return path, nil
		}
	}
	return findBinary(name)
}

// libraryDirs are where the dynamic linker looks on Debian and elsewhere.
var libraryDirs = []string{"/lib/" + host.Processor.Multiarch, "/usr/lib/" + host.Processor.Multiarch, "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/lib"}

// findBinary finds a program in PATH, or a library (libc, libc.so.6) where the
// dynamic linker does. Symbolic links are followed: the kernel probes files.
func findBinary(name string) (string, error) {
	path := name
	if !strings.Contains(name, "/") {
		found, err := exec.LookPath(name)
		if err != nil {
			found = findLibrary(name)
		}
		if found == "" {
			return "", fmt.Errorf("no program %s in PATH and no library of that name; write its path", name)
		}
		path = found
	}
	if strings.HasPrefix(path, "/proc/") { // a link that leads where no path does
		return path, nil
	}
	path, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no file %s", name)
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

func findLibrary(name string) string {
	for _, dir := range libraryDirs {
		for _, pattern := range []string{name, name + ".so", name + ".so.*"} {
			list, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, f := range list {
				if isELF(f) { // libc.so is a text for the linker
					return f
				}
			}
		}
	}
	return ""
}

func isELF(path string) bool {
	file, err := openfile.Regular(path)
	if err != nil {
		return false
	}
	defer file.Close()
	var magic [4]byte
	_, err = io.ReadFull(file, magic[:])
	return err == nil && string(magic[:]) == "\x7fELF"
}

// library returns the path of a library by the name with which files are linked, "" if there is none.
func (f *files) library(needed string) string {
	path, err := f.find(needed)
	if err != nil {
		return ""
	}
	return path
}

// replaces returns why the file at path may use a symbol of another file in place of its own of that name; see
// image.Replaces.
func (f *files) replaces(path, symbol string) string {
	if f.opt.Tgid != 0 {
		if im, err := image.OfProcess(f.opt.Tgid, f.all); err == nil {
			for _, m := range im.Modules() {
				if m.Open() == nil && openfile.Same(m.File(), path) {
					return im.Replaces(m, symbol)
				}
			}
		}
	}
	program := ""
	if f.opt.Program != "" {
		program, _ = f.find(f.opt.Program) // an error: which program it is is not known
	}
	return f.all.Replaces(program, path, symbol, f.library)
}

package image

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// File is a path by which jalon opens the module's file; "" when nothing leads to it.
func (m *Module) File() string {
	if !m.found {
		m.found = true
		m.file, m.proven = openable(m.image.pid, &m.Maps[0], m.Exe)
	}
	return m.file
}

// Proven reports whether File leads to the very file that is mapped, as far as the
// kernel shows that. Otherwise Open has compared it with memory.
func (m *Module) Proven() bool {
	m.File()
	return m.proven
}

// rootDir is the process's root directory when it is another than ours.
func (im *Image) rootDir() string {
	if im.root == nil {
		im.root = new(string)
		if im.pid == 0 {
			return ""
		}
		theirs := procdir.Link(im.pid, "root")
		if _, err := openfile.Stat(theirs); err == nil && !openfile.Same(theirs, "/") {
			*im.root = theirs
		}
	}
	return *im.root
}

// executable returns the test whether a mapping is one of the process's executable.
func executable(pid int) func(*procdir.Mapping) bool {
	path, _ := procdir.Exe(pid) // not permitted: no mapping is known to be the executable's
	path, deleted := strings.CutSuffix(path, " (deleted)")
	return func(m *procdir.Mapping) bool { return m.Path == path && m.Deleted == deleted }
}

// openable is a path that leads to the very file of a mapping: the plain one where it
// does (it is still there when the process is gone), else the process's own view of it,
// else the kernel's links to the executable and to the mapped file, which hold even when
// the file was deleted or replaced. "" when none leads there. proven is false where that
// it is the file of the mapping remains to be shown: see identical.
func openable(pid int, m *procdir.Mapping, exe bool) (file string, proven bool) {
	named := []string{m.Path, procdir.Link(pid, filepath.Join("root", m.Path))}
	links := []string{fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Start, m.End)}
	if exe {
		links = append([]string{procdir.Link(pid, "exe")}, links...)
	}
	for _, path := range named {
		if st, err := openfile.Stat(path); err == nil && isMapped(st, m) {
			return path, true
		}
	}
	for _, link := range links {
		st, err := openfile.Stat(link)
		if err != nil {
			continue
		}
		for _, path := range named { // overlayfs and btrfs show other numbers in maps
			if x, err := openfile.Stat(path); err == nil && os.SameFile(x, st) {
				return path, true
			}
		}
		return link, true
	}
	if m.Deleted {
		return "", false
	}
	for _, path := range named { // without the links
		if _, err := openfile.Stat(path); err == nil {
			return path, false
		}
	}
	return "", false
}

// Named returns a path that opens the file to which a process's name refers: the file that it has mapped,
// otherwise the file in its root directory. It returns "" if jalon sees the same files, or if there is no
// such file.
func Named(pid int, name string) string {
	im, err := OfProcess(pid, nil)
	if err != nil {
		return ""
	}
	for _, m := range im.mods {
		if m.Meant(name) && m.File() != "" {
			return m.File()
		}
	}
	if !filepath.IsAbs(name) {
		return ""
	}
	theirs := inRoot(pid, name)
	if _, err := openfile.Stat(theirs); err != nil || openfile.Same(name, theirs) {
		return ""
	}
	return theirs
}

// Meant reports whether a place names the module: by the path that the process sees,
// also through symbolic links, or by one that jalon sees.
func (m *Module) Meant(name string) bool {
	if matchFile(name, m.Path) || openfile.Same(name, m.File()) {
		return true
	}
	return filepath.IsAbs(name) && m.image.pid != 0 && openfile.Same(inRoot(m.image.pid, name), m.File())
}

// matchFile reports whether a module's path is the file that the place names:
// the same path, or the same last components (`sqlite3`, `libc.so.6`).
func matchFile(pattern, modulePath string) bool {
	if pattern == "" || pattern == modulePath || pattern == "*" {
		return true
	}
	if ok, _ := path.Match(pattern, modulePath); ok {
		return true
	}
	if strings.HasPrefix(pattern, "/") {
		return false
	}
	if name, ok := strings.CutPrefix(modulePath, memfd); ok && name == pattern {
		return true
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if strings.HasSuffix(modulePath, "/"+pattern) {
		return true
	}
	// libssl.so.3 names libssl.so.3.0.15, and libc names libc.so.6.
	base := path.Base(modulePath)
	rest, ok := strings.CutPrefix(base, pattern)
	return ok && strings.Contains(base, ".so") && (rest[0] == '.' || rest[0] == '-' && strings.HasPrefix(rest[1:], "2."))
}

// inRoot is a path that leads to what name is under a process's root directory. Its
// absolute symbolic links are links within that directory.
func inRoot(pid int, name string) string {
	root := procdir.Link(pid, "root")
	plain := filepath.Join(root, name)
	dir, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return plain
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT})
	if err != nil {
		return plain // Linux before 5.6, or no such file
	}
	defer unix.Close(fd)
	link := fmt.Sprintf("/proc/self/fd/%d", fd)
	if to, err := os.Readlink(link); err == nil {
		if resolved := filepath.Join(root, to); openfile.Same(resolved, link) {
			return resolved
		}
	}
	return plain
}

// ProgramFile is a path that leads to the executable of a process.
func ProgramFile(pid int) string {
	link := procdir.Link(pid, "exe")
	path, err := os.Readlink(link)
	if err != nil {
		return ""
	}
	if openfile.Same(path, link) {
		return path
	}
	return link
}

// isMapped reports whether a file is the one that a line of /proc/PID/maps names.
func isMapped(st fs.FileInfo, m *procdir.Mapping) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && m.IsFile(sys.Dev, sys.Ino)
}

// headerSize is how much of a file's start is compared with memory: the ELF and program
// headers and, where linkers put it, the build-id; no function lies there.
const headerSize = 0x380

// identical makes sure that the file that was opened is the one that is mapped, or that
// was when the list of modules was saved: a package upgrade or a rebuild may have
// replaced it.
func (m *Module) identical(info *dwarf.Module) error {
	switch {
	case m.image.pid == 0:
		return m.asSaved(info)
	case m.proven:
		return nil
	}
	unproven := func(why error) error {
		return fmt.Errorf("%s cannot be shown to be the file that process %d runs: %w", m.Path, m.image.pid, why)
	}
	mem, err := procdir.Mem(m.image.pid, os.O_RDONLY)
	if err != nil {
		return unproven(err)
	}
	defer mem.Close()
	for i := range m.Maps {
		x := &m.Maps[i]
		seg, ok := headerSegment(info)
		if x.Offset != 0 || x.Prot&unix.PROT_WRITE != 0 || !ok {
			continue
		}
		want, err := info.Text(seg.Vaddr, headerSize)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Path, err)
		}
		got := make([]byte, len(want))
		if _, err := mem.ReadAt(got, int64(x.Start)); err != nil {
			return unproven(err)
		}
		if !bytes.Equal(want, got) {
			return fmt.Errorf("%s is not the file that process %d runs: it was changed or replaced meanwhile; restart the program to trace the new file", m.Path, m.image.pid)
		}
		return nil
	}
	return unproven(errors.New("the start of the file is not mapped"))
}

// headerSegment is the segment that has the file's start, if it is read only.
func headerSegment(info *dwarf.Module) (elf.Segment, bool) {
	for _, seg := range info.Segments() {
		if seg.Offset == 0 && !seg.Write {
			return seg, true
		}
	}
	return elf.Segment{}, false
}

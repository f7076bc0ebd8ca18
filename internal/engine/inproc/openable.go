package inproc

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/openfile"
	"github.com/jalon-trace/jalon/internal/probe"
	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process"
)

// executable returns the test whether a mapping is one of the process's executable.
func executable(pid int) func(*process.Mapping) bool {
	path, _ := procdir.Exe(pid) // not permitted: no mapping is known to be the executable's
	path, deleted := strings.CutSuffix(path, " (deleted)")
	return func(m *process.Mapping) bool { return m.Path == path && m.Deleted == deleted }
}

// openable is a path that leads to the very file of a mapping: the plain one where it
// does (it is still there when the process is gone), else the process's own view of it,
// else the kernel's links to the executable and to the mapped file, which hold even when
// the file was deleted or replaced. "" when none leads there.
func openable(pid int, m *process.Mapping, exe bool) string {
	named := []string{m.Path, procdir.Link(pid, filepath.Join("root", m.Path))}
	links := []string{fmt.Sprintf("/proc/%d/map_files/%x-%x", pid, m.Start, m.End)}
	if exe {
		links = append([]string{procdir.Link(pid, "exe")}, links...)
	}
	for _, path := range named {
		if st, err := openfile.Stat(path); err == nil && isMapped(st, m) {
			return path
		}
	}
	for _, link := range links {
		st, err := openfile.Stat(link)
		if err != nil {
			continue
		}
		for _, path := range named { // overlayfs and btrfs show other numbers in maps
			if x, err := openfile.Stat(path); err == nil && os.SameFile(x, st) {
				return path
			}
		}
		return link
	}
	if m.Deleted {
		return ""
	}
	for _, path := range named { // without the links: sameHeader compares with memory
		if _, err := openfile.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// FileOf is a path that leads to the file that a process means by a name: one that it
// has mapped, else the one that its root directory has. "" when jalon sees the same
// files, or there is none of that name.
func FileOf(pid int, name string) string {
	maps, err := process.Maps(pid)
	if err != nil {
		return ""
	}
	for _, m := range modules(pid, maps) {
		if m.meant(name) && m.file != "" {
			return m.file
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

// meant reports whether a place names the module: by the path that the process sees,
// also through symbolic links, or by one that jalon sees.
func (m *module) meant(name string) bool {
	if probe.MatchFile(name, m.path) || openfile.Same(name, m.file) {
		return true
	}
	return filepath.IsAbs(name) && m.pid != 0 && openfile.Same(inRoot(m.pid, name), m.file)
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
		return plain // Linux before 5.6, or there is none
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
func isMapped(st fs.FileInfo, m *process.Mapping) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && m.IsFile(sys.Dev, sys.Ino)
}

// headerSize is how much of a file's start is compared with memory: the ELF and program
// headers and, where linkers put it, the build-id; no function lies there.
const headerSize = 0x380

// sameHeader makes sure that the file that was opened is the one that is mapped: a
// package upgrade or a rebuild may have replaced it.
func (m *module) sameHeader() error {
	mem, err := openMem(m.pid)
	if err != nil {
		return nil // a permission that arming needs as well, and reports
	}
	defer mem.Close()
	for _, x := range m.maps {
		seg, ok := m.segmentAt(0)
		if x.Offset != 0 || x.Prot&unix.PROT_WRITE != 0 || !ok {
			continue
		}
		want, err := m.dw.Text(seg.Vaddr, headerSize)
		if err != nil {
			return fmt.Errorf("%s: %w", m.path, err)
		}
		got := make([]byte, len(want))
		if _, err := mem.ReadAt(got, int64(x.Start)); err != nil {
			return nil // the process ends
		}
		if !bytes.Equal(want, got) {
			return fmt.Errorf("%s is not the file that process %d runs: it was changed or replaced meanwhile; restart the program to trace the new file", m.path, m.pid)
		}
		return nil
	}
	return nil
}

// segmentAt is the segment that is loaded from an offset of the file, if it is read only.
func (m *module) segmentAt(off uint64) (elf.Segment, bool) {
	for _, seg := range m.dw.Segments() {
		if seg.Offset == off && !seg.Write {
			return seg, true
		}
	}
	return elf.Segment{}, false
}

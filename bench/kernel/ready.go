package main

import (
	"debug/elf"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// A tracer has attached when it has certain file descriptors.

// Names of jalon's programs: of a site, or of a gate.
var (
	siteProgram = regexp.MustCompile(`^jalon_\d+$`)
	gateProgram = regexp.MustCompile(`^jalon_gate$`)
)

// hasProgram returns a function that reports whether a process has a link to a program with such a name.
func hasProgram(name *regexp.Regexp) func(pid int) bool {
	return func(pid int) bool {
		return anyFD(pid, func(fd int) bool {
			id := linkedProgram(pid, fd)
			if id == 0 {
				return false
			}
			p, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
			if err != nil {
				return false
			}
			defer func() { _ = p.Close() }()
			info, err := p.Info()
			return err == nil && name.MatchString(info.Name)
		})
	}
}

// anyFD reports whether a process has a file descriptor for which is holds.
func anyFD(pid int, is func(fd int) bool) bool {
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return false
	}
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && is(fd) {
			return true
		}
	}
	return false
}

// linkedProgram returns the id of the program that a link belongs to, 0 for other files.
func linkedProgram(pid, fd int) uint64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/fdinfo/%d", pid, fd))
	if err != nil || !strings.Contains(string(b), "link_type:") {
		return 0
	}
	_, rest, ok := strings.Cut(string(b), "prog_id:")
	if !ok {
		return 0
	}
	f := strings.Fields(rest)
	n, err := strconv.ParseUint(f[0], 10, 32)
	if err != nil {
		return 0
	}
	return n
}

// hasAttached reports whether the process has a link, or a perf event with a program (BPF_TASK_FD_QUERY,
// Linux 4.18).
func hasAttached(pid int) bool {
	const taskFDQuery = 20
	return anyFD(pid, func(fd int) bool {
		if linkedProgram(pid, fd) != 0 {
			return true
		}
		attr := struct {
			pid, fd, flags, bufLen uint32
			buf                    uint64
			progID, fdType         uint32
			offset, addr           uint64
		}{pid: uint32(pid), fd: uint32(fd)}
		_, _, errno := unix.Syscall(unix.SYS_BPF, taskFDQuery, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
		return errno == 0 && attr.progID != 0
	})
}

// symbolOffset returns the offset of a symbol's code in a file.
func symbolOffset(path, symbol string) (uint64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		return 0, err
	}
	for _, s := range syms {
		if s.Name != symbol {
			continue
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				return s.Value - p.Vaddr + p.Off, nil
			}
		}
	}
	return 0, fmt.Errorf("%s has no symbol %s", path, symbol)
}

package kernel

import (
	"debug/elf"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// uprobe is another tracer's breakpoint in a file, for all processes: a perf event without a program.
type uprobe struct {
	t  testing.TB
	fd int
}

// putUprobe inserts a uprobe at an offset of a file. When it returns, the breakpoint is in every process
// whose mapping of the file the kernel accepts.
func putUprobe(t testing.TB, path string, offset uint64) *uprobe {
	t.Helper()
	b, err := os.ReadFile("/sys/bus/event_source/devices/uprobe/type")
	if err != nil {
		t.Fatal(err)
	}
	typ, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	attr := unix.PerfEventAttr{Type: uint32(typ), Ext1: uint64(uintptr(unsafe.Pointer(name))), Ext2: offset}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, -1, 0, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Fatalf("uprobe at %#x of %s: %v", offset, path, err)
	}
	u := &uprobe{t, fd}
	t.Cleanup(u.remove)
	return u
}

// remove removes the uprobe.
func (u *uprobe) remove() {
	if u.fd < 0 {
		return
	}
	if err := unix.Close(u.fd); err != nil {
		u.t.Errorf("removing a uprobe: %v", err)
	}
	u.fd = -1
}

// offsetOf is where a function begins in a file.
func offsetOf(t testing.TB, path, function string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	syms, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range syms {
		if s.Name != function {
			continue
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				return s.Value - p.Vaddr + p.Off
			}
		}
	}
	t.Fatalf("%s has no function %s", path, function)
	return 0
}

// codeAt reads a process's memory at an offset of a mapped file, and the permissions of the mapping.
func codeAt(t testing.TB, pid int, path string, offset uint64, n int) (code []byte, perms string) {
	t.Helper()
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for line := range strings.Lines(string(maps)) {
		var lo, hi, off uint64
		var dev, name string
		var inode int
		if k, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d %s", &lo, &hi, &perms, &off, &dev, &inode, &name); k < 7 || name != path {
			continue
		}
		if offset < off || offset-off >= hi-lo || !strings.Contains(perms, "x") {
			continue
		}
		code = make([]byte, n)
		if _, err := mem.ReadAt(code, int64(lo+offset-off)); err != nil {
			t.Fatal(err)
		}
		return code, perms
	}
	t.Fatalf("process %d has no code of %s mapped at %#x\n%s", pid, path, offset, maps)
	return nil, ""
}

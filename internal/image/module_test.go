package image

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/internal/procdir"
)

const rx = unix.PROT_READ | unix.PROT_EXEC

// TestLoadBias: pages of a file that lie elsewhere (kept by a copy, or mapped to be
// read) do not lead the load bias astray, wherever they are.
func TestLoadBias(t *testing.T) {
	segments := []elf.Segment{
		{Vaddr: 0, Offset: 0, Filesz: 0x800, Read: true},
		{Vaddr: 0x1000, Offset: 0x1000, Filesz: 0x900, Read: true, Exe: true},
		{Vaddr: 0x2000, Offset: 0x2000, Filesz: 0x400, Read: true},
		{Vaddr: 0x3db0, Offset: 0x2db0, Filesz: 0x300, Read: true},
	}
	const r = unix.PROT_READ
	header := procdir.Mapping{Start: 0x50000, End: 0x51000, Prot: r, Inode: 7}
	code := procdir.Mapping{Start: 0x51000, End: 0x52000, Prot: rx, Offset: 0x1000, Inode: 7}
	data := []procdir.Mapping{
		{Start: 0x52000, End: 0x53000, Prot: r, Offset: 0x2000, Inode: 7},
		{Start: 0x53000, End: 0x54000, Prot: r, Offset: 0x2000, Inode: 7},
		{Start: 0x54000, End: 0x55000, Prot: r | unix.PROT_WRITE, Offset: 0x3000, Inode: 7},
	}
	kept := procdir.Mapping{Start: 0x11000, End: 0x12000, Prot: rx, Offset: 0x1000, Inode: 7}
	read := procdir.Mapping{Start: 0x20000, End: 0x24000, Prot: r, Inode: 7}
	for name, maps := range map[string][]procdir.Mapping{
		"plain":   append([]procdir.Mapping{header, code}, data...),
		"covered": append([]procdir.Mapping{kept, header}, data...),
		"read":    append([]procdir.Mapping{read, header, code}, data...),
	} {
		if b, ok := loadBias(segments, maps); !ok || b != 0x50000 {
			t.Errorf("%s: bias %#x, %t", name, b, ok)
		}
	}
	if b, ok := loadBias(segments, []procdir.Mapping{{Start: 0x9000, End: 0xa000, Prot: rx, Offset: 0x8000}}); ok {
		t.Errorf("a file that is not mapped: bias %#x", b)
	}
}

package kernel

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/jalon-trace/jalon/internal/arch/host"
)

// core is an ELF core file of the kernel, /proc/kcore: its segments are the kernel's
// memory as it is now.
type core struct {
	file     io.ReaderAt
	segments []segment // by address
}

// segment is size bytes at addr, found at offset in the file.
type segment struct{ addr, size, offset uint64 }

// readCore reads the program headers.
func readCore(file io.ReaderAt) (*core, error) {
	f, err := elf.NewFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading its headers: %w", err)
	}
	if f.Class != elf.ELFCLASS64 || f.Machine != elf.Machine(host.Processor.Machine) || f.Type != elf.ET_CORE {
		return nil, fmt.Errorf("it is no core file of %s", host.Processor.Title)
	}
	c := &core{file: file}
	for _, p := range f.Progs {
		s := segment{p.Vaddr, p.Filesz, p.Off}
		if p.Type == elf.PT_LOAD && s.size > 0 && s.addr+s.size-1 >= s.addr && s.offset+s.size >= s.offset {
			c.segments = append(c.segments, s)
		}
	}
	sort.SliceStable(c.segments, func(i, j int) bool { return c.segments[i].addr < c.segments[j].addr })
	if len(c.segments) == 0 {
		return nil, errors.New("it has no memory")
	}
	return c, nil
}

// read reads b from addr; ok is false where no segment has all of it.
func (c *core) read(addr uint64, b []byte) (ok bool, err error) {
	// Of segments that lie over each other the last that begins before addr is taken.
	i := sort.Search(len(c.segments), func(i int) bool { return c.segments[i].addr > addr }) - 1
	if i < 0 {
		return false, nil
	}
	s := &c.segments[i]
	if off := addr - s.addr; off < s.size && uint64(len(b)) <= s.size-off {
		_, err := c.file.ReadAt(b, int64(s.offset+off))
		return true, err
	}
	return false, nil
}

func (c *core) close() error {
	if f, ok := c.file.(io.Closer); ok {
		return f.Close()
	}
	return nil
}

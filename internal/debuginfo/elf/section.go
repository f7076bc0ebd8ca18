package elf

import (
	"bytes"
	"compress/zlib"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
)

// What the decompressed sections of a file may take in all: a share that any file has, and
// a multiple of the file's size. Compilers' debug information shrinks to a third or a
// fifth; a file that was made to fill the memory shrinks to a thousandth.
const (
	unpackFree  = 64 << 20
	unpackRatio = 32
)

// reserve takes size bytes from what the file may still decompress.
func (f *File) reserve(size uint64) error {
	limit := uint64(unpackFree + unpackRatio*len(f.data))
	f.mu.Lock()
	defer f.mu.Unlock()
	if size > limit || f.unpacked > limit-size {
		return fmt.Errorf("with its %d bytes the decompressed sections would take more than %d, %d times the file and %d MiB", size, limit, unpackRatio, unpackFree>>20)
	}
	if err := f.reserveOfAll(size); err != nil {
		return err
	}
	f.unpacked += size
	return nil
}

// What the decompressed sections of all open files may take: a process can have thousands
// of files mapped of which each stays below its own limit.
const (
	allFree  = 256 << 20
	allRatio = 4
)

// all counts the files that Open has opened: their bytes, and those of the decompressed sections.
var all struct {
	mu              sync.Mutex
	bytes, unpacked uint64
}

func (f *File) reserveOfAll(size uint64) error {
	if !f.counted {
		return nil
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if limit := allFree + allRatio*all.bytes; all.unpacked+size > limit {
		return fmt.Errorf("the decompressed sections of all files would take more than %d bytes", limit)
	}
	all.unpacked += size
	return nil
}

// count adds a file to those of all, or takes it out again.
func (f *File) count(open bool) {
	if f.counted == open {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if f.counted = open; open {
		all.bytes += uint64(len(f.data))
		return
	}
	all.bytes -= uint64(len(f.data))
	all.unpacked -= f.unpacked
}

// Section describes where a section is in memory.
type Section struct {
	Name         string
	Vaddr, Size  uint64
	Alloc, Exec  bool
	NoBits       bool
	Offset, Type uint64
}

// Sections returns the section headers in file order.
func (f *File) Sections() []Section {
	out := make([]Section, 0, len(f.elf.Sections))
	for _, s := range f.elf.Sections {
		out = append(out, describe(s))
	}
	return out
}

// Section returns the named section's header.
func (f *File) Section(name string) (Section, bool) {
	s, ok := f.sections[name]
	if !ok {
		return Section{}, false
	}
	return describe(s), true
}

func describe(s *stdelf.Section) Section {
	return Section{
		Name: s.Name, Vaddr: s.Addr, Size: s.Size, Offset: s.Offset, Type: uint64(s.Type),
		Alloc: s.Flags&stdelf.SHF_ALLOC != 0, Exec: s.Flags&stdelf.SHF_EXECINSTR != 0, NoBits: s.Type == stdelf.SHT_NOBITS,
	}
}

// SectionAt names the allocated section that holds vaddr, "" for none.
func (f *File) SectionAt(vaddr uint64) string {
	for _, s := range f.elf.Sections {
		if s.Flags&stdelf.SHF_ALLOC != 0 && s.Flags&stdelf.SHF_TLS == 0 && vaddr >= s.Addr && vaddr-s.Addr < s.Size {
			return s.Name
		}
	}
	return ""
}

// Bytes returns a section's content, decompressed. A section that is absent or
// has no bits gives nil, nil. For ".debug_x" the old ".zdebug_x" is also tried.
func (f *File) Bytes(name string) ([]byte, error) {
	if s := f.sections[name]; s != nil {
		if s.Type == stdelf.SHT_NOBITS {
			return nil, nil
		}
		if s.Flags&stdelf.SHF_COMPRESSED == 0 {
			return slice(f.data, s.Offset, s.FileSize), nil
		}
		return f.cached(name, func() ([]byte, error) { return f.inflate(s) })
	}
	if len(name) > 7 && name[:7] == ".debug_" {
		if s := f.sections[".z"+name[1:]]; s != nil && s.Type != stdelf.SHT_NOBITS {
			return f.cached(name, func() ([]byte, error) { return f.inflateOld(slice(f.data, s.Offset, s.FileSize)) })
		}
	}
	return nil, nil
}

func (f *File) cached(name string, load func() ([]byte, error)) ([]byte, error) {
	f.mu.Lock()
	u := f.unpack[name]
	if u == nil {
		u = &unpacked{}
		f.unpack[name] = u
	}
	f.mu.Unlock()
	u.once.Do(func() {
		u.err = fmt.Errorf("damaged data") // unless load returns
		if u.data, u.err = load(); u.err != nil {
			u.err = fmt.Errorf("decompressing section %s of %s: %w", name, f.Path, u.err)
		}
	})
	return u.data, u.err
}

// Unpack starts to decompress the named sections in the background.
func (f *File) Unpack(names []string) {
	for _, n := range names {
		s, old := f.sections[n], f.sections[".z"+strings.TrimPrefix(n, ".")]
		if old == nil && (s == nil || s.Flags&stdelf.SHF_COMPRESSED == 0) {
			continue
		}
		f.ahead.Add(1)
		go func() {
			defer f.ahead.Done()
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() { _ = recover() }() // the file was truncated: Bytes reports it
			_, _ = f.Bytes(n)
		}()
	}
}

// inflate handles SHF_COMPRESSED, zlib and zstd, through the standard library.
func (f *File) inflate(s *stdelf.Section) ([]byte, error) {
	if err := f.reserve(s.Size); err != nil {
		return nil, err
	}
	return readSized(s.Open(), s.Size, s.FileSize)
}

// inflateOld handles ".zdebug_*": "ZLIB", a big-endian size, a zlib stream.
func (f *File) inflateOld(b []byte) ([]byte, error) {
	if len(b) < 12 || string(b[:4]) != "ZLIB" {
		return nil, fmt.Errorf("no ZLIB header")
	}
	size := binary.BigEndian.Uint64(b[4:12])
	if err := f.reserve(size); err != nil {
		return nil, err
	}
	r, err := zlib.NewReader(bytes.NewReader(b[12:]))
	if err != nil {
		return nil, err
	}
	return readSized(r, size, uint64(len(b)))
}

// readSized reads size bytes without trusting size before the data is there.
func readSized(r io.Reader, size, packed uint64) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(int(min(size, packed*16+4096)) + bytes.MinRead)
	n, err := io.Copy(&out, io.LimitReader(r, int64(size)))
	if err != nil {
		return nil, err
	}
	if uint64(n) != size {
		return nil, fmt.Errorf("%d bytes instead of %d", n, size)
	}
	return out.Bytes(), nil
}

// note returns the descriptor of the first note with that owner and type.
func (f *File) note(owner string, typ uint32) []byte {
	for _, p := range f.elf.Progs {
		if p.Type == stdelf.PT_NOTE {
			if d := FindNote(slice(f.data, p.Off, p.Filesz), p.Align, owner, typ); d != nil {
				return d
			}
		}
	}
	for _, s := range f.elf.Sections {
		if s.Type == stdelf.SHT_NOTE {
			if d := FindNote(slice(f.data, s.Offset, s.FileSize), s.Addralign, owner, typ); d != nil {
				return d
			}
		}
	}
	return nil
}

// FindNote returns the descriptor of the first note with that owner and type in the
// bytes of a note section, or of /sys/kernel/notes; nil when there is none.
func FindNote(b []byte, align uint64, owner string, typ uint32) []byte {
	if align != 8 {
		align = 4
	}
	up := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	for len(b) >= 12 {
		ns, ds := uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[4:]))
		t := binary.LittleEndian.Uint32(b[8:])
		name := slice(b, 12, ns)
		at := up(12 + ns)
		desc := slice(b, at, ds)
		if t == typ && cstring(name) == owner && uint64(len(desc)) == ds {
			return desc
		}
		next := up(at + ds)
		if next > uint64(len(b)) {
			return nil
		}
		b = b[next:]
	}
	return nil
}

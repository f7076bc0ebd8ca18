package elf

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// unpacker gives the contents of sections, decompressed once.
type unpacker struct {
	*image
	mu     sync.Mutex
	unpack map[string]*unpacked
	// unpacked is the size of what was decompressed, bytes.
	unpacked uint64
	counted  bool           // among all, see reserveOfAll
	ahead    sync.WaitGroup // decompression running in the background
}

type unpacked struct {
	once sync.Once
	data []byte
	err  error
}

// What the decompressed sections of a file may take in all: a share that any file has, and
// a multiple of the file's size. Compilers' debug information shrinks to a third or a
// fifth; a file that was made to fill the memory shrinks to a thousandth.
const (
	unpackFree  = 64 << 20
	unpackRatio = 32
)

// reserve takes size bytes from what the file may still decompress.
func (up *unpacker) reserve(size uint64) error {
	limit := uint64(unpackFree + unpackRatio*len(up.data))
	up.mu.Lock()
	defer up.mu.Unlock()
	if size > limit || up.unpacked > limit-size {
		return fmt.Errorf("with its %d bytes the decompressed sections would take more than %d, %d times the file and %d MiB", size, limit, unpackRatio, unpackFree>>20)
	}
	if err := up.reserveOfAll(size); err != nil {
		return err
	}
	up.unpacked += size
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

func (up *unpacker) reserveOfAll(size uint64) error {
	if !up.counted {
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
func (up *unpacker) count(open bool) {
	if up.counted == open {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if up.counted = open; open {
		all.bytes += uint64(len(up.data))
		return
	}
	all.bytes -= uint64(len(up.data))
	all.unpacked -= up.unpacked
}

func describe(s *stdelf.Section) Section {
	return Section{
		Name: s.Name, Vaddr: s.Addr, Size: s.Size, Offset: s.Offset, Type: uint64(s.Type),
		Alloc: s.Flags&stdelf.SHF_ALLOC != 0, Exec: s.Flags&stdelf.SHF_EXECINSTR != 0, NoBits: s.Type == stdelf.SHT_NOBITS,
	}
}

// Bytes returns a section's content, decompressed. A section that is absent or
// has no bits gives nil, nil. For ".debug_x" the old ".zdebug_x" is also tried.
func (up *unpacker) Bytes(name string) ([]byte, error) {
	if s := up.sections[name]; s != nil {
		if s.Type == stdelf.SHT_NOBITS {
			return nil, nil
		}
		if s.Flags&stdelf.SHF_COMPRESSED == 0 {
			return slice(up.data, s.Offset, s.FileSize), nil
		}
		return up.cached(name, func() ([]byte, error) { return up.inflate(s) })
	}
	if len(name) > 7 && name[:7] == ".debug_" {
		if s := up.sections[".z"+name[1:]]; s != nil && s.Type != stdelf.SHT_NOBITS {
			return up.cached(name, func() ([]byte, error) { return up.inflateOld(slice(up.data, s.Offset, s.FileSize)) })
		}
	}
	return nil, nil
}

// Stored returns a section's bytes as they are in the file, and how large its content is when it is decompressed. Names are as in Bytes.
func (up *unpacker) Stored(name string) (packed []byte, size uint64) {
	s, old := up.sections[name], up.sections[".z"+strings.TrimPrefix(name, ".")]
	switch {
	case s != nil && s.Type != stdelf.SHT_NOBITS:
		return slice(up.data, s.Offset, s.FileSize), s.Size
	case s == nil && old != nil && old.Type != stdelf.SHT_NOBITS:
		if b := slice(up.data, old.Offset, old.FileSize); len(b) >= 12 {
			return b, binary.BigEndian.Uint64(b[4:])
		}
	}
	return nil, 0
}

func (up *unpacker) cached(name string, load func() ([]byte, error)) ([]byte, error) {
	up.mu.Lock()
	u := up.unpack[name]
	if u == nil {
		u = &unpacked{}
		up.unpack[name] = u
	}
	up.mu.Unlock()
	u.once.Do(func() {
		u.err = fmt.Errorf("damaged data") // unless load returns
		if u.data, u.err = load(); u.err != nil {
			u.err = fmt.Errorf("decompressing section %s of %s: %w", name, up.Path, u.err)
		}
	})
	return u.data, u.err
}

// Unpack starts to decompress the named sections in the background.
func (up *unpacker) Unpack(names []string) {
	for _, n := range names {
		s, old := up.sections[n], up.sections[".z"+strings.TrimPrefix(n, ".")]
		if old == nil && (s == nil || s.Flags&stdelf.SHF_COMPRESSED == 0) {
			continue
		}
		up.ahead.Add(1)
		go func() {
			defer up.ahead.Done()
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
			defer func() { _ = recover() }() // the file was truncated: Bytes reports it
			_, _ = up.Bytes(n)
		}()
	}
}

// inflate handles SHF_COMPRESSED: zlib by the faster library, zstd through the standard library.
func (up *unpacker) inflate(s *stdelf.Section) ([]byte, error) {
	if err := up.reserve(s.Size); err != nil {
		return nil, err
	}
	b := slice(up.data, s.Offset, s.FileSize)
	const head = 24 // an Elf64_Chdr, which begins with the type
	if up.elf.Class == stdelf.ELFCLASS64 && len(b) > head && stdelf.CompressionType(up.elf.ByteOrder.Uint32(b)) == stdelf.COMPRESS_ZLIB {
		return unzlib(b[head:], s.Size)
	}
	return readSized(s.Open(), s.Size, s.FileSize)
}

// unzlib decompresses a zlib stream of size bytes.
func unzlib(b []byte, size uint64) ([]byte, error) {
	r, err := zlib.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return readSized(r, size, uint64(len(b)))
}

// inflateOld handles ".zdebug_*": "ZLIB", a big-endian size, a zlib stream.
func (up *unpacker) inflateOld(b []byte) ([]byte, error) {
	if len(b) < 12 || string(b[:4]) != "ZLIB" {
		return nil, fmt.Errorf("no ZLIB header")
	}
	size := binary.BigEndian.Uint64(b[4:12])
	if err := up.reserve(size); err != nil {
		return nil, err
	}
	return unzlib(b[12:], size)
}

// readSized reads size bytes without trusting size before the data is there.
func readSized(r io.Reader, size, packed uint64) ([]byte, error) {
	if size <= packed*16+4096 {
		out := make([]byte, size)
		n, err := io.ReadFull(r, out)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("%d bytes instead of %d", n, size)
		}
		return out, err
	}
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

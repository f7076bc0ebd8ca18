// Package raw reads the BPF Type Format (BTF) as bytes. Opening it scans the header of every type once; a
// type is decoded on first use. Few of a kernel's 150,000 types are used, and opening its BTF takes 1 or 2
// ms.
//
// The format is described in Documentation/bpf/btf.rst in the kernel's sources, in little-endian byte
// order. A BTF does not change after it was made and may be used by several goroutines.
//
// Import rule: raw imports nothing of jalon.
package raw

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// ID is the number of a type; 0 is void. The types of a module's BTF are numbered behind
// the kernel's.
type ID uint32

// BTF is the types of a kernel or of a module.
type BTF struct {
	types   []byte
	strings []byte   // of this BTF alone
	base    *BTF     // the kernel's, for a module; nil for a kernel
	first   ID       // the number of the first type of this BTF alone
	offsets []uint32 // of those types, in types
	names   []uint32 // of those types, in strings
	kinds   []Kind   // of those types

	asked       atomic.Uint32 // how many names were looked for
	known       sync.Map      // what was found for the first few: numbers of types by name
	named       func() *table
	enumerators func() *enumerators
	percpu      func() map[ID]uint32
}

const (
	headerSize = 24
	typeSize   = 12 // what every type begins with
	maxSize    = 1 << 30
	magic      = 0xeb9f
)

var errMalformed = errors.New("malformed BTF")

// File is where the kernel shows its BTF.
const File = "/sys/kernel/btf/vmlinux"

// Kernel is the running kernel's own BTF. It is read once: it never changes.
var Kernel = sync.OnceValues(func() (*BTF, error) {
	b, err := contents(File)
	if err != nil {
		return nil, err
	}
	return Parse(b, nil)
})

// contents are mapped where the kernel allows it (Linux 6.16), which saves reading them.
// They stay mapped: strings point there.
func contents(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if n := st.Size(); n > 0 && n <= maxSize {
		if b, err := syscall.Mmap(int(f.Fd()), 0, int(n), syscall.PROT_READ, syscall.MAP_PRIVATE); err == nil {
			return b, nil
		}
	}
	return os.ReadFile(file)
}

// Parse takes the bytes of a BTF, which it keeps; base is the kernel's BTF for a module's,
// nil for a kernel's.
func Parse(b []byte, base *BTF) (*BTF, error) {
	if len(b) < headerSize || len(b) > maxSize || binary.LittleEndian.Uint16(b) != magic {
		return nil, fmt.Errorf("%w: no header", errMalformed)
	}
	u32 := func(off int) uint64 { return uint64(binary.LittleEndian.Uint32(b[off:])) }
	hdr, typeOff, typeLen, strOff, strLen := u32(4), u32(8), u32(12), u32(16), u32(20)
	if hdr+typeOff+typeLen > uint64(len(b)) || hdr+strOff+strLen > uint64(len(b)) {
		return nil, fmt.Errorf("%w: sections behind the end", errMalformed)
	}
	x := &BTF{types: b[hdr+typeOff:][:typeLen], strings: b[hdr+strOff:][:strLen], base: base, first: 1}
	if base != nil {
		x.first = base.end()
	}
	if err := x.scan(); err != nil {
		return nil, err
	}
	x.named = sync.OnceValue(x.makeNamed)
	x.enumerators = sync.OnceValue(x.makeEnumerators)
	x.percpu = sync.OnceValue(x.readPerCPU)
	return x, nil
}

// scan notes where each type is, and sees to it that it is whole.
func (x *BTF) scan() error {
	le := binary.LittleEndian
	usual := len(x.types) / 24
	x.offsets, x.names, x.kinds = make([]uint32, 0, usual), make([]uint32, 0, usual), make([]Kind, 0, usual)
	for at := 0; at < len(x.types); {
		id := x.end()
		if len(x.types)-at < typeSize {
			return fmt.Errorf("%w: type %d is cut off", errMalformed, id)
		}
		head := x.types[at : at+typeSize]
		info := le.Uint32(head[4:])
		k := Kind(info >> 24 & 0x1f)
		if k == Void || k >= numKinds {
			return fmt.Errorf("%w: type %d is of kind %d", errMalformed, id, k)
		}
		n := typeSize + bodies[k].fixed + int(info&0xffff)*bodies[k].each
		if n > len(x.types)-at {
			return fmt.Errorf("%w: type %d is cut off", errMalformed, id)
		}
		x.offsets, x.names, x.kinds = append(x.offsets, uint32(at)), append(x.names, le.Uint32(head)), append(x.kinds, k)
		at += n
	}
	return nil
}

// end is the number behind the last type.
func (x *BTF) end() ID { return x.first + ID(len(x.offsets)) }

// Base is the kernel's BTF for a module's, nil for a kernel's.
func (x *BTF) Base() *BTF { return x.base }

// Len is the number of types of this BTF alone, void left out.
func (x *BTF) Len() int { return len(x.offsets) }

// str is the string at an offset; strings of a module follow those of the kernel.
func (x *BTF) str(off uint32) string {
	if x.base != nil {
		if off < uint32(len(x.base.strings)) {
			return x.base.str(off)
		}
		off -= uint32(len(x.base.strings))
	}
	if off >= uint32(len(x.strings)) {
		return ""
	}
	s := unsafe.String(&x.strings[off], len(x.strings)-int(off)) // the bytes never change
	if i := strings.IndexByte(s, 0); i >= 0 {
		return s[:i]
	}
	return ""
}

package image

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// LibcSequences returns the distance from the thread pointer at which glibc (since 2.35) registers each thread's struct
// rseq; ok is false where it does not, or where its symbols are not known. glibc does not give that memory back while
// the thread exists. A program that registers areas of its own may use theirs for something else later.
func (im *Image) LibcSequences(read Memory) (offset int64, ok bool) {
	m := im.libcModule()
	if m == nil || m.Open() != nil {
		return 0, false
	}
	word := func(name string, b []byte) bool {
		list := m.info.Lookup(name)
		return len(list) == 1 && read(list[0].Value+m.bias, b) == nil
	}
	var size [4]byte
	var at [8]byte
	if !word("__rseq_size", size[:]) || binary.LittleEndian.Uint32(size[:]) == 0 || !word("__rseq_offset", at[:]) {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(at[:])), true
}

// libcModule is the dynamic linker, or the program if that is static.
func (im *Image) libcModule() *Module {
	auxv, err := procdir.Auxv(im.pid)
	if err != nil {
		return nil
	}
	if base, _ := procdir.AuxValue(auxv, procdir.AuxBase); base != 0 {
		return im.Owner(base)
	}
	if len(im.mods) == 0 {
		return nil
	}
	return im.mods[0]
}

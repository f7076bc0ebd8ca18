package index

import (
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// SectionExt is how the names of files with a decompressed section end. Such a file has the magic, a checksum of what follows, 4 bytes of
// padding, the key, the content.
const (
	SectionExt   = ".section"
	sectionMagic = "jalonsec"
	sectionHead  = len(sectionMagic) + 8 + KeySize
)

// Section is a decompressed section in a mapped file of the cache.
type Section struct{ file []byte }

// Bytes is the section's content.
func (s *Section) Bytes() []byte { return s.file[sectionHead:] }

// Close unmaps the file.
func (s *Section) Close() { _ = unix.Munmap(s.file) }

// MapSection maps a kept section of size bytes; nil when it is not there, foreign or damaged. The checksum is tested, since a
// file may have lost its content when the machine lost its power.
func MapSection(path string, key [KeySize]byte, size uint64) *Section {
	f, st := openOurs(path)
	if f == nil {
		return nil
	}
	defer f.Close()
	if st.Size() != int64(sectionHead)+int64(size) {
		return nil
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(st.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	s := &Section{b}
	n := len(sectionMagic)
	if string(b[:n]) != sectionMagic || [KeySize]byte(b[n+8:]) != key ||
		s.checksum() != binary.LittleEndian.Uint32(b[n:]) {
		s.Close()
		return nil
	}
	used(path, st)
	return s
}

// checksum is of the key and the content. What it has read is given back until it is needed, so that it takes little memory.
func (s *Section) checksum() (sum uint32) {
	const step = 4 << 20
	from := len(sectionMagic) + 8
	for at := 0; at < len(s.file); at += step {
		end := min(at+step, len(s.file))
		sum = crc32.Update(sum, castagnoli, s.file[max(at, from):end])
		_ = unix.Madvise(s.file[at:end], unix.MADV_DONTNEED)
	}
	return sum
}

// StoreSection keeps a decompressed section, as a whole or not at all.
func StoreSection(path string, key [KeySize]byte, content []byte, limit int64) {
	b := make([]byte, 0, sectionHead)
	b = append(b, sectionMagic...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Update(crc32.Checksum(key[:], castagnoli), castagnoli, content))
	b = append(binary.LittleEndian.AppendUint32(b, 0), key[:]...)
	store(path, limit, b, content)
}

// openOurs opens a file of the cache, nil if it is not there or another user could have written it.
func openOurs(path string) (*os.File, os.FileInfo) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || !ours(st) || st.Size() > Limit {
		f.Close()
		return nil, nil
	}
	return f, st
}

// isKept reports whether a name is of a file of the cache.
func isKept(name string) bool {
	ext := filepath.Ext(name)
	return ext == Ext || ext == SectionExt
}

package dwarf

import (
	"crypto/sha256"
	"os"
	"sync"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// keptFile gives the sections of a file. To decompress those of the C library's debug file takes longer than all else that is done for a place in it,
// so compressed sections are kept as files beside the indexes, and mapped.
type keptFile struct {
	in   *info
	file *elf.File

	mu   sync.Mutex
	maps [nSections]*index.Section
}

// dataOf is the DWARF of a file.
func dataOf(in *info, f *elf.File) *data {
	k := &keptFile{in: in, file: f}
	d := newData(in, f.Path, k.load)
	d.kept = k
	return d
}

func (k *keptFile) load(s section) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if m := k.maps[s]; m != nil {
		return m.Bytes(), nil
	}
	path, key, size := k.path(s)
	if path == "" {
		return k.file.Bytes(sectionNames[s])
	}
	if m := index.MapSection(path, key, size); m != nil {
		k.maps[s] = m
		return m.Bytes(), nil
	}
	b, err := k.file.Bytes(sectionNames[s])
	if err == nil {
		index.StoreSection(path, key, b, k.in.cacheLimit())
	}
	return b, err
}

// path is the file in which a section is kept, "" if it is not: what is not compressed, small or very large.
func (k *keptFile) path(s section) (path string, key [index.KeySize]byte, size uint64) {
	b, size := k.file.Stored(sectionNames[s])
	if size == uint64(len(b)) || size < k.in.keptFrom(sectionFrom) || size > sectionTo {
		return "", key, 0
	}
	h := sha256.New()
	k.in.writeIdentity(h)
	writeSample(h, s, b, size)
	h.Sum(key[:0])
	return k.in.cacheFile(key, index.SectionExt), key, size
}

// unpack starts to decompress the sections before end that are not kept.
func (k *keptFile) unpack(end section) {
	var names []string
	for s := range end {
		if path, _, _ := k.path(s); path != "" {
			if _, err := os.Lstat(path); err == nil {
				continue
			}
		}
		names = append(names, sectionNames[s])
	}
	k.file.Unpack(names)
}

func (k *keptFile) close() {
	for _, m := range k.maps {
		if m != nil {
			m.Close()
		}
	}
}

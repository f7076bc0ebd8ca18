package dwarf

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

const (
	// cacheFrom is the size of .debug_info from which on an index is kept: below,
	// making it again is as fast. The C library's 5.5 MB take 0.3 s.
	cacheFrom = 1 << 20
	// Sections of these sizes are kept decompressed: more is not written to a user's cache.
	sectionFrom, sectionTo = 256 << 10, 64 << 20
)

// loadIndex takes the index from its file in the cache, or makes it and keeps it there; without a path it is made. A
// cache that cannot be used is no error: the index is made.
func (in *info) loadIndex(path string, key [index.KeySize]byte) *index.Tables {
	if path != "" {
		if t := index.Load(path, key); t != nil && len(t.Flags) == in.idx.main {
			in.idxRead = true
			return t
		}
	}
	p := buildIndex(in.d, in.idx.units, in.idx.main, in.release)
	b := p.Encode(key)
	for _, f := range p.Flags {
		if f&unitSplit != 0 { // .dwo files change without this file's knowing
			path = ""
		}
	}
	if path != "" {
		index.Store(path, b, in.cacheLimit())
	}
	return index.View(b)
}

func (in *info) release() {
	for _, f := range in.files() {
		f.Release()
	}
}

func (in *info) cacheLimit() int64 {
	if in.opt.cacheLimit > 0 {
		return in.opt.cacheLimit
	}
	return index.Limit
}

// indexKey identifies the input of an index: build-ids, and the sizes and samples of the sections as they are in the file, which differ
// if a tool has rewritten the debug information under the same build-id. (What is compressed ends with a checksum.) Another user can forge a file that
// agrees in all of these. Its index must not be used for this file, so the key includes the users that may have
// written the files.
func (in *info) indexKey() (key [index.KeySize]byte) {
	h := sha256.New()
	in.writeIdentity(h)
	for _, d := range []*data{in.d, in.d.alt} {
		if d == nil {
			continue
		}
		for s := range nSections {
			b, size := d.stored(s)
			writeSample(h, s, b, size)
		}
	}
	if in.alt != nil {
		fmt.Fprintln(h, in.alt.BuildID)
	}
	h.Sum(key[:0])
	return key
}

// writeIdentity and writeSample write the parts of a key.
func (in *info) writeIdentity(h io.Writer) {
	fmt.Fprintln(h, in.file.BuildID)
	for _, f := range in.files() {
		fmt.Fprintln(h, f.Writers)
	}
}

func writeSample(h io.Writer, s section, b []byte, size uint64) {
	fmt.Fprintln(h, s, len(b), size)
	h.Write(b[:min(len(b), 4096)])
	h.Write(b[max(0, len(b)-4096):])
}

// files are the files that an index is made from.
func (in *info) files() (list []*elf.File) {
	for _, f := range []*elf.File{in.file, in.dbg, in.alt} {
		if f != nil {
			list = append(list, f)
		}
	}
	return list
}

// cachePath returns the file of the index, "" if none is kept: for small files, files without a build-id,
// and without a directory of the user's.
func (in *info) cachePath(key [index.KeySize]byte) string {
	if _, size := in.d.stored(secInfo); size < in.keptFrom(cacheFrom) || in.alt != nil && in.alt.BuildID == "" {
		return ""
	}
	return in.cacheFile(key, index.Ext)
}

// keptFrom is from which size on something is kept: tests have another.
func (in *info) keptFrom(usual uint64) uint64 {
	if in.opt.cacheFrom > 0 {
		return uint64(in.opt.cacheFrom)
	}
	return usual
}

// cacheFile is the path of a file in the cache, "" for files without a build-id and without a directory of the user's.
func (in *info) cacheFile(key [index.KeySize]byte, ext string) string {
	dir := in.opt.CacheDir
	if in.opt.NoCache || in.file.BuildID == "" {
		return ""
	}
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(base, "jalon")
	}
	id := in.file.BuildID[:min(len(in.file.BuildID), 64)]
	return filepath.Join(dir, id+"-"+hex.EncodeToString(key[:8])+ext)
}

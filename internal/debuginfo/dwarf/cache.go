package dwarf

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

const (
	// cacheFrom is the size of .debug_info from which on an index is kept: below,
	// making it again is as fast.
	cacheFrom = 8 << 20
	// cacheLimit bounds all kept indexes together; the least recently used go
	// first. The kernel's has 8 MB.
	cacheLimit = 512 << 20
	cacheExt   = ".index"
	tempPrefix = "new-"
)

// loadIndex takes the index from the cache, or makes it and keeps it there. A
// cache that cannot be used is no error: the index is made.
func (m *Module) loadIndex() *indexTables {
	key := m.indexKey()
	path := m.cachePath(key)
	if path != "" {
		if t := loadCache(path, key); t != nil && len(t.flags) == m.idx.main {
			m.idxRead = true
			return t
		}
	}
	p := buildIndex(m.d, m.idx.units, m.idx.main, m.release)
	b := p.encode(key)
	for _, f := range p.flags {
		if f&unitSplit != 0 { // .dwo files change without this file's knowing
			path = ""
		}
	}
	if path != "" {
		storeCache(path, b, m.cacheLimit())
	}
	return viewTables(b)
}

func (m *Module) release() {
	for _, f := range m.files() {
		f.Release()
	}
}

func (m *Module) cacheLimit() int64 {
	if m.opt.cacheLimit > 0 {
		return m.opt.cacheLimit
	}
	return cacheLimit
}

// indexKey identifies what an index was made from: build-ids, and the sizes and
// samples of the sections, which differ where a tool has rewritten the debug
// information under the same build-id. Another user can make a file that agrees in all
// of these and differs in between. Its index must not be taken for this file's, so the key
// has the users who may have written the files.
func (m *Module) indexKey() (key [keySize]byte) {
	h := sha256.New()
	fmt.Fprintln(h, m.file.BuildID)
	for _, f := range m.files() {
		fmt.Fprintln(h, f.Writers)
	}
	for _, d := range []*data{m.d, m.d.alt} {
		if d == nil {
			continue
		}
		for s := range nSections {
			b := d.sec(s)
			fmt.Fprintln(h, s, len(b))
			h.Write(b[:min(len(b), 4096)])
			h.Write(b[max(0, len(b)-4096):])
		}
	}
	if m.alt != nil {
		fmt.Fprintln(h, m.alt.BuildID)
	}
	h.Sum(key[:0])
	return key
}

// files are the files that an index is made from.
func (m *Module) files() (list []*elf.File) {
	for _, f := range []*elf.File{m.file, m.dbg, m.alt} {
		if f != nil {
			list = append(list, f)
		}
	}
	return list
}

// cachePath is the file of the index, "" when none is kept: small files, files
// without a build-id, and where there is no directory of our own.
func (m *Module) cachePath(key [keySize]byte) string {
	from := m.opt.cacheFrom
	if from == 0 {
		from = cacheFrom
	}
	if m.opt.NoCache || m.file.BuildID == "" || len(m.d.sec(secInfo)) < from || m.alt != nil && m.alt.BuildID == "" {
		return ""
	}
	dir := m.opt.CacheDir
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return ""
		}
		dir = filepath.Join(base, "jalon")
	}
	id := m.file.BuildID[:min(len(m.file.BuildID), 64)]
	return filepath.Join(dir, id+"-"+hex.EncodeToString(key[:8])+cacheExt)
}

// ours tells whether a file or directory belongs to the user who runs this and
// nobody else may write to it. What others may write is not read: it could not
// do harm to memory, but it could make probes land elsewhere.
func ours(st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid() && st.Mode().Perm()&0o022 == 0
}

// loadCache reads an index file; nil when it is not there, foreign or damaged.
func loadCache(path string, key [keySize]byte) *indexTables {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || !ours(st) || st.Size() < int64(indexHead) || st.Size() > cacheLimit {
		return nil
	}
	b := make([]byte, st.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil
	}
	t := openTables(b, key)
	if now := time.Now(); t != nil && now.Sub(st.ModTime()) > time.Hour {
		_ = os.Chtimes(path, now, now) // it was used; when this fails it only goes earlier
	}
	return t
}

// storeCache writes an index file as a whole or not at all.
func storeCache(path string, b []byte, limit int64) {
	dir := filepath.Dir(path)
	if int64(len(b)) > limit || !makeDir(dir) {
		return
	}
	f, err := os.CreateTemp(dir, tempPrefix) // mode 0600
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return
	}
	trimCache(dir, filepath.Base(path), limit)
}

// makeDir makes the directory of the cache unless it would be in another user's:
// with sudo, HOME may still be the user's own.
func makeDir(dir string) bool {
	for up := dir; ; up = filepath.Dir(up) {
		st, err := os.Stat(up)
		if os.IsNotExist(err) && up != filepath.Dir(up) {
			continue
		}
		if err != nil || up == dir && !ours(st) || !private(st) {
			return false
		}
		break
	}
	return os.MkdirAll(dir, 0o700) == nil
}

// private tells whether only we and root can replace what we make in a directory.
func private(st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && st.IsDir() && (int(sys.Uid) == os.Geteuid() || sys.Uid == 0) &&
		(st.Mode().Perm()&0o022 == 0 || st.Mode()&os.ModeSticky != 0)
}

// trimCache removes the least recently used indexes beyond the limit, and what
// interrupted writes left behind. keep stays.
func trimCache(dir, keep string, limit int64) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	type kept struct {
		name string
		size int64
		used time.Time
	}
	var all []kept
	total := int64(0)
	for _, e := range list {
		st, err := e.Info()
		if err != nil || !st.Mode().IsRegular() {
			continue
		}
		switch name := e.Name(); {
		case strings.HasPrefix(name, tempPrefix):
			if time.Since(st.ModTime()) > time.Hour {
				_ = os.Remove(filepath.Join(dir, name))
			}
		case strings.HasSuffix(name, cacheExt):
			total += st.Size()
			if name != keep {
				all = append(all, kept{name, st.Size(), st.ModTime()})
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].used.Before(all[j].used) })
	for _, k := range all {
		if total <= limit {
			return
		}
		if os.Remove(filepath.Join(dir, k.name)) == nil {
			total -= k.size
		}
	}
}

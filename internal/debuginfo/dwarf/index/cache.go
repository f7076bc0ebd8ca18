package index

import (
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"syscall"
	"time"
)

const (
	// Limit bounds all kept indexes and sections together; the least recently used go
	// first. The kernel's index has 8 MB.
	Limit      = 512 << 20
	Ext        = ".index"
	TempPrefix = "new-"
)

// ours reports whether a file or directory belongs to the user that runs jalon and no
// other user may write to it. Other files are not read: they could not damage memory,
// but they could move probes to wrong addresses.
func ours(st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && int(sys.Uid) == os.Geteuid() && st.Mode().Perm()&0o022 == 0
}

// Load reads an index file; nil when it is not there, foreign or damaged.
func Load(path string, key [KeySize]byte) *Tables {
	f, st := openOurs(path)
	if f == nil {
		return nil
	}
	defer f.Close()
	if st.Size() < int64(HeadSize) {
		return nil
	}
	b := make([]byte, st.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil
	}
	t := Open(b, key)
	if t != nil {
		used(path, st)
	}
	return t
}

// used notes that a file was used; when this fails it only goes earlier.
func used(path string, st os.FileInfo) {
	if now := time.Now(); now.Sub(st.ModTime()) > time.Hour {
		_ = os.Chtimes(path, now, now)
	}
}

// Store writes an index file as a whole or not at all.
func Store(path string, b []byte, limit int64) { store(path, limit, b) }

func store(path string, limit int64, parts ...[]byte) {
	dir, size := filepath.Dir(path), 0
	for _, b := range parts {
		size += len(b)
	}
	if int64(size) > limit || !makeDir(dir) {
		return
	}
	f, err := os.CreateTemp(dir, TempPrefix) // mode 0600
	if err != nil {
		return
	}
	for _, b := range parts {
		if err == nil {
			_, err = f.Write(b)
		}
	}
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

// private reports whether only we and root can replace what we make in a directory.
func private(st os.FileInfo) bool {
	sys, ok := st.Sys().(*syscall.Stat_t)
	return ok && st.IsDir() && (int(sys.Uid) == os.Geteuid() || sys.Uid == 0) &&
		(st.Mode().Perm()&0o022 == 0 || st.Mode()&os.ModeSticky != 0)
}

// trimCache removes the least recently used files above the limit, and the remains of interrupted writes.
// keep stays.
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
		case strings.HasPrefix(name, TempPrefix):
			if time.Since(st.ModTime()) > time.Hour {
				_ = os.Remove(filepath.Join(dir, name))
			}
		case isKept(name):
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

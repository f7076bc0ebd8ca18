package elf

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/jalon-trace/jalon/internal/openfile"
)

// DebugLink reads .gnu_debuglink: the name and CRC-32 of the separate debug file.
func (f *File) DebugLink() (name string, crc uint32, ok bool) {
	b, err := f.Bytes(".gnu_debuglink")
	if err != nil || len(b) == 0 {
		return "", 0, false
	}
	name = cstring(b)
	at := (len(name) + 4) &^ 3
	if name == "" || at+4 > len(b) {
		return "", 0, false
	}
	return name, binary.LittleEndian.Uint32(b[at:]), true
}

// AltLink reads .gnu_debugaltlink (dwz) or DWARF 5's .debug_sup: the path and
// build-id (hexadecimal) of the supplementary file.
func (f *File) AltLink() (name, buildID string, ok bool) {
	if b, err := f.Bytes(".gnu_debugaltlink"); err == nil && len(b) > 0 {
		name = cstring(b)
		if len(name)+1 <= len(b) {
			return name, hex.EncodeToString(b[len(name)+1:]), name != ""
		}
	}
	// .debug_sup: version (2), is_supplementary (1), name, uleb length, checksum.
	if b, err := f.Bytes(".debug_sup"); err == nil && len(b) > 4 && b[2] == 0 {
		name = cstring(b[3:])
		rest := slice(b, uint64(3+len(name)+1), uint64(len(b)))
		if len(rest) > 0 && int(rest[0]) <= len(rest)-1 && rest[0] < 128 {
			return name, hex.EncodeToString(rest[1 : 1+int(rest[0])]), name != ""
		}
	}
	return "", "", false
}

// Finder says where separate debug files are looked for.
type Finder struct {
	DebugDirs []string // e.g. /usr/lib/debug
	Root      string   // prefix of every absolute path, e.g. /proc/PID/root; may be ""
	// Fetch, if not nil, gets the debug file of a build-id from elsewhere when none of the directories has it, and returns its path;
	// "": it has found none.
	Fetch func(buildID string) (path string)
}

// Find opens f's separate debug file: by build-id, then by debug link, as in GDB. tried describes the files
// that were tried, and why they do not fit.
func (fd Finder) Find(f *File) (dbg *File, tried []string) {
	if f.BuildID != "" {
		for _, path := range append(fd.Paths(f.BuildID), fd.named(f.Path)...) {
			if dbg, tried = fd.try(f, tried, path, f.sameBuild); dbg != nil {
				return dbg, tried
			}
		}
	}
	if dbg, tried = fd.linked(f, tried); dbg != nil || f.BuildID == "" || fd.Fetch == nil {
		return dbg, tried
	}
	if path := fd.Fetch(f.BuildID); path != "" {
		dbg, tried = fd.try(f, tried, path, f.sameBuild)
	}
	return dbg, tried
}

// sameBuild is why g is not of the same build, or "".
func (f *File) sameBuild(g *File) string {
	if g.BuildID != f.BuildID {
		return "its build-id differs"
	}
	return ""
}

// linked opens the file of f's debug link.
func (fd Finder) linked(f *File, tried []string) (*File, []string) {
	name, crc, ok := f.DebugLink()
	if !ok {
		return nil, append(tried, "no .gnu_debuglink section")
	}
	var dbg *File
	for _, p := range fd.linkPaths(f.Path, name) {
		if openfile.Same(p, f.Path) {
			continue
		}
		dbg, tried = fd.try(f, tried, p, func(g *File) string {
			if crc32.ChecksumIEEE(g.data) != crc {
				return "its CRC differs from .gnu_debuglink"
			}
			return ""
		})
		if dbg != nil {
			return dbg, tried
		}
	}
	return nil, tried
}

func (fd Finder) try(f *File, tried []string, path string, reject func(*File) string) (*File, []string) {
	if _, err := openfile.Stat(path); err != nil {
		return nil, append(tried, path+" (not there)")
	}
	g, err := OpenNamed(f, path)
	if err != nil {
		return nil, append(tried, fmt.Sprintf("%s (%v)", path, err))
	}
	why := reject(g)
	if why == "" && !g.HasDWARF() {
		why = "it has no .debug_info"
	}
	if why != "" {
		g.Close()
		return nil, append(tried, path+" ("+why+")")
	}
	return g, append(tried, path)
}

func (fd Finder) buildIDPath(dir, id string) string {
	if len(id) < 4 {
		return filepath.Join(fd.Root, dir, ".build-id", id+".debug")
	}
	return filepath.Join(fd.Root, dir, ".build-id", id[:2], id[2:]+".debug")
}

// Paths lists where the debug file of a build-id may be.
func (fd Finder) Paths(buildID string) (list []string) {
	for _, dir := range fd.DebugDirs {
		list = append(list, fd.buildIDPath(dir, buildID))
	}
	return list
}

// Files lists where a file or its debug file may be that is not at its path: by its build-id, and by its name in the debug directories.
func (fd Finder) Files(path, buildID string) (list []string) {
	list = append(fd.Paths(buildID), fd.named(path)...)
	for _, dir := range fd.DebugDirs {
		list = append(list, filepath.Join(fd.Root, dir, filepath.Base(path)))
	}
	return list
}

// named lists files of the usual name in the debug directories themselves.
func (fd Finder) named(file string) (list []string) {
	for _, dir := range fd.DebugDirs {
		list = append(list, filepath.Join(fd.Root, dir, filepath.Base(file)+".debug"))
	}
	return list
}

// linkPaths lists where a debug link may be: beside the file, in .debug beside
// it, and under each debug directory at the file's own directory.
func (fd Finder) linkPaths(file, name string) []string {
	abs, err := filepath.Abs(file)
	if err != nil {
		abs = file
	}
	dirs := []string{filepath.Dir(abs)}
	if real, err := filepath.EvalSymlinks(abs); err == nil && filepath.Dir(real) != dirs[0] {
		dirs = append(dirs, filepath.Dir(real))
	}
	var out []string
	for _, d := range dirs {
		out = append(out, filepath.Join(d, name), filepath.Join(d, ".debug", name))
		inner := d
		if fd.Root != "" {
			if rel, err := filepath.Rel(fd.Root, d); err == nil && filepath.IsLocal(rel) {
				inner = "/" + rel
			}
		}
		for _, g := range fd.DebugDirs {
			out = append(out, filepath.Join(fd.Root, g, inner, name))
		}
	}
	return out
}

// FindAlt opens the supplementary file that f (a debug file) refers to.
func (fd Finder) FindAlt(f *File) (alt *File, tried []string) {
	name, id, ok := f.AltLink()
	if !ok {
		return nil, nil
	}
	reject := func(g *File) string {
		if id != "" && g.BuildID != id {
			return "its build-id differs from the link's"
		}
		return ""
	}
	var paths []string
	if filepath.IsAbs(name) {
		paths = append(paths, filepath.Join(fd.Root, name))
	} else {
		paths = append(paths, filepath.Join(filepath.Dir(f.Path), name))
		if real, err := filepath.EvalSymlinks(f.Path); err == nil {
			paths = append(paths, filepath.Join(filepath.Dir(real), name))
		}
		for _, d := range fd.DebugDirs {
			paths = append(paths, filepath.Join(fd.Root, d, name), filepath.Join(fd.Root, d, ".dwz", filepath.Base(name)))
		}
	}
	if id != "" {
		paths = append(paths, fd.Paths(id)...)
	}
	for _, p := range paths {
		if alt, tried = fd.try(f, tried, p, reject); alt != nil {
			return alt, tried
		}
	}
	return nil, tried
}

// Sum is the SHA-256 hash of the file, in hexadecimal.
func (f *File) Sum() (sum string, err error) {
	defer guard(f.Path, &err)()
	b := sha256.Sum256(f.data)
	return hex.EncodeToString(b[:]), nil
}

// Equal reports whether two files have the same content (used by tests and to recognise a copied library).
func (f *File) Equal(g *File) bool { return bytes.Equal(f.data, g.data) }

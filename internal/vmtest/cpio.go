package vmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// archive writes a cpio archive of the "newc" format, which is what the kernel
// unpacks as its first file system (Documentation/driver-api/early-userspace/
// buffer-format.rst). Directories are made as they are needed.
type archive struct {
	buf  bytes.Buffer
	dirs map[string]bool
	ino  int
}

// add writes one entry; name is absolute.
func (a *archive) add(name string, mode uint32, data []byte) {
	name = path.Clean(name)
	if dir := path.Dir(name); dir != "/" && !a.dirs[dir] {
		a.mkdir(dir)
	}
	a.entry(strings.TrimPrefix(name, "/"), mode, data)
}

func (a *archive) mkdir(name string) {
	if a.dirs == nil {
		a.dirs = map[string]bool{}
	}
	if name = path.Clean(name); a.dirs[name] || name == "/" {
		return
	}
	a.mkdir(path.Dir(name))
	a.dirs[name] = true
	a.entry(strings.TrimPrefix(name, "/"), 0o040755, nil)
}

func (a *archive) entry(name string, mode uint32, data []byte) {
	a.ino++
	fmt.Fprintf(&a.buf, "070701")
	for _, field := range []int{
		a.ino, int(mode), 0, 0, 1, 0, len(data), // ino mode uid gid nlink mtime filesize
		0, 0, 0, 0, len(name) + 1, 0, // dev and rdev, major and minor; namesize; check
	} {
		fmt.Fprintf(&a.buf, "%08X", field)
	}
	a.buf.WriteString(name + "\x00")
	a.pad()
	a.buf.Write(data)
	a.pad()
}

func (a *archive) pad() {
	for a.buf.Len()%4 != 0 {
		a.buf.WriteByte(0)
	}
}

// bytes ends the archive.
func (a *archive) bytes() []byte {
	a.entry("TRAILER!!!", 0, nil)
	return a.buf.Bytes()
}

// Paths in the guest.
const (
	initPath = "/init"
	planPath = "/vmtest.json"
)

// plan is what init has to do; it lies in the guest at planPath.
type plan struct {
	Args []string // of the test binary
	Env  []string
}

// initramfs makes the guest's first and only file system.
func initramfs(cfg Config) ([]byte, error) {
	self, err := testBinary()
	if err != nil {
		return nil, err
	}
	var a archive
	a.add(initPath, 0o100755, self)
	for _, dir := range []string{"/bin", "/dev", "/etc", "/proc", "/root", "/run", "/sys", "/tmp"} {
		a.mkdir(dir)
	}
	what, err := json.Marshal(plan{Args: testArgs(cfg), Env: cfg.Env})
	if err != nil {
		return nil, err
	}
	a.add(planPath, 0o100644, what)
	a.add("/etc/passwd", 0o100644, []byte("root:x:0:0:root:/root:/bin/sh\n"))
	var names []string
	for name := range cfg.Files {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		if err := a.addFile(name, cfg.Files[name]); err != nil {
			return nil, fmt.Errorf("the guest's file %s: %w", name, err)
		}
	}
	return a.bytes(), nil
}

// addFile adds one file of a Config, or the tree below it.
func (a *archive) addFile(name string, f File) error {
	if !path.IsAbs(name) {
		return fmt.Errorf("the path is not absolute")
	}
	if f.Host == "" {
		a.add(name, 0o100000|orMode(f.Mode, 0o644), f.Data)
		return nil
	}
	return filepath.WalkDir(f.Host, func(host string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(f.Host, host)
		if err != nil {
			return err
		}
		info, err := os.Stat(host)
		if err != nil {
			return err
		}
		guest := path.Join(name, filepath.ToSlash(rel))
		if info.IsDir() {
			a.mkdir(guest)
			return nil
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", host)
		}
		data, err := os.ReadFile(host)
		if err != nil {
			return err
		}
		a.add(guest, 0o100000|orMode(f.Mode, info.Mode()), data)
		return nil
	})
}

func orMode(mode, other fs.FileMode) uint32 {
	if mode == 0 {
		mode = other
	}
	return uint32(mode.Perm())
}

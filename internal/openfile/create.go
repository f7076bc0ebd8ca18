package openfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrForeign is the cause of Create's error if another user has placed a file or link there.
var ErrForeign = errors.New("a file of another user is there, and other users can write to the directory; use a directory of your own")

// maxLinks limits the symbolic links that Create follows.
const maxLinks = 16

// Create opens a file for writing like os.Create, with mode 0600 if it is new. Another user cannot redirect it:
// Create follows a symbolic link or uses an existing file only if it belongs to this user or root, or is in a
// directory that no other user can write to.
//
//  1. The directory is opened; what follows is relative to that descriptor.
//  2. A name that is free is created by O_EXCL, which follows no link.
//  3. An existing file is resolved to a handle, without opening it, and examined. If it is a link, its
//     target is created in the same way.
//  4. Anything else is opened through the handle, so that it is what was examined.
//
// Descriptors of this process (/dev/stdout, /dev/fd/N, /proc/self/fd/N) are opened as
// they are.
func Create(path string) (*os.File, error) {
	h, err := Hold(path)
	if err != nil {
		return nil, err
	}
	if err := h.empty(); err != nil {
		_ = h.f.Close()
		return nil, &fs.PathError{Op: "create", Path: path, Err: err}
	}
	return h.f, nil
}

func create(path string, links int) (*os.File, error) {
	if own(path) {
		return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	}
	if links == 0 {
		return nil, unix.ELOOP
	}
	base := filepath.Base(path)
	if base == "." || base == ".." || base == "/" || strings.HasSuffix(path, "/") {
		return nil, unix.EISDIR
	}
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := retry(func() (int, error) {
		return unix.Openat(dir, base, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	})
	if err == nil {
		return os.NewFile(uintptr(fd), path), nil
	}
	if !errors.Is(err, unix.EEXIST) {
		return nil, err
	}
	h, err := retry(func() (int, error) {
		return unix.Openat(dir, base, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	defer unix.Close(h)
	return replace(dir, h, path, links)
}

// replace opens the existing file at path: h is its handle, dir its open directory.
func replace(dir, h int, path string, links int) (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Fstat(h, &st); err != nil {
		return nil, err
	}
	if err := trusted(dir, &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		to, err := readlink(h)
		if err != nil {
			return nil, err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		return create(to, links-1)
	}
	fd, err := retry(func() (int, error) {
		return unix.Open("/proc/self/fd/"+strconv.Itoa(h), unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func readlink(h int) (string, error) {
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(h, "", b)
	return string(b[:max(n, 0)]), err
}

// trusted reports whether no other user can have placed a file with this status in dir.
func trusted(dir int, st *unix.Stat_t) error {
	var d unix.Stat_t
	if err := unix.Fstat(dir, &d); err != nil {
		return err
	}
	us := uint32(os.Geteuid())
	mine := func(uid uint32) bool { return uid == us || uid == 0 }
	if mine(st.Uid) || mine(d.Uid) && d.Mode&(unix.S_IWGRP|unix.S_IWOTH) == 0 {
		return nil
	}
	return ErrForeign
}

// own reports a path that names a descriptor of this process.
func own(path string) bool {
	switch path {
	case "/dev/stdout", "/dev/stderr":
		return true
	}
	return strings.HasPrefix(path, "/dev/fd/") || strings.HasPrefix(path, "/proc/self/fd/")
}

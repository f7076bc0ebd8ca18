package runner

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// cgroups is where cgroup2 is mounted.
const cgroups = "/sys/fs/cgroup"

// maxCgroups bounds the directories that are looked through.
const maxCgroups = 100_000

// cgroupPath is the path of a cgroup: its number is the inode of its directory.
func cgroupPath(id uint64) string {
	found, n := "", 0
	_ = filepath.WalkDir(cgroups, func(path string, d fs.DirEntry, err error) error {
		if n++; n > maxCgroups {
			return filepath.SkipAll
		}
		if err != nil || !d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Ino == id {
			found = "unified:/" + strings.TrimPrefix(strings.TrimPrefix(path, cgroups), "/")
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

package runner

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxCgroups bounds the directories that are looked through.
const maxCgroups = 100_000

// rootCgroup is the number of the first cgroup.
const rootCgroup = 1

// CgroupPath is the path of a cgroup (v2), with the name that bpftrace gives the hierarchy; "" if there is none of this
// number. The number is the inode of its directory.
func CgroupPath(id uint64) string {
	if id == rootCgroup {
		return "unified:/"
	}
	root, found, n := cgroupRoot(), "", 0
	if root == "" {
		return ""
	}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
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
			found = "unified:/" + strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
			return filepath.SkipAll
		}
		return nil
	})
	return found
}

// cgroupRoot is where cgroup2 is mounted; "" if it is not.
func cgroupRoot() string {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) { // DEVICE PATH TYPE ...
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			return f[1]
		}
	}
	return ""
}

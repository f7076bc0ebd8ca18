package procdir

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Mapping is one line of /proc/PID/maps.
type Mapping struct {
	Start, End uint64
	Prot       int // PROT_READ | PROT_WRITE | PROT_EXEC
	Shared     bool
	Offset     uint64 // in the file, bytes
	Dev        string // major:minor, hexadecimal
	Inode      uint64
	Path       string // as the kernel shows it, without " (deleted)"; "[heap]", "[vdso]", ...; "" when anonymous
	Deleted    bool
}

// Change is a change of the code of a process: it begins as a copy of Parent, executes another program, or maps code.
type Change struct {
	Time   uint64 // CLOCK_MONOTONIC, ns
	Pid    int
	Parent int // 0: Pid is not new
	Exec   bool
	Map    Mapping // Start == End: none
}

// Contains reports whether an address lies in the mapping.
func (m *Mapping) Contains(addr uint64) bool { return m.Start <= addr && addr < m.End }

// GrowRoom is the room below a mapping that MayGrow: the limit of a stack is 8 MiB by default, and the kernel keeps a guard gap of 1 MiB.
const GrowRoom = 16 << 20

// MayGrow reports whether the mapping may be a stack that grows down: any private anonymous memory may (MAP_GROWSDOWN), which maps does
// not show.
func (m *Mapping) MayGrow() bool { return m.Path == "" && !m.Shared && m.Prot&unix.PROT_WRITE != 0 }

// IsFile reports whether the mapping is of the file with this device and inode, as returned by stat(2).
// overlayfs and btrfs show other numbers in maps.
func (m *Mapping) IsFile(dev, ino uint64) bool {
	return m.Inode == ino && m.Dev == Dev(unix.Major(dev), unix.Minor(dev))
}

// Dev is a device as maps shows it.
func Dev(major, minor uint32) string { return fmt.Sprintf("%02x:%02x", major, minor) }

// Maps lists the mappings of a process without stopping it. It returns an error if the process has no
// memory.
func Maps(pid int) ([]Mapping, error) {
	b, err := file(pid, "maps")
	if err != nil {
		return nil, err
	}
	return ParseMaps(string(b))
}

// ParseMaps parses "start-end perms offset dev inode path" lines. In paths a newline is written \012.
func ParseMaps(text string) ([]Mapping, error) {
	var out []Mapping
	for _, line := range strings.Split(text, "\n") {
		if line == "" {
			continue
		}
		m, ok := ParseMapsLine(line)
		if !ok {
			return nil, fmt.Errorf("cannot parse a line of /proc/PID/maps: %q", line)
		}
		out = append(out, m)
	}
	return out, nil
}

func ParseMapsLine(line string) (m Mapping, ok bool) {
	var f [5]string
	rest := line
	for i := range f {
		f[i], rest, _ = strings.Cut(rest, " ")
		if f[i] == "" {
			return m, false
		}
	}
	lo, hi, found := strings.Cut(f[0], "-")
	if !found || len(f[1]) != 4 {
		return m, false
	}
	var errs [4]error
	m.Start, errs[0] = strconv.ParseUint(lo, 16, 64)
	m.End, errs[1] = strconv.ParseUint(hi, 16, 64)
	m.Offset, errs[2] = strconv.ParseUint(f[2], 16, 64)
	m.Inode, errs[3] = strconv.ParseUint(f[4], 10, 64)
	for _, err := range errs {
		if err != nil {
			return m, false
		}
	}
	for i, bit := range []struct {
		c    byte
		prot int
	}{{'r', unix.PROT_READ}, {'w', unix.PROT_WRITE}, {'x', unix.PROT_EXEC}} {
		if f[1][i] == bit.c {
			m.Prot |= bit.prot
		}
	}
	m.Shared, m.Dev = f[1][3] == 's', f[3]
	m.Path = strings.ReplaceAll(strings.TrimLeft(rest, " "), `\012`, "\n")
	if m.Inode != 0 {
		m.Path, m.Deleted = strings.CutSuffix(m.Path, " (deleted)")
	}
	return m, m.Start < m.End
}

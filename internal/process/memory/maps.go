package memory

import (
	"sort"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// Mapping is one line of /proc/PID/maps.
type Mapping = procdir.Mapping

// ReadMaps lists the memory of a process, by address.
func ReadMaps(pid int) ([]Mapping, error) { return procdir.Maps(pid) }

// ReadableAround returns the range that can be read without a gap, starting with the mapping that has addr;
// empty if there is none.
func ReadableAround(maps []Mapping, addr uint64) (lo, hi uint64) {
	i := sort.Search(len(maps), func(i int) bool { return maps[i].End > addr })
	if i == len(maps) || maps[i].Start > addr {
		return 0, 0
	}
	lo, hi = maps[i].Start, maps[i].End
	for i++; i < len(maps) && maps[i].Start == hi && maps[i].Prot&unix.PROT_READ != 0; i++ {
		hi = maps[i].End
	}
	return lo, hi
}

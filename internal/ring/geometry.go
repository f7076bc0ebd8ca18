package ring

import (
	"fmt"
	"math/bits"
	"os"
	"strconv"
	"strings"
)

// Geometry determines the size of the shared memory and all offsets in it: jalon and the traced process need
// only these three numbers.
//
// In the file (memfd):
//
//	0                      control page
//	PageSize               counters, CounterStride bytes a ring
//	behind them            switches, a byte a site
//	behind them            the table of stacks
//	mapsOffset             tables of maps (package maps), MapBytes
//	ringsFile              rings, PageSize+RingSize bytes each: header page, data
//
// In memory, from one base address on (Maps): the same, but that each ring's
// data is mapped a second time behind itself and rings are RingStride apart,
// the space between them being reserved and inaccessible.
type Geometry struct {
	CPUs     int // possible CPUs of the machine
	RingSize int // bytes of data of one ring: a power of two, at least PageSize
	Sites    int // sites that have counters
	// MapBytes is the size of the memory for tables of maps, a multiple of PageSize.
	MapBytes int
	// Restartable: writers whose thread has a registered rseq area use restartable sequences. The first half of the
	// rings and counters is theirs, the second half that of all other writers: one a CPU each.
	Restartable bool
	// Overwrite: the oldest sub-buffers are overwritten, and the reader takes snapshots (overwrite.go).
	Overwrite bool
	// Wait: writers that find a ring full wait for room while the reader allows it (WaitUntil).
	Wait bool
}

// The limits of a Geometry. maxSites keeps a CPU's counters below 64 MiB.
const (
	maxCPUs     = 8192
	maxRingSize = 1 << 30
	maxSites    = 1 << 21
	maxMapBytes = 1 << 30
)

// NewGeometry rounds the ring size up to a power of two of at least one page
// and checks the limits.
func NewGeometry(cpus, ringSize, sites int) (Geometry, error) {
	if ringSize > 0 && ringSize <= maxRingSize {
		ringSize = int(ceilPow2(uint64(max(ringSize, PageSize))))
	}
	g := Geometry{CPUs: cpus, RingSize: ringSize, Sites: sites}
	return g, g.check()
}

func (g Geometry) check() error {
	switch {
	case g.CPUs < 1 || g.CPUs > maxCPUs:
		return fmt.Errorf("ring: %d CPUs: must be 1 to %d", g.CPUs, maxCPUs)
	case g.RingSize < PageSize || g.RingSize > maxRingSize || g.RingSize&(g.RingSize-1) != 0:
		return fmt.Errorf("ring: buffer of %d bytes: must be a power of two from %d to %d", g.RingSize, PageSize, maxRingSize)
	case g.Overwrite && g.RingSize > MaxOverwrite:
		return fmt.Errorf("ring: buffer of %d bytes: one that is overwritten can have %d", g.RingSize, MaxOverwrite)
	case g.MapBytes < 0 || g.MapBytes > maxMapBytes || g.MapBytes%PageSize != 0:
		return fmt.Errorf("ring: %d bytes for maps: must be whole pages, at most %d bytes", g.MapBytes, maxMapBytes)
	case g.Sites < 1 || g.Sites > maxSites:
		return fmt.Errorf("ring: %d sites: must be 1 to %d", g.Sites, maxSites)
	}
	return nil
}

func ceilPow2(n uint64) uint64 {
	if n <= 1 {
		return 1
	}
	return 1 << bits.Len64(n-1)
}

// cpuRings is the number of rings that CPUs have of their own: CPUs rounded up to a power of two, so that a CPU
// number under a mask always names a ring.
func (g Geometry) cpuRings() int { return int(ceilPow2(uint64(g.CPUs))) }

// Rings is the number of rings.
func (g Geometry) Rings() int {
	if g.Restartable {
		return 2 * g.cpuRings()
	}
	return g.cpuRings()
}

func (g Geometry) sites() int    { return g.Sites }
func (g Geometry) size() uint64  { return uint64(g.RingSize) }
func (g Geometry) spare() uint64 { return 0 }

// CounterStride is the distance between two CPUs' counters, in the file and in memory.
func (g Geometry) CounterStride() uint64 {
	return ceilPow2(max(PageSize, uint64(g.Sites)*CountersPerSite*8))
}

// CounterOffset is the offset of a counter, in the file and in memory.
func (g Geometry) CounterOffset(cpu int, site uint32, counter int) uint64 {
	return g.countersOffset() + uint64(cpu)*g.CounterStride() + uint64(counter)*g.counterStep() + uint64(site)*8
}

// counterStep is the distance between two counters of a site.
func (g Geometry) counterStep() uint64 { return uint64(g.Sites) * 8 }

// countersOffset is where the first counters start, in the file and in memory.
func (g Geometry) countersOffset() uint64 {
	if g.Restartable {
		return PageSize + RegisteredSize
	}
	return PageSize
}

// registered is the offset of the table of thread pointers, 0 if there is none.
func (g Geometry) registered() uint64 {
	if g.Restartable {
		return PageSize
	}
	return 0
}

// switches is where the first switch is, in the file and in memory.
func (g Geometry) switches() uint64 { return g.countersOffset() + uint64(g.Rings())*g.CounterStride() }

// switchBytes is the room that the switches of this many sites take, in whole pages.
func switchBytes(sites int) uint64 { return (uint64(sites) + PageSize - 1) &^ (PageSize - 1) }

// stacks is where the table of stacks is, in the file and in memory.
func (g Geometry) stacks() uint64 { return g.switches() + switchBytes(g.Sites) }

// MapsOffset is where the memory for maps starts, in the file and in memory.
func (g Geometry) MapsOffset() uint64 { return g.stacks() + StacksSize }

// ringsOffset is where the first ring starts, in the file and in memory.
func (g Geometry) ringsOffset() uint64 { return g.MapsOffset() + uint64(g.MapBytes) }

// RingStride is the distance between two rings in memory.
func (g Geometry) RingStride() uint64 { return ceilPow2(PageSize + 2*uint64(g.RingSize)) }

// RingOffset is the offset of a ring's header page in memory.
func (g Geometry) RingOffset(cpu int) uint64 { return g.ringsOffset() + uint64(cpu)*g.RingStride() }

// RingFileOffset is the offset of a ring's header page in the file.
func (g Geometry) RingFileOffset(cpu int) uint64 {
	return g.ringsOffset() + uint64(cpu)*(PageSize+uint64(g.RingSize))
}

// FileSize is the size of the file in bytes. It is sparse: rings of CPUs that
// never run the program cost nothing.
func (g Geometry) FileSize() uint64 { return g.RingFileOffset(g.Rings()) }

// MemSize is the number of bytes of address space that Maps fills.
func (g Geometry) MemSize() uint64 { return g.RingOffset(g.Rings()) }

// Mapping is one range of the file and where it goes, counted from the base of
// a reserved (PROT_NONE) range of MemSize bytes: MAP_SHARED|MAP_FIXED, read and write.
type Mapping struct {
	Mem  uint64 // offset from the base
	File uint64 // offset in the file
	Len  uint64
}

// Maps lists the mappings to make. The first has the control page, the counters and the maps.
func (g Geometry) Maps() []Mapping {
	size := uint64(g.RingSize)
	maps := []Mapping{{0, 0, g.ringsOffset()}}
	for cpu := range g.Rings() {
		mem, file := g.RingOffset(cpu), g.RingFileOffset(cpu)
		maps = append(maps,
			Mapping{mem, file, RingData + size},
			Mapping{mem + RingData + size, file + RingData, size})
	}
	return maps
}

// Layout returns the addresses for a site's code if the shared memory is mapped at base in the traced process.
// The caller sets the features of the machine (RseqCPU, RDPID, FSGSBASE).
func (g Geometry) Layout(base uint64, site uint32) Layout {
	l := Layout{
		Control:       base,
		Counters:      base + g.CounterOffset(0, site, 0),
		CounterStride: g.CounterStride(),
		CounterStep:   g.counterStep(),
		Rings:         base + g.RingOffset(0),
		RingStride:    g.RingStride(),
		RingSize:      uint64(g.RingSize),
		Variables:     base + ControlVariables,
		VariableCount: MaxVariables,
		Stacks:        base + g.stacks(),
		Switch:        base + g.switches() + uint64(site),
		SiteID:        site,
		Overwrite:     g.Overwrite,
		Wait:          g.Wait,
		CPUMask:       uint32(g.cpuRings() - 1),
	}
	if g.Restartable {
		l.Registered = base + g.registered()
		l.LockedCounters = base + g.CounterOffset(g.cpuRings(), site, 0)
		l.LockedRings = base + g.RingOffset(g.cpuRings())
	}
	return l
}

func (g Geometry) overwrite() bool { return g.Overwrite }

func (g Geometry) variables() uint64 { return ControlVariables }

// PossibleCPUs returns the maximum number of CPUs that the kernel may ever have. If its list cannot be read,
// the error is an *fs.PathError.
func PossibleCPUs() (int, error) {
	b, err := os.ReadFile("/sys/devices/system/cpu/possible")
	if err != nil {
		return 0, err
	}
	return ParsePossible(string(b))
}

// ParsePossible parses /sys/devices/system/cpu/possible ("0-3,8") and returns the highest number plus one.
func ParsePossible(list string) (int, error) {
	n := 0
	for _, part := range strings.Split(strings.TrimSpace(list), ",") {
		if i := strings.IndexByte(part, '-'); i >= 0 {
			part = part[i+1:]
		}
		last, err := strconv.Atoi(part)
		if err != nil || last < 0 || last >= maxCPUs {
			return 0, fmt.Errorf("cannot parse the list of CPUs %q", list)
		}
		n = max(n, last+1)
	}
	return n, nil
}

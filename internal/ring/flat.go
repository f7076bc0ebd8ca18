package ring

import "fmt"

// Flat is the shape of the memory that eBPF programs write to: the one value of an
// array map, where nothing can be mapped twice. So each ring's data has Slack
// bytes behind it; a record that begins before the end of the data goes on there.
//
//	0                         counters, CounterStride bytes a ring; with Overwrite behind them a word a site (Layout.Given)
//	Rings() * CounterStride   rings, RingStride bytes each: header page, data, slack
//	behind them               a page of variables, switches (a byte a site)
type Flat struct {
	CPUs     int
	RingSize int // bytes of data of one ring: a power of two, at least PageSize
	Slack    int // at least the largest record
	Sites    int // sites that have counters
	// Overwrite: as in Geometry.
	Overwrite bool
}

// MaxFlat bounds the memory: the verifier accepts offsets below 512 MiB in a map's
// value (BPF_MAX_VAR_OFF).
const MaxFlat = 1<<29 - 1<<20

// NewFlat rounds up like NewGeometry, and halves the ring size until everything fits into limit bytes, at most
// MaxFlat. The sub-buffers of rings that are overwritten have room for the largest record.
func NewFlat(cpus, ringSize, maxRecord, sites int, overwrite bool, limit uint64) (Flat, error) {
	g, err := NewGeometry(cpus, ringSize, sites)
	if err != nil {
		return Flat{}, err
	}
	maxRecord = max(maxRecord, RecHeader)
	slack := (int(LargestEvent(uint64(maxRecord))) + PageSize - 1) / PageSize * PageSize
	f := Flat{CPUs: g.CPUs, RingSize: g.RingSize, Slack: max(slack, PageSize), Sites: sites, Overwrite: overwrite}
	limit = min(limit, MaxFlat)
	least := PageSize
	for f.largest(uint64(least)) < LargestEvent(uint64(maxRecord)) {
		least *= 2
	}
	f.RingSize = max(f.RingSize, least)
	for f.Size() > limit {
		if f.RingSize /= 2; f.RingSize < least {
			return Flat{}, fmt.Errorf("ring: buffers of %d CPUs and %d sites with records of %d bytes do not fit into %d MiB", cpus, sites, maxRecord, limit>>20)
		}
	}
	return f, nil
}

// largest is how much room an event can have in a ring of this size.
func (f Flat) largest(ring uint64) uint64 {
	if f.Overwrite {
		return SubSize(ring)
	}
	return ring - SubSize(ring)
}

// Fill gives counters to as many sites as there is room for in the pages of those that have
// some: it takes no more memory.
func (f *Flat) Fill() { f.Sites = int(f.CounterStride() / (8 * f.siteWords())) }

// siteWords is how many words a site has on each CPU.
func (f Flat) siteWords() uint64 {
	if f.Overwrite { // CounterRecorded is used: Given is a word of its own
		return CountersPerSite + 1
	}
	return CountersPerSite
}

// given is the offset of CPU 0's word of a site that its programs leave for each other.
func (f Flat) given(site uint32) uint64 {
	if f.Overwrite {
		return 8 * (CountersPerSite*uint64(f.Sites) + uint64(site))
	}
	return f.CounterOffset(0, site, CounterRecorded)
}

func (f Flat) sites() int    { return f.Sites }
func (f Flat) size() uint64  { return uint64(f.RingSize) }
func (f Flat) spare() uint64 { return uint64(f.Slack) }

// Rings is the number of rings: CPUs rounded up to a power of two.
func (f Flat) Rings() int { return int(ceilPow2(uint64(f.CPUs))) }

// CounterStride is the distance between two CPUs' counters.
func (f Flat) CounterStride() uint64 {
	return ceilPow2(max(PageSize, uint64(f.Sites)*f.siteWords()*8))
}

// CounterOffset is the offset of a counter.
func (f Flat) CounterOffset(cpu int, site uint32, counter int) uint64 {
	return uint64(cpu)*f.CounterStride() + (uint64(site)*CountersPerSite+uint64(counter))*8
}

// RingStride is the distance between two rings.
func (f Flat) RingStride() uint64 { return PageSize + uint64(f.RingSize) + uint64(f.Slack) }

// RingOffset is the offset of a ring's header page.
func (f Flat) RingOffset(cpu int) uint64 {
	return uint64(f.Rings())*f.CounterStride() + uint64(cpu)*f.RingStride()
}

func (f Flat) registered() uint64 { return 0 } // eBPF programs use atomic operations
func (f Flat) stacks() uint64     { return 0 }
func (f Flat) switches() uint64   { return f.variables() + PageSize }

func (f Flat) overwrite() bool { return f.Overwrite }

func (f Flat) cpuRings() int { return f.Rings() }

func (f Flat) variables() uint64 { return f.RingOffset(f.Rings()) }

// Size is the size of the memory in bytes, a multiple of PageSize.
func (f Flat) Size() uint64 { return f.switches() + switchBytes(f.Sites) }

// Layout gives the code generator offsets from the start of the memory instead of addresses.
func (f Flat) Layout(site uint32) Layout {
	return Layout{
		Counters:      f.CounterOffset(0, site, 0),
		Recorded:      f.CounterOffset(0, site, CounterRecorded),
		Given:         f.given(site),
		CounterStride: f.CounterStride(),
		CounterStep:   8,
		Rings:         f.RingOffset(0),
		RingStride:    f.RingStride(),
		RingSize:      uint64(f.RingSize),
		Variables:     f.variables(),
		VariableCount: MaxVariables,
		Switch:        f.switches() + uint64(site),
		SiteID:        site,
		Overwrite:     f.Overwrite,
		CPUMask:       uint32(f.Rings() - 1),
	}
}

// Wrap makes a Shared of memory that is already mapped. The caller unmaps it.
func (f Flat) Wrap(mem []byte) (*Shared, error) {
	if uint64(len(mem)) < f.Size() {
		return nil, fmt.Errorf("ring: the memory has %d bytes and needs %d", len(mem), f.Size())
	}
	s := &Shared{g: f, mem: mem, foreign: true}
	s.initialise()
	return s, nil
}

package ring

import (
	"fmt"
	"iter"
	"math"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Shared is the shared memory as jalon sees it.
type Shared struct {
	g       shape
	mem     []byte
	foreign bool // mem is unmapped by the code that mapped it
}

// shape has the offsets in the memory: a Geometry or a Flat.
type shape interface {
	Rings() int
	cpuRings() int
	sites() int
	size() uint64  // of a ring's data
	spare() uint64 // bytes after a ring's data where a record may continue; 0 if the data is mirrored there
	RingOffset(cpu int) uint64
	CounterOffset(cpu int, site uint32, counter int) uint64
	variables() uint64  // offset of the first variable
	registered() uint64 // offset of the table of thread pointers; 0: there is none
	overwrite() bool    // the oldest sub-buffers are overwritten
	switches() uint64   // offset of the first switch
	stacks() uint64     // offset of the table of stacks; 0: there is none
}

// Prepare sets the size of the memfd (made with MFD_ALLOW_SEALING) and seals it, so a traced program cannot
// shrink the file and make jalon fault. It fails if the seal is refused.
func Prepare(fd int, g Geometry) error {
	if err := g.check(); err != nil {
		return err
	}
	if err := unix.Ftruncate(fd, int64(g.FileSize())); err != nil {
		return fmt.Errorf("setting the size of the shared memory to %d bytes: %w", g.FileSize(), err)
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals); err != nil {
		return fmt.Errorf("sealing the shared memory: %w", err)
	}
	// Check the size only now: before the seal the program could change it.
	return checkSize(fd, g)
}

// checkSize returns an error if the file is shorter than g requires.
func checkSize(fd int, g Geometry) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("reading the size of the shared memory: %w", err)
	}
	if st.Size < 0 || uint64(st.Size) < g.FileSize() {
		return fmt.Errorf("the shared memory has %d bytes and needs %d", st.Size, g.FileSize())
	}
	return nil
}

// Map maps the file in jalon, including the mirrored rings. The descriptor may be closed afterwards.
func Map(fd int, g Geometry) (*Shared, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	if err := checkSize(fd, g); err != nil {
		return nil, err
	}
	size := uintptr(g.MemSize())
	base, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_NONE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserving %d bytes of address space for the buffers: %w", size, err)
	}
	for _, m := range g.Maps() {
		_, err := unix.MmapPtr(fd, int64(m.File), unsafe.Add(base, m.Mem), uintptr(m.Len),
			unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED)
		if err != nil {
			_ = unix.MunmapPtr(base, size)
			return nil, fmt.Errorf("mapping the buffers (vm.max_map_count limits the number of mappings, RLIMIT_AS their size): %w", err)
		}
	}
	s := &Shared{g: g, mem: unsafe.Slice((*byte)(base), size)}
	s.initialise()
	return s, nil
}

// Close unmaps the memory. Readers and Deadman's pointer must not be used afterwards.
func (s *Shared) Close() error {
	if s.mem == nil || s.foreign {
		s.mem = nil
		return nil
	}
	err := unix.MunmapPtr(unsafe.Pointer(&s.mem[0]), uintptr(len(s.mem)))
	s.mem = nil
	if err != nil {
		return fmt.Errorf("unmapping the buffers: %w", err)
	}
	return nil
}

// Populate makes n bytes from an offset on present in jalon's mapping, which creates the pages (Linux 5.14).
func (s *Shared) Populate(off, n uint64) error {
	return unix.Madvise(s.mem[off:off+n], unix.MADV_POPULATE_WRITE)
}

// Bytes are n bytes from an offset on.
func (s *Shared) Bytes(off, n uint64) []byte { return s.mem[off : off+n : off+n] }

// Rings is the number of rings, Sites the number of sites with counters, RingSize the bytes of data of a ring.
func (s *Shared) Rings() int    { return s.g.Rings() }
func (s *Shared) Sites() int    { return s.g.sites() }
func (s *Shared) RingSize() int { return int(s.g.size()) }

// Overwrites reports whether the rings are overwritten.
func (s *Shared) Overwrites() bool { return s.g.overwrite() }

// CPU is the CPU that the records of a ring are from.
func (s *Shared) CPU(ring int) int { return ring % s.g.cpuRings() }

func (s *Shared) word(off uint64) *uint64 { return (*uint64)(unsafe.Pointer(&s.mem[off])) }

// Deadman returns the futex word of the dead man's switch.
func (s *Shared) Deadman() *uint32 {
	return (*uint32)(unsafe.Pointer(&s.mem[ControlDeadman]))
}

// Counter returns the sum of a site's counter over all CPUs, or 0 for a site without counters.
func (s *Shared) Counter(site uint32, counter int) uint64 {
	sum, _ := s.Counters(site, counter)
	return sum
}

// Counters is Counter and also returns the largest value of one CPU.
func (s *Shared) Counters(site uint32, counter int) (sum, largest uint64) {
	if uint64(site) >= uint64(s.g.sites()) || counter < 0 || counter >= CountersPerSite {
		return 0, 0
	}
	for cpu := range s.g.Rings() {
		n := atomic.LoadUint64(s.word(s.g.CounterOffset(cpu, site, counter)))
		sum, largest = sum+n, max(largest, n)
	}
	return sum, largest
}

// Count adds 1 to a counter of a site, on behalf of a hit program that could not run. It counts with lock, so not in a cell of
// restartable sequences.
func (s *Shared) Count(site uint32, counter int) (err error) {
	defer s.Guard(&err)()
	if uint64(site) < uint64(s.g.sites()) && counter >= 0 && counter < CountersPerSite {
		atomic.AddUint64(s.word(s.g.CounterOffset(s.g.Rings()-1, site, counter)), 1)
	}
	return err
}

// Switch turns the hits of sites on or off, by one store each. Hits that have passed the test of it go on.
func (s *Shared) Switch(sites iter.Seq2[uint32, bool]) (err error) {
	defer s.Guard(&err)()
	table := s.mem[s.g.switches():][:s.g.sites()]
	for site, on := range sites {
		if uint64(site) >= uint64(len(table)) {
			continue
		}
		off := byte(1)
		if on {
			off = 0
		}
		table[site] = off
	}
	return err
}

// Off reports whether the hits of a site are turned off.
func (s *Shared) Off(site uint32) bool {
	return uint64(site) < uint64(s.g.sites()) && s.mem[s.g.switches()+uint64(site)] != 0
}

// Variable reads the variable of that index (ir.GetVar), below MaxVariables.
func (s *Shared) Variable(index int) uint64 { return atomic.LoadUint64(s.variable(index)) }

// SetVariable sets it.
func (s *Shared) SetVariable(index int, value uint64) { atomic.StoreUint64(s.variable(index), value) }

// FetchAddVariable adds to a variable and returns its previous value (ir.FetchAddVar).
func (s *Shared) FetchAddVariable(index int, n uint64) uint64 {
	return atomic.AddUint64(s.variable(index), n) - n
}

// ChangeVariable changes a variable from was to now. If hit programs have changed it since it was read, the
// difference is added, so no count is lost.
func (s *Shared) ChangeVariable(index int, was, now uint64) {
	if v := s.variable(index); !atomic.CompareAndSwapUint64(v, was, now) {
		atomic.AddUint64(v, now-was)
	}
}

func (s *Shared) variable(index int) *uint64 {
	if uint(index) >= MaxVariables {
		panic(fmt.Sprintf("BUG: there is no variable %d", index))
	}
	return s.word(s.g.variables() + 8*uint64(index))
}

// SetTime sets the time for ClockCoarse.
func (s *Shared) SetTime(tsc uint64) (err error) {
	defer s.Guard(&err)()
	atomic.StoreUint64(s.word(ControlClock), tsc)
	return err
}

// Dropped is how many hits have found a ring full.
func (s *Shared) Dropped(ring int) uint64 {
	return atomic.LoadUint64(s.word(s.g.RingOffset(ring) + RingDropped))
}

// Waits is how many hits have waited for room in a ring.
func (s *Shared) Waits(ring int) uint64 {
	return atomic.LoadUint64(s.word(s.g.RingOffset(ring) + RingWaits))
}

// WaitUntil lets writers wait for room in a ring up to a time; 0: not any more.
func (s *Shared) WaitUntil(ring int, tsc uint64) {
	atomic.StoreUint64(s.word(s.g.RingOffset(ring)+RingUntil), tsc)
}

// near: writers of a ring use contexts of others (2k).
func (s *Shared) near(ring int) bool {
	return (!s.g.overwrite() || s.g.spare() > 0) && ring >= s.restartable()
}

// Used returns the number of reserved bytes in a ring that the reader has not consumed, committed or not.
func (s *Shared) Used(cpu int) uint64 {
	ring := s.g.RingOffset(cpu)
	// Read consumed first. In the other order it could be larger than an old value of reserved.
	consumed := atomic.LoadUint64(s.word(ring + RingConsumed))
	reserved := atomic.LoadUint64(s.word(ring + RingReserved))
	if s.near(cpu) {
		reserved = Position(reserved)
	}
	used := reserved - consumed
	if used > math.MaxInt64 {
		return 0
	}
	return min(used, s.g.size())
}

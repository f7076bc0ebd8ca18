package bpf

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
)

// CodeEvents reads the changes of the code of all processes: perf's records of mappings, of programs that are executed and of
// processes that begin. Source: perf_event_open(2); include/uapi/linux/perf_event.h.
type CodeEvents struct {
	rings []codeRing
	lost  uint64
	list  []procdir.Change
	wrap  []byte
}

// codeRing is the buffer of a CPU: a page of perf_event_mmap_page, then the data.
type codeRing struct {
	fd  int
	mem []byte
}

// codePages is the size of the data of a CPU, a power of two: some thousand records. perf_event_mlock_kb allows 128 pages by
// default.
const codePages = 64

// WatchCode begins to collect changes.
func (k *Kernel) WatchCode() (*CodeEvents, error) {
	cpus, err := onlineCPUs()
	if err != nil {
		return nil, wrap("watching the code of processes", err)
	}
	c := &CodeEvents{}
	for _, cpu := range cpus {
		attr := &unix.PerfEventAttr{
			Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Sample_type: unix.PERF_SAMPLE_TIME,
			Bits:    unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitCommExec | unix.PerfBitComm | unix.PerfBitTask | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID,
			Clockid: unix.CLOCK_MONOTONIC,
		}
		fd, err := perfOpen(attr, -1, cpu)
		if err != nil {
			return nil, wrap("watching the code of processes", errors.Join(err, c.Close()))
		}
		mem, err := unix.Mmap(fd, 0, (1+codePages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return nil, wrap("watching the code of processes", errors.Join(err, unix.Close(fd), c.Close()))
		}
		c.rings = append(c.rings, codeRing{fd, mem})
	}
	return c, nil
}

// Close ends the collection.
func (c *CodeEvents) Close() error {
	var errs []error
	for _, r := range c.rings {
		errs = append(errs, unix.Munmap(r.mem), unix.Close(r.fd))
	}
	c.rings = nil
	return errors.Join(errs...)
}

// Lost is how many records had no room.
func (c *CodeEvents) Lost() uint64 { return c.lost }

// Read passes on what has been collected since the last call, in the order of time.
func (c *CodeEvents) Read(f func(procdir.Change)) {
	c.list = c.list[:0]
	for i := range c.rings {
		c.drain(&c.rings[i])
	}
	slices.SortStableFunc(c.list, func(a, b procdir.Change) int { return cmp.Compare(a.Time, b.Time) })
	for i := range c.list {
		f(c.list[i])
	}
}

// drain decodes the records of a CPU. The kernel stores a record before the head, and overwrites nothing before the tail.
func (c *CodeEvents) drain(r *codeRing) {
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.mem[0]))
	data := r.mem[os.Getpagesize():]
	tail, head := page.Data_tail, atomic.LoadUint64(&page.Data_head)
	size := uint64(len(data))
	for tail < head {
		at := tail % size
		header := data[at:] // records are multiples of 8 bytes: a header does not wrap
		n := uint64(binary.NativeEndian.Uint16(header[6:]))
		if n < 8 || n > head-tail {
			tail = head // it is damaged: the kernel writes no such record
			break
		}
		rec := header
		if at+n > size {
			c.wrap = append(append(c.wrap[:0], header...), data[:at+n-size]...)
			rec = c.wrap
		}
		c.decode(rec[:n])
		tail += n
	}
	atomic.StoreUint64(&page.Data_tail, tail)
}

// Records of perf_event_open(2).
const (
	perfLost  = 2
	perfComm  = 3
	perfFork  = 7
	perfMmap2 = 10

	commExec     = 1 << 13 // PERF_RECORD_MISC_COMM_EXEC
	mmapData     = 1 << 13 // PERF_RECORD_MISC_MMAP_DATA
	mmapBuildID  = 1 << 14 // PERF_RECORD_MISC_MMAP_BUILD_ID
	mmap2Name    = 72
	codeTimeSize = 8
)

// decode adds the change that a record describes. Each ends with its time.
func (c *CodeEvents) decode(b []byte) {
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	misc := binary.NativeEndian.Uint16(b[4:])
	kind, body := u32(0), len(b)-codeTimeSize
	if body < 24 {
		return
	}
	e := procdir.Change{Pid: int(u32(8)), Time: u64(body)}
	switch {
	case kind == perfLost:
		c.lost += u64(16)
		return
	case kind == perfComm && misc&commExec != 0:
		e.Exec = true
	case kind == perfFork && u32(8) != u32(12):
		e.Parent = int(u32(12))
	case kind == perfMmap2 && misc&(mmapData|mmapBuildID) == 0 && body > mmap2Name:
		e.Map = mapping(b[:body])
	default:
		return
	}
	c.list = append(c.list, e)
}

// mapping is the memory of a record PERF_RECORD_MMAP2, whose name ends with a zero.
func mapping(b []byte) procdir.Mapping {
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	name, _, _ := bytes.Cut(b[mmap2Name:], []byte{0})
	m := procdir.Mapping{
		Start: u64(16), End: u64(16) + u64(24), Offset: u64(32), Dev: procdir.Dev(u32(40), u32(44)), Inode: u64(48),
		Prot: int(u32(64)), Shared: u32(68)&unix.MAP_SHARED != 0, Path: string(name),
	}
	switch {
	case m.Inode != 0:
		m.Path, m.Deleted = strings.CutSuffix(m.Path, " (deleted)")
	case m.Path == "//anon":
		m.Path = ""
	}
	return m
}

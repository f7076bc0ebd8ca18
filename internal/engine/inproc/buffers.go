package inproc

import (
	"errors"
	"os"
	"sync"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/maps"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

// buffers is the memory that hit programs write to: rings, counters and variables. It is shared with the
// process.
type buffers struct {
	mem  *ring.Shared // nil: not mapped yet, or closed
	g    ring.Geometry
	base uint64 // its address in the process
	cpu  processor
	// coarse is the clock of ring.ClockCoarse.
	coarse *event.CoarseClock
	// libcRseq is where libc has the threads' struct rseq, from their thread pointers; 0: nowhere, or not known.
	libcRseq   int64
	listed     bool // the threads that may use it are in mem
	prefault   *prefault
	tables     tableSet
	common     map[string]*commonTable // by the names of maps
	tablesLock sync.Mutex
}

// processor describes the features of the machine, and of the kernel for the process.
type processor struct {
	rseq      int32 // offset of a thread's rseq area from its thread pointer
	rdpid     bool
	prefetchw bool
	fsgsbase  bool
	avx       bool
	xgetbv1   bool
}

// Defaults of Options.
const (
	DefaultBuffer = 4 << 20
	minSites      = 1024
	rseqSize      = 32 // struct rseq
)

// size chooses the size of the memory, for at least this number of sites.
func (b *buffers) size(opt *Options, sites int) error {
	cpus, err := possibleCPUs()
	if err != nil {
		return err
	}
	size := opt.BufferSize
	if size <= 0 {
		size = DefaultBuffer
	}
	b.g, err = ring.NewGeometry(cpus, size, max(minSites, opt.Sites, 2*sites))
	b.g.Overwrite, b.g.Wait = opt.Overwrite, opt.Wait && !opt.Overwrite && opt.Clock == ring.ClockTSC
	if err == nil {
		b.g.MapBytes = int(b.memoryFor(opt.Maps))
	}
	b.tables = tableSet{of: map[tableName]maps.Table{}}
	return err
}

// mapIn maps the memory into the process. The file is to be closed.
func (b *buffers) mapIn(st *process.Stopped) (f *os.File, err error) {
	offset := b.libcRseq
	b.g.Restartable = offset == int64(int32(offset)) && offset+rseqSize == int64(int32(offset+rseqSize)) && offset != 0 && st.HasSequences(offset)
	b.base, f, err = st.MapShared("jalon", b.g)
	return f, err
}

// mapHere maps the memory in jalon, while the process runs: nothing in it uses the memory yet.
func (b *buffers) mapHere(f *os.File) (*ring.Shared, error) {
	x := host.X86()
	b.cpu = processor{rdpid: x.RDPID, prefetchw: x.PrefetchW, fsgsbase: x.FSGSBASE, avx: x.AVX, xgetbv1: x.XGETBV1}
	if b.g.Restartable {
		b.cpu.rseq = int32(b.libcRseq)
	}
	return ring.Map(int(f.Fd()), b.g)
}

// listThreads begins to keep the table of threads that may use restartable sequences. It is called before the first jump to code is written.
func (b *buffers) listThreads(st *process.Stopped) {
	if b.g.Restartable && !b.listed {
		b.listed = true
		st.ListSequences(b.libcRseq, b.mem)
	}
}

// use begins to use the memory, on the tracer's goroutine: hits that the tracer itself collects use the variables
// there from now on, and the caller gives those their values.
func (b *buffers) use(m *process.Memory, mem *ring.Shared, f *os.File, opt *Options) error {
	b.mem = mem
	if err := m.MapsFile(b.base, b.g, f); err != nil {
		return err
	}
	for i, v := range opt.Variables {
		mem.SetVariable(i, v)
	}
	if opt.Clock == ring.ClockCoarse {
		b.coarse = event.StartCoarse(mem.SetTime)
	}
	if opt.OnRings != nil {
		opt.OnRings(mem)
	}
	return nil
}

// begin arms the dead man's switch in the memory, before there is code, and starts what runs beside the process.
func (b *buffers) begin(p *process.Process) error {
	mem := b.mem
	if err := p.ArmDeadman(mem.Deadman()); err != nil {
		return err
	}
	b.prefault = startPrefault(p.Pid(), mem, b.g, b.base)
	return nil
}

// layout returns the addresses that the hit program of a site writes to.
func (b *buffers) layout(id uint32) (l ring.Layout) {
	l = b.g.Layout(b.base, id)
	l.RseqCPU, l.RDPID, l.FSGSBASE, l.AVX, l.XGETBV1 = b.cpu.rseq, b.cpu.rdpid, b.cpu.fsgsbase, b.cpu.avx, b.cpu.xgetbv1
	l.PrefetchW = b.cpu.prefetchw
	return l
}

// addresses are those from which hit programs compute others: the control page (and counters behind it), the rings.
func (b *buffers) addresses() []uint64 {
	l := b.layout(0)
	list := []uint64{l.Control, l.Rings}
	if l.Registered != 0 {
		list = append(list, l.Registered, l.LockedRings)
	}
	return list
}

// release lists the memory in the process, to be unmapped. Its contents can still be read.
func (b *buffers) release() []process.Range {
	list := b.commonRanges()
	if b.mem == nil {
		return list
	}
	b.prefault.stop()
	return append(list, process.Range{Addr: b.base, Size: b.g.MemSize()})
}

// noWaits ends the waits of hits for room, and allows no more.
func (b *buffers) noWaits() {
	if b.mem == nil {
		return
	}
	for i := range b.mem.Rings() {
		b.mem.WaitUntil(i, 0)
	}
}

// disarm removes the dead man's switch from the memory.
func (b *buffers) disarm(p *process.Process) error {
	if b.mem == nil {
		return nil
	}
	return p.DisarmDeadman(b.mem.Deadman())
}

// close unmaps the memory in jalon. After an exec the code at the sites was not taken
// back, so the switch may still be in this memory, and the tracer's thread would write to
// it when the next engine arms its own.
func (b *buffers) close(p *process.Process) error {
	if b.mem == nil {
		return nil
	}
	if p != nil {
		if err := errors.Join(b.disarm(p), p.EndSequences()); err != nil && !errors.Is(err, process.ErrGone) {
			return err
		}
	}
	if b.coarse != nil {
		b.coarse.Stop()
	}
	b.prefault.stop()
	b.tablesLock.Lock() // see Engine.ThreadEnded
	mem := b.mem
	b.mem = nil
	b.tablesLock.Unlock()
	return mem.Close()
}

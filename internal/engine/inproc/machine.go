package inproc

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
	"github.com/jalon-trace/jalon/internal/process"
	"github.com/jalon-trace/jalon/internal/ring"
)

// sharedMem is the shared memory and where the process has it.
type sharedMem struct {
	mem      *ring.Shared
	g        ring.Geometry
	base     uint64
	rseq     int32
	rdpid    bool
	fsgsbase bool
	avx      bool
	xgetbv1  bool
}

// Defaults of Options.
const (
	DefaultBuffer = 4 << 20
	minSites      = 1024
)

func (e *Engine) mapShared(st *process.Stopped) error {
	cpus, err := possibleCPUs()
	if err != nil {
		return err
	}
	size := e.opt.BufferSize
	if size <= 0 {
		size = DefaultBuffer
	}
	g, err := ring.NewGeometry(cpus, size, max(minSites, e.opt.Sites, 2*len(e.sites)))
	if err != nil {
		return err
	}
	if forbidden, err := st.ClockForbidden(); err != nil {
		return err
	} else if forbidden {
		e.foundNoTSC()
	}
	base, f, err := st.MapShared("jalon", g)
	if err != nil {
		return err
	}
	defer f.Close()
	mem, err := ring.Map(int(f.Fd()), g)
	if err != nil {
		return err
	}
	e.shared = &sharedMem{mem: mem, g: g, base: base, rdpid: cpuHas("rdpid"), fsgsbase: hasFSGSBASE(), avx: hasAVX(), xgetbv1: hasXGETBV1()}
	if off, ok := st.RseqOffset(); ok && off == int64(int32(off)) {
		e.shared.rseq = int32(off)
	}
	for i, v := range e.opt.Variables {
		mem.SetVariable(i, v)
	}
	if err := e.p.ArmDeadman(mem.Deadman()); err != nil {
		return err
	}
	if e.opt.OnRings != nil {
		e.opt.OnRings(mem)
	}
	return nil
}

// hasFSGSBASE reads AT_HWCAP2: the kernel says there whether user code may use
// rdfsbase (Linux 5.9).
func hasFSGSBASE() bool {
	b, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return false
	}
	const fsgsbase = 1 << 1
	bits, _ := procdir.AuxValue(b, procdir.AuxHardware2)
	return bits&fsgsbase != 0
}

// hasAVX says whether processor and kernel have the ymm registers.
func hasAVX() bool { return cpuHas("avx") }

// hasXGETBV1 says whether xgetbv tells which parts of the processor's state are in use.
func hasXGETBV1() bool { return cpuHas("xgetbv1") }

func cpuHas(flag string) bool { return slices.Contains(cpuFlags(), flag) }

// cpuFlags are those of the first processor; none where they cannot be read.
var cpuFlags = sync.OnceValue(func() []string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if strings.HasPrefix(sc.Text(), "flags") {
			return strings.Fields(sc.Text())
		}
	}
	return nil
})

// possibleCPUs is the number of CPUs that may ever run the program.
func possibleCPUs() (int, error) {
	n, err := ring.PossibleCPUs()
	var unread *fs.PathError
	if errors.As(err, &unread) {
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(0, &set); err != nil {
			return 0, fmt.Errorf("counting the CPUs: %w", err)
		}
		return set.Count(), nil
	}
	return n, err
}

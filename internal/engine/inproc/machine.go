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
	"github.com/jalon-trace/jalon/internal/ring"
)

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

package host

import (
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// Features are what this machine's processor has beyond what every x86-64 has, as far as the
// kernel lets programs use it. On another processor all are false.
type Features struct {
	AVX, AVX512 bool // registers ymm; zmm and k
	PKeys       bool // protection keys, register pkru
	RDPID       bool // the instruction
	FSGSBASE    bool // rdfsbase and rdgsbase in programs
	PrefetchW   bool // the instruction
	XGETBV1     bool // xgetbv with ecx = 1 reports which parts of the state are in use
	SteadyTSC   bool // the time stamp counter runs at one rate and does not stop
}

// X86 returns the features of this machine; the first call reads them.
var X86 = sync.OnceValue(func() Features {
	if Processor.Name != "amd64" {
		return Features{}
	}
	info, _ := os.ReadFile("/proc/cpuinfo") // if unreadable, features that are listed only there are missing
	f := listed(string(info))
	f.AVX, f.AVX512 = cpu.X86.HasAVX, cpu.X86.HasAVX512F
	f.FSGSBASE = mayUseFSGSBASE()
	return f
})

// listed returns the features that golang.org/x/sys/cpu lacks, from the contents of /proc/cpuinfo. The kernel
// leaves out features that programs may not use or that were disabled (clearcpuid=), and adds features that it
// has found out itself (tsc_known_freq, ospke).
func listed(cpuinfo string) Features {
	_, after, _ := strings.Cut("\n"+cpuinfo, "\nflags")
	line, _, _ := strings.Cut(after, "\n")
	_, line, _ = strings.Cut(line, ":")
	flags := strings.Fields(line)
	has := func(name string) bool { return slices.Contains(flags, name) }
	return Features{
		PKeys: has("ospke"), RDPID: has("rdpid"), PrefetchW: has("3dnowprefetch"), XGETBV1: has("xgetbv1"),
		SteadyTSC: has("constant_tsc") && has("nonstop_tsc") || has("tsc_known_freq"),
	}
}

// mayUseFSGSBASE reads AT_HWCAP2: the kernel says there whether programs may use rdfsbase
// (Linux 5.9). /proc/cpuinfo has the flag on older kernels, too, which forbid it.
func mayUseFSGSBASE() bool {
	const (
		hwcap2   = 26
		fsgsbase = 1 << 1
	)
	auxv, err := unix.Auxv()
	if err != nil {
		return false
	}
	for _, e := range auxv {
		if e[0] == hwcap2 {
			return e[1]&fsgsbase != 0
		}
	}
	return false
}

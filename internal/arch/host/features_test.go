package host

import (
	"os"
	"testing"

	"golang.org/x/sys/cpu"
)

// TestListed: the flags of the first processor, by whole words.
func TestListed(t *testing.T) {
	for _, c := range []struct {
		info string
		want Features
	}{
		{"", Features{}},
		{"flags", Features{}},
		{
			"processor\t: 0\nmodel name\t: rdpid\nflags\t\t: fpu rdpid 3dnowprefetch xgetbv1 ospke constant_tsc nonstop_tsc\nbugs\t: x\n",
			Features{PKeys: true, RDPID: true, PrefetchW: true, XGETBV1: true, SteadyTSC: true},
		},
		{"processor\t: 0\nflags\t\t: pku constant_tsc rdpidx xxgetbv1", Features{}},
		{"flags\t\t: tsc_known_freq\n", Features{SteadyTSC: true}},
		{"processor\t: 0\nflags\t\t: fpu\nprocessor\t: 1\nflags\t\t: rdpid\n", Features{}},
		{"vmx flags\t: rdpid\nFeatures\t: fp rdpid\n", Features{}},
	} {
		if got := listed(c.info); got != c.want {
			t.Errorf("%q: %+v, want %+v", c.info, got, c.want)
		}
	}
}

// TestX86: what CPUID says and what the kernel lists do not contradict each other.
func TestX86(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}
	f := X86()
	if Processor.Name != "amd64" {
		if f != (Features{}) {
			t.Errorf("%+v on %s", f, Processor.Title)
		}
		return
	}
	if l := listed(string(info)); l.RDPID != f.RDPID || l.XGETBV1 != f.XGETBV1 || l.PKeys != f.PKeys {
		t.Errorf("%+v, listed %+v", f, l)
	}
	if f.XGETBV1 && !cpu.X86.HasOSXSAVE {
		t.Error("xgetbv1 without xsave")
	}
}

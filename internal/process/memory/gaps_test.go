package memory

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/procdir"
)

func FuzzGaps(f *testing.F) {
	if b, err := os.ReadFile("/proc/self/maps"); err == nil {
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) {
		maps, err := procdir.ParseMaps(text)
		if err != nil {
			return
		}
		checkGaps(t, maps, 0x555555550000, 1<<16)
	})
}

// checkGaps: what NearGaps gives is free, within reach, and page-aligned.
func checkGaps(t *testing.T, maps []Mapping, addr, size uint64) []uint64 {
	t.Helper()
	gaps := NearGaps(maps, addr, size)
	for _, at := range gaps {
		lo, hi := min(at, addr), max(at+size, addr)
		if at%PageSize != 0 || hi-lo > Reach || at < lowest || at+size > highest {
			t.Errorf("%#x is out of reach of %#x, or odd", at, addr)
		}
	}
	return gaps
}

func TestNearGaps(t *testing.T) {
	const M = 1 << 20
	m := func(lo, hi uint64, path string) Mapping { return Mapping{Start: lo, End: hi, Path: path} }
	anon := func(lo, hi uint64) Mapping {
		return Mapping{Start: lo, End: hi, Prot: unix.PROT_READ | unix.PROT_WRITE}
	}
	for _, c := range []struct {
		name       string
		maps       []Mapping
		addr, size uint64
		want       uint64 // the first; 0 = none
	}{
		{"below a program at 4 MB", []Mapping{m(4*M, 5*M, "/p"), m(5*M, 6*M, "[heap]")}, 4*M + 100, PageSize, 4*M - PageSize},
		{"not behind the heap", []Mapping{m(4*M, 5*M, "/p"), m(5*M, 6*M, "[heap]")}, 5*M - 1, M, 3 * M},
		{"behind the heap when below is too small, far enough", []Mapping{m(M, 5*M, "/p"), m(5*M, 6*M, "[heap]")}, 4 * M, M, 6*M + heapRoom},
		{"behind a library, the nearest", []Mapping{m(1<<46, 1<<46+M, "/a"), m(1<<46+2*M, 1<<46+3*M, "/b")}, 1<<46 + 2*M + 5, M, 1<<46 + 3*M},
		{"between libraries", []Mapping{m(1<<46, 1<<46+M, "/a"), m(1<<46+2*M, 1<<46+3*M, "/b"), m(1<<46+3*M, 1<<46+4*M, "/c")}, 1<<46 + 2*M + 5, M, 1<<46 + M},
		{"not under the stack", []Mapping{m(1<<46, 1<<46+M, "/a"), m(1<<46+10*M, 1<<46+11*M, "[stack]")}, 1<<46 + M - 1, 9 * M, 1<<46 - 9*M},
		{"not under what may be a stack", []Mapping{m(lowest, 1<<46+M, "/a"), anon(1<<46+3*M, 1<<46+4*M), m(1<<46+4*M, 1<<46+50*M, "/b")}, 1<<46 + M - 1, M, 1<<46 + 50*M},
		{"under what may be a stack, with room", []Mapping{m(lowest, 1<<46+M, "/a"), anon(1<<46+30*M, 1<<46+31*M)}, 1<<46 + M - 1, M, 1<<46 + M},
		{"under what may be a stack, if there is no other", []Mapping{m(lowest, 1<<46+M, "/a"), anon(1<<46+3*M, 1<<46+4*M), m(1<<46+4*M, highest, "/b")}, 1<<46 + M - 1, M, 1<<46 + M},
		{"an empty heap to come", WithHeap([]Mapping{m(1<<45, 1<<45+M, "/p")}, 1<<45+2*M), 1<<45 + M - 1, M / 2, 1<<45 + M},
		{"an empty heap to come, from the program's last page", WithHeap([]Mapping{m(lowest, 1<<45+M, "/p")}, 1<<45+M-100), 1<<45 + M - 1, M / 2, 1<<45 + M + heapRoom},
		{"nothing within reach", []Mapping{m(lowest, highest, "/all")}, 1 << 40, PageSize, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := uint64(0)
			if gaps := checkGaps(t, c.maps, c.addr, c.size); len(gaps) > 0 {
				got = gaps[0]
			}
			if got != c.want {
				t.Errorf("%#x, want %#x", got, c.want)
			}
		})
	}
}

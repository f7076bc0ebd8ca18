package inproc

import (
	"reflect"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/process"
)

const (
	rx  = unix.PROT_READ | unix.PROT_EXEC
	rwx = rx | unix.PROT_WRITE
)

func jumpAt(addr uint64) *placed {
	return &placed{plan: &patch.Plan{Addr: addr, Len: 5, Tactic: patch.Jump}}
}

// TestGuardRuns: adjacent pages of one mapping are one run; a patch that crosses a page boundary has both
// pages; mappings where the kernel inserts no uprobes are left out.
func TestGuardRuns(t *testing.T) {
	mapped := []process.Mapping{
		{Start: 0x10000, End: 0x14000, Prot: rx, Inode: 7},
		{Start: 0x14000, End: 0x16000, Prot: rwx, Inode: 7},
		{Start: 0x16000, End: 0x18000, Prot: rx, Inode: 7},
		{Start: 0x20000, End: 0x24000, Prot: rx},
		{Start: 0x30000, End: 0x34000, Prot: rx, Inode: 9, Shared: true},
	}
	var plans []*placed
	for _, a := range []uint64{0x10100, 0x11100, 0x12ffd, 0x14100, 0x16100, 0x16200, 0x20100, 0x30100} {
		plans = append(plans, jumpAt(a))
	}
	got := guardRuns(plans, mapped)
	want := []guarded{{0x10000, 0x14000, 0x10000, 7, rx}, {0x16000, 0x17000, 0x16000, 7, rx}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

// TestGuardRunsBounded: many runs are joined at the smallest gaps, never across mappings.
func TestGuardRunsBounded(t *testing.T) {
	var runs []guarded
	for i := range uint64(1000) {
		lo := i * 0x2000
		if i >= 500 {
			lo += 0x100000
		}
		runs = append(runs, guarded{lo: lo, hi: lo + 0x1000, of: i / 800, inode: 1, prot: rx})
	}
	all := patchedSpan(runs)
	got := joinRuns(append([]guarded(nil), runs...), maxRuns)
	if want := []guarded{{0, 499*0x2000 + 0x1000, 0, 1, rx}, {500*0x2000 + 0x100000, 799*0x2000 + 0x101000, 0, 1, rx}, {800*0x2000 + 0x100000, all, 1, 1, rx}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	if got := joinRuns(runs[:3], maxRuns); len(got) != 3 {
		t.Errorf("%x", got)
	}
}

func patchedSpan(runs []guarded) uint64 { return runs[len(runs)-1].hi }

// TestUnguardSpans: protection is restored only where guard changed it and it has not changed since: mappings
// split and merge, libraries are unloaded, programs protect pages themselves.
func TestUnguardSpans(t *testing.T) {
	list := []guarded{
		{0x11000, 0x12000, 0x11000, 7, rx}, {0x10000, 0x11000, 0x10000, 7, rx}, // merged by the kernel
		{0x14000, 0x15000, 0x10000, 7, rx}, // protected by the program
		{0x18000, 0x1a000, 0x10000, 7, rx}, // the second half is now another file
		{0x40000, 0x41000, 0x40000, 8, rx}, // unmapped
		{0x50000, 0x51000, 0x50000, 9, rx}, // within pages that were writable before
	}
	mapped := []process.Mapping{
		{Start: 0x10000, End: 0x12000, Prot: rwx, Inode: 7},
		{Start: 0x12000, End: 0x14000, Prot: rx, Inode: 7},
		{Start: 0x14000, End: 0x15000, Prot: rx, Inode: 7},
		{Start: 0x18000, End: 0x19000, Prot: rwx, Inode: 7},
		{Start: 0x19000, End: 0x1a000, Prot: rwx, Inode: 70},
		{Start: 0x4f000, End: 0x52000, Prot: rwx, Inode: 9},
	}
	want := []guarded{{0x10000, 0x12000, 0, 7, rx}, {0x18000, 0x19000, 0, 7, rx}, {0x50000, 0x51000, 0, 9, rx}}
	if got := spans(list, mapped); !reflect.DeepEqual(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
}

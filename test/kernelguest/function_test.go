package kernelguest

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// sizes are the sizes that `calls reads` passes to vfs_read, in order.
var sizes = []int64{100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 4096, 4097, 5000, 60000}

// returns are the results of vfs_read in `calls errors`: three times EBADF, EISDIR, EFAULT, the end of the
// file, and the rest of it.
var returns = []int64{-9, -9, -9, -21, -14, 0, 100}

func same(t *testing.T, what string, got, want []int64) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

// Names and types of parameters come from BTF, and pointers are followed. The ring
// is larger than the largest map value of old kernels.
func TestGuest_KprobeArguments(t *testing.T) {
	o := trace(t, "kprobe:vfs_read if (count > 4096)", "--collect", "file->f_path.dentry->d_name.name/s, count, file->f_inode->i_size, *pos", "--buffer=16M", "--", calls, "reads")
	same(t, "sizes", o.nums(t, "kprobe:vfs_read", "count"), []int64{4097, 5000, 60000})
	for _, h := range o.hits {
		if name := str(&h, "file->f_path.dentry->d_name.name"); name != "known.bin" || h.Num(t, "file->f_inode->i_size") != 20000 || h.Num(t, "*pos") != 0 {
			t.Errorf("the file is %q, %v", name, h.Values)
		}
		if h.Comm != "calls" || h.Pid != h.Tid || h.Function != "vfs_read" {
			t.Errorf("%+v", h)
		}
	}
	if w := (totals{Hits: 14, Recorded: 3, False: 11, Sites: 1, Outcome: o.totals.Outcome}); o.totals != w {
		t.Errorf("totals %+v", o.totals)
	}
}

// text reads the kernel's code.
func text(t *testing.T, addr uint64, n int) []byte {
	t.Helper()
	f, err := elf.Open("/proc/kcore")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Memsz {
			b := make([]byte, n)
			if _, err := p.ReadAt(b, int64(addr-p.Vaddr)); err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	t.Fatalf("/proc/kcore has no %#x", addr)
	return nil
}

// behindEntry is the offset of the instruction after those that ftrace changes at the beginning of functions.
func behindEntry(t *testing.T, addr uint64) int {
	t.Helper()
	b := string(text(t, addr, 16))
	for _, e := range processor.entries {
		if strings.HasPrefix(b, e) {
			return len(e)
		}
	}
	t.Fatalf("the function begins with % x", b)
	return 0
}

// At an instruction there are registers; the instruction pointer is its address.
func TestGuest_KprobeOffset(t *testing.T) {
	addr := address(t, "vfs_read")
	off := behindEntry(t, addr)
	place := fmt.Sprintf("kprobe:vfs_read+%d", off)
	byAddress := fmt.Sprintf("kprobe:%#x", addr+uint64(off))
	pc, count := processor.pc, processor.count
	o := trace(t, place+" if ("+count+" >= 4096)", fmt.Sprintf("%s if (%s == %#x && %s == 5000)", byAddress, pc, addr+uint64(off), count),
		"kprobe:vfs_read if ("+count+" == 60000)",
		"--collect", count+", "+pc+", $regs, $bt", "--", calls, "reads")
	same(t, place, o.nums(t, place, count), []int64{4096, 4097, 5000, 60000})
	same(t, byAddress, o.nums(t, byAddress, count), []int64{5000})
	same(t, "entry", o.nums(t, "kprobe:vfs_read", count), []int64{60000})
	for _, h := range o.hits {
		at := addr + uint64(off)
		if h.Place == "kprobe:vfs_read" {
			at = addr
		}
		want := fmt.Sprintf("0x%x", at)
		regs := h.Values["$regs"].(map[string]any)
		if got := fmt.Sprint(h.Values[pc]); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s is %v, not %s", h.Place, pc, got, want)
		}
		if fmt.Sprint(regs[pc[1:]]) != want || fmt.Sprint(regs[count[1:]]) != fmt.Sprint(h.Values[count]) {
			t.Errorf("%s: $regs is %v, the instruction at %s", h.Place, regs, want)
		}
		top := h.Values["$bt"].([]any)[0].(map[string]any)
		if top["function"] != "vfs_read" || fmt.Sprint(top["pc"]) != want {
			t.Errorf("%s: the stack begins with %v", h.Place, top)
		}
	}
}

// Each function of a pattern has a site of its own.
func TestGuest_KprobeGlob(t *testing.T) {
	o := trace(t, "kprobe:vfs_read*", "--collect", "arg2, $cpu", "--", calls, "reads")
	same(t, "vfs_read", o.nums(t, "kprobe:vfs_read", "arg2"), sizes)
	same(t, "vfs_readv", o.nums(t, "kprobe:vfs_readv", "arg2"), []int64{2})
	if o.totals.Sites < 3 || o.totals.Hits != uint64(len(o.hits)) {
		t.Errorf("totals %+v, %d events", o.totals, len(o.hits))
	}
	for _, h := range o.hits {
		if h.Place != "kprobe:"+h.Function || !strings.HasPrefix(h.Function, "vfs_read") {
			t.Errorf("%+v", h)
		}
	}
}

// Entries and returns by all their kinds in one session: each sees each call, the
// values agree, and the events come in the order of time.
func TestGuest_Returns(t *testing.T) {
	o := trace(t, script(t,
		point{"fentry:vfs_read", "", "count, file->f_mode"},
		point{"kprobe:vfs_read", "", "count, file->f_mode"},
		point{"kretprobe:vfs_read", "retval <= 0", "retval, $bt"},
		point{"fexit:vfs_read", "", "retval, $args, $bt"},
	), "--", calls, "errors")
	same(t, "kretprobe", o.nums(t, "kretprobe:vfs_read", "retval"), returns[:6])
	same(t, "fexit", o.nums(t, "fexit:vfs_read", "retval"), returns)
	asked := []int64{10, 10, 10, 10, 10, 10, 1000}
	same(t, "fentry", o.nums(t, "fentry:vfs_read", "count"), asked)
	same(t, "kprobe", o.nums(t, "kprobe:vfs_read", "count"), asked)
	same(t, "modes", o.nums(t, "kprobe:vfs_read", "file->f_mode"), o.nums(t, "fentry:vfs_read", "file->f_mode"))
	for i, h := range o.of("fexit:vfs_read") {
		if got := h.Values["$args"].(map[string]any)["count"]; fmt.Sprint(got) != fmt.Sprint(asked[i]) {
			t.Errorf("fexit %d: count is %v, not %d", i, got, asked[i])
		}
		if top := h.Values["$bt"].([]any)[0].(map[string]any); top["function"] != "vfs_read" {
			t.Errorf("the stack at fexit begins with %v", top)
		}
	}
	for i := 1; i < len(o.hits); i++ {
		if o.hits[i].Time < o.hits[i-1].Time {
			t.Errorf("event %d is older than the one before: %+v, %+v", i, o.hits[i-1], o.hits[i])
		}
	}
	if w := uint64(4 * len(returns)); o.totals.Hits != w || o.totals.False != 1 || o.totals.Recorded != w-1 {
		t.Errorf("totals %+v", o.totals)
	}
	for _, h := range o.of("kretprobe:vfs_read") {
		if top := h.Values["$bt"].([]any)[0].(map[string]any); !strings.Contains(fmt.Sprint(top["function"]), "read") {
			t.Errorf("the function returns to %v", top)
		}
	}
}

package bpf

import (
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// TestRefusals loads programs that the verifier refuses: the error is one line, and the log is available.
func TestRefusals(t *testing.T) {
	k := openKernel(t)
	b := newBuffer(t, k, 4096)
	for _, tc := range []struct {
		name  string
		kind  Kind
		insns asm.Instructions
		want  []string // in this order in the one line
	}{
		{
			"context", RawTracepoint,
			asm.Instructions{asm.LoadMem(asm.R0, asm.R1, -8, asm.DWord), asm.Return()},
			[]string{"load the program context: the verifier refuses instruction 0 (r0 = *(u64 *)(r1 -8)): ", "-8"},
		},
		{
			"register", RawTracepoint,
			asm.Instructions{asm.Mov.Reg(asm.R0, asm.R5), asm.Return()},
			[]string{"the verifier refuses instruction 0 (r0 = r5): R5 !read_ok"},
		},
		{
			"outside", RawTracepoint,
			asm.Instructions{
				asm.LoadMapValue(asm.R1, 0, 0).WithReference("counts"), asm.LoadMem(asm.R0, asm.R1, 4096, asm.DWord), asm.Return(),
			},
			[]string{"the verifier refuses instruction 2 (r0 = *(u64 *)(r1 +4096)): invalid access to map value, value_size=4096 off=4096 size=8"},
		},
		{
			"loop", RawTracepoint,
			asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol("top"), asm.Ja.Label("top"), asm.Return()},
			[]string{"the verifier refuses "},
		},
		{"noreturn", Kprobe, asm.Instructions{asm.Return()}, []string{"the verifier refuses instruction 0 (exit): R0 !read_ok"}},
	} {
		_, err := k.Load(Program{Name: tc.name, Insns: tc.insns, Kind: tc.kind, Buffers: []*Buffer{b}})
		e := errorOf(t, err)
		at := 0
		for _, w := range tc.want {
			i := strings.Index(e.Error()[at:], w)
			if i < 0 {
				t.Errorf("%s: %q is not in: %s", tc.name, w, e)
				break
			}
			at += i + len(w)
		}
		if strings.Contains(e.Error(), "\n") || VerifierLog(e) == "" {
			t.Errorf("%s: error %q, log %q", tc.name, e, VerifierLog(e))
		}
		t.Log(e)
	}
}

func TestRefusalText(t *testing.T) {
	for _, tc := range []struct {
		log  []string
		want string
	}{
		{nil, "the program without a reason"},
		{[]string{"unreachable insn 3", "processed 0 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0"}, "unreachable insn 3"},
		{
			[]string{"0: R1=ctx(off=0,imm=0) R10=fp0", "0: (79) r2 = *(u64 *)(r1 +0)         ; R1=ctx() R2_w=scalar()", "1: (79) r0 = *(u64 *)(r2 +0)", "R2 invalid mem access 'scalar'", "processed 2 insns"},
			"instruction 1 (r0 = *(u64 *)(r2 +0)): R2 invalid mem access 'scalar'",
		},
		{
			[]string{"12: (85) call bpf_probe_read_kernel#113", "from 3 to 7: R0=1 R10=fp0", "; if (x) @ a.c:3", "R2 min value is negative, either use unsigned or 'var &= const'"},
			"instruction 12 (call bpf_probe_read_kernel#113): R2 min value is negative, either use unsigned or 'var &= const'",
		},
		{[]string{"back-edge from insn 1 to 0", "0: (b7) r0 = 0", "processed 1 insns"}, "the program: back-edge from insn 1 to 0"},
	} {
		if got := refusal(tc.log); got != tc.want {
			t.Errorf("got  %s\nwant %s", got, tc.want)
		}
	}
}

func FuzzRefusal(f *testing.F) {
	f.Add("0: (79) r1 = *(u64 *)(r1 +800) ; R1=ctx()\ninvalid\nprocessed 1 insns")
	f.Add("12: (85\nfrom 3 to")
	f.Fuzz(func(t *testing.T, log string) {
		if got := refusal(strings.Split(log, "\n")); got == "" || strings.Contains(got, "\n") {
			t.Errorf("%q", got)
		}
	})
}

// TestBuffer: a program and this process see each other's writes.
func TestBuffer(t *testing.T) {
	k := openKernel(t)
	b := newBuffer(t, k, 5000) // two pages
	if len(b.Memory()) != 8192 || b.Name() != "counts" {
		t.Fatalf("%d bytes, named %s", len(b.Memory()), b.Name())
	}
	for i, c := range b.Memory() {
		if c != 0 {
			t.Fatalf("byte %d is %d", i, c)
		}
	}
	l := load(t, k, Program{Insns: join(mine(), ofSyscall(unix.SYS_GETPGID), asm.Instructions{
		asm.LoadMapValue(asm.R1, 0, 8192-16).WithReference("counts"),
		asm.LoadMem(asm.R2, asm.R1, 0, asm.DWord),
		asm.Mul.Imm(asm.R2, 3),
		asm.StoreMem(asm.R1, 8, asm.R2, asm.DWord),
	}, out(0)), Kind: RawTracepoint, Buffers: []*Buffer{b}})
	attach(t, l, Target{Kind: RawTracepoint, Name: "sys_enter"})
	for i := range uint64(100) {
		atomic.StoreUint64((*uint64)(unsafe.Pointer(&b.mem[8192-16])), i*1e12)
		hit()
		want(t, b, 1023, i*3e12)
	}
}

// TestBufferSizes: small and large sizes, and sizes that no kernel accepts.
func TestBufferSizes(t *testing.T) {
	k := openKernel(t)
	for _, size := range []uint64{1, 4096, 4 << 20, 64 << 20} {
		b, err := k.NewBuffer("size", size)
		check(t, err)
		if uint64(len(b.Memory())) < size {
			t.Errorf("%d bytes, want %d", len(b.Memory()), size)
		}
		b.Memory()[size-1] = 1
		check(t, b.Close())
		check(t, b.Close())
	}
	for _, size := range []uint64{0, 1 << 31, 1 << 63, ^uint64(0)} {
		if b, err := k.NewBuffer("size", size); err == nil {
			t.Errorf("a buffer of %d bytes: %d", size, len(b.Memory()))
		} else if errorOf(t, err).Remedy == "" {
			t.Error(err)
		}
	}
}

func TestObjectName(t *testing.T) {
	for in, want := range map[string]string{"": "", "vfs_read": "vfs_read", "sched:sched_switch": "sched_sched_swi", "a b-c": "a_b_c", "é": "__"} {
		if got := objectName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestBugs: a mistake that only jalon can make causes a panic.
func TestBugs(t *testing.T) {
	k := openKernel(t)
	bug := func(name string, f func()) {
		defer func() {
			if r, ok := recover().(string); !ok || !strings.HasPrefix(r, "BUG: ") {
				t.Errorf("%s: %v", name, r)
			}
		}()
		f()
	}
	bug("kind", func() { _ = Kind(200).String() })
	bug("buffer", func() {
		_, _ = k.Load(Program{Kind: RawTracepoint, Insns: asm.Instructions{asm.LoadMapValue(asm.R1, 0, 0).WithReference("none"), asm.Return()}})
	})
	l := load(t, k, Program{Kind: RawTracepoint, Insns: empty()})
	bug("other kind", func() { _, _ = l.Attach(Target{Kind: Tracepoint}) })
}

// TestStats compares the kernel's count of hits with the program's.
func TestStats(t *testing.T) {
	k := openKernel(t)
	b := newBuffer(t, k, 8)
	l := load(t, k, Program{Insns: join(mine(), word0(), addOne(1), out(1)), Kind: Tracepoint, Buffers: []*Buffer{b}})
	attach(t, l, Target{Kind: Tracepoint, Group: "syscalls", Name: "sys_enter_getpgid"})
	off, err := l.Stats()
	check(t, err)
	if off.PerHit() != 0 && off.Hits == 0 {
		t.Errorf("%+v: time without a hit", off)
	}
	stats, err := k.EnableStats()
	check(t, err)
	hits(1000)
	st, err := l.Stats()
	check(t, err)
	check(t, stats.Close())
	// Hits of this system call by other processes are counted too.
	if st.Hits < off.Hits+1000 || st.Time <= off.Time || st.PerHit() <= 0 || st.Missed != 0 {
		t.Errorf("after 1000 hits: %+v, before: %+v", st, off)
	}
	want(t, b, 0, 1000)
}

package ebpf

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ring"
)

//go:noinline
func probedFirst(a int) int { return a + 1 }

//go:noinline
func probedSecond(a int) int { return a * 2 }

// fileOffset is where in the program's file the code at pc lies.
func fileOffset(t *testing.T, pc uint64) uint64 {
	f, err := elf.Open("/proc/self/exe")
	must(t, err)
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && pc >= p.Vaddr && pc < p.Vaddr+p.Filesz {
			return pc - p.Vaddr + p.Off
		}
	}
	t.Fatalf("%#x is not in the file", pc)
	return 0
}

// records empties the ring of CPU 0.
func (m *machine) records() (recs [][]byte) {
	l, _ := layout()
	base := l.Rings
	pos, reserved := *m.shared(base + ring.RingConsumed), ring.Position(*m.shared(base + ring.RingReserved))
	recs, end, err := m.read(&l, 0, pos, reserved)
	if err != nil || end != reserved {
		m.t.Fatalf("read to %d of %d: %v", end, reserved, err)
	}
	*m.shared(base + ring.RingConsumed) = end
	return recs
}

// TestUprobe: one program at two places, distinguished by the cookie; registers, the thread pointer, the user's
// stack and the thread's name are right.
func TestUprobe(t *testing.T) {
	m := newMachine(t)
	cfg := m.config()
	cfg.Context, cfg.Space, cfg.Atomic, cfg.Return = Regs, User, true, 1
	cfg.SiteFromCookie, cfg.Sites = true, testSites
	p, err := ir.Parse(`b0:
	v0 = reg rip
	v1 = reg fs_base
	v2 = reg rax
	v3 = env site
	count 1
	reserve 336
	put.8 @24, v0
	put.8 @32, v1
	put.8 @40, v2
	put.8 @320, v3
	copycomm @48
	copyframes @64, 129
	copyframes @208, 64
	commit
	exit`)
	must(t, err)
	insns, err := Compile(p, cfg)
	must(t, err)
	prog, err := m.tryLoad(ebpf.Kprobe, insns)
	must(t, err)
	defer prog.Close()
	exe, err := link.OpenExecutable("/proc/self/exe")
	must(t, err)
	sites := []struct {
		f    func(int) int
		site uint64
	}{{probedFirst, 3}, {probedSecond, 6}}
	for _, s := range sites {
		pc := uint64(reflect.ValueOf(s.f).Pointer())
		up, err := exe.Uprobe("", prog, &link.UprobeOptions{Address: fileOffset(t, pc), PID: os.Getpid(), Cookie: s.site})
		must(t, err)
		defer up.Close()
	}
	if probedFirst(41) != 42 || probedSecond(21) != 42 {
		t.Fatal("the probed functions are wrong")
	}
	var fs uint64
	unix.RawSyscall(unix.SYS_ARCH_PRCTL, 0x1003, uintptr(unsafe.Pointer(&fs)), 0)
	recs := m.records()
	if len(recs) != 2 {
		t.Fatalf("%d records", len(recs))
	}
	for k, rec := range recs {
		pc := uint64(reflect.ValueOf(sites[k].f).Pointer())
		u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(rec[at:]) }
		if site := binary.LittleEndian.Uint32(rec[4:]); uint64(site) != sites[k].site+1 {
			t.Errorf("site %d, want %d", site, sites[k].site+1)
		}
		if u64(320) != sites[k].site {
			t.Errorf("the word of the site is %d, want %d", u64(320), sites[k].site)
		}
		if u64(24) != pc || u64(32) != fs || u64(40) != []uint64{41, 21}[k] {
			t.Errorf("rip %#x fs_base %#x rax %d; want %#x %#x", u64(24), u64(32), u64(40), pc, fs)
		}
		if string(rec[48:64]) != string(m.comm[:]) {
			t.Errorf("name %q, want %q", rec[48:64], m.comm)
		}
		if n := binary.LittleEndian.Uint32(rec[64:]); n == 0 || n%8 != 0 || n > 128 || u64(72) != pc {
			t.Errorf("user stack: %d bytes, first frame %#x", n, u64(72))
		}
		if n := binary.LittleEndian.Uint32(rec[208:]); n%8 != 0 || n > 64 {
			t.Errorf("kernel stack: %d bytes", n)
		}
		if id := u64(ring.RecThread); id != m.env[ir.EnvPidTgid] {
			t.Errorf("thread %#x", id)
		}
		at := cfg.Layout.Counters + sites[k].site*8*ring.CountersPerSite
		if n := *m.shared(at + 8); n != 1 {
			t.Errorf("site %d counted %d times", sites[k].site, n)
		}
	}
}

// TestTypedArguments: the arguments of BTF tracepoints are typed pointers to the
// verifier; programs compute with them as with any number.
func TestTypedArguments(t *testing.T) {
	m := newMachine(t)
	text := m.numbers(`b0:
	v0 = ctx.8 8
	v1 = ctx.8 16
	v2 = xor.8 v0, v1
	v3 = ctx.4 16
	v4 = load.4 v0+PID fault b9
	v5 = load.4 v1+PID fault b9
	v6 = sub.4 v4, v5
	v7 = streq v1+COMM, "swapper" fault b9
	v8 = const 100
	v9 = slt.4 v6, v8
	brif v9 -> b1() else b2()
	b1:
	count 0
	exit
	b2:
	reserve 200
	put.8 @24, v2
	put.8 @32, v0
	put.4 @40, v3
	put.1 @44, v7
	v10 = env context
	copy @48, v10, 24
	copyframes @72, 64
	commit
	exit
	b9(v20):
	count 1
	exit`)
	text = strings.NewReplacer("b9", "b3").Replace(text)
	for _, f := range []Features{m.full, {FSBase: -1, TaskComm: -1}} {
		cfg := m.config()
		cfg.Features = f
		p, err := ir.Parse(text)
		must(t, err)
		must(t, ir.Check(p))
		insns, err := Compile(p, cfg)
		must(t, err)
		for k := range insns {
			if insns[k].Reference() == mapName {
				must(t, insns[k].AssociateMap(m.buffers))
			}
		}
		prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
			Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "sched_switch", Instructions: insns, License: "GPL",
		})
		if err != nil {
			t.Fatalf("%+v\n%s", err, Listing(insns))
		}
		prog.Close()
	}
}

// TestRawTracepoint runs a program of that type on the words of a fake event.
func TestRawTracepoint(t *testing.T) {
	m := newMachine(t)
	for _, f := range []Features{m.full, {FSBase: -1, TaskComm: -1}} {
		cfg := m.config()
		cfg.Features = f
		p, err := ir.Parse(m.numbers(`b0:
	v0 = ctx.8 0
	v1 = load.4 v0+PID fault b1
	v2 = ctx.2s 14
	v3 = env task
	v4 = eq.8 v0, v3
	reserve 200
	put.4 @24, v1
	put.4 @28, v2
	put.8 @32, v4
	copyframes @40, 128
	commit
	exit
	b1(v20):
	exit`))
		must(t, err)
		insns, err := Compile(p, cfg)
		must(t, err)
		prog, err := m.tryLoad(ebpf.RawTracepoint, insns)
		must(t, err)
		var ctx [16]byte
		binary.LittleEndian.PutUint64(ctx[:], m.env[ir.EnvTask])
		binary.LittleEndian.PutUint64(ctx[8:], 0x8765000000000000)
		m.run(prog, ctx[:])
		prog.Close()
		recs := m.records()
		if len(recs) != 1 {
			t.Fatalf("%d records", len(recs))
		}
		rec := recs[0]
		if tid := binary.LittleEndian.Uint32(rec[24:]); int(tid) != unix.Gettid() {
			t.Errorf("pid %d, want %d", tid, unix.Gettid())
		}
		if v := fmt.Sprintf("%x", rec[28:40]); v != "6587ffff"+"0100000000000000" {
			t.Errorf("words %s", v)
		}
		if n := binary.LittleEndian.Uint32(rec[40:]); n == 0 || n%8 != 0 || rec[48+7] != 0xff {
			t.Errorf("kernel stack of %d bytes: % x", n, rec[48:56])
		}
	}
}

// TestListing: notes, instructions and the targets of jumps.
func TestListing(t *testing.T) {
	m := newMachine(t)
	p, err := ir.Parse("b0:\nv0 = ctx.8 0\nv1 = const 5\nv2 = ult.8 v0, v1\nbrif v2 -> b1() else b2()\nb1:\ncount 0\nexit\nb2:\nexit")
	must(t, err)
	p.Blocks[0].Note = "condition"
	insns, err := Compile(p, m.config())
	must(t, err)
	s := Listing(insns)
	for _, want := range []string{"; condition", "; count 0", "JGEImm dst: ", "<buffers>", "Exit"} {
		if !strings.Contains(s, want) {
			t.Errorf("no %q in\n%s", want, s)
		}
	}
	if strings.Count(s, "\n") < len(insns) {
		t.Errorf("%d instructions:\n%s", len(insns), s)
	}
}

package bpf

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// The function behind hit(): the entry of getpgid, run once for each call.
const getpgid = syscallEntry + "getpgid"

// TestFunctions attaches all kinds to the same function at once.
func TestFunctions(t *testing.T) {
	k := openKernel(t)
	requireKprobes(t, k)
	for kind, wanted := range map[Kind]Fact{
		Kprobe: k.Features().Kprobe, Kretprobe: k.Features().Kprobe, Fentry: k.Fentry(), Fexit: k.Fentry(),
	} {
		t.Run(kind.String(), func(t *testing.T) {
			require(t, wanted)
			b := newBuffer(t, k, 64)
			target := Target{Kind: kind, Symbol: getpgid, Cookie: 5}
			l := load(t, k, Program{Insns: byCookie(8, 0), Kind: kind, Target: target, Buffers: []*Buffer{b}})
			lk := attach(t, l, target)
			hits(1000)
			want(t, b, 5, 1000)
			check(t, lk.Close())
			hits(10)
			want(t, b, 5, 1000)
			lk = attach(t, l, target)
			hits(10)
			want(t, b, 5, 1010)
			if n, ok, err := lk.Missed(); err != nil || ok && n != 0 {
				t.Errorf("missed %d %v %v", n, ok, err)
			}
		})
	}
}

// TestKprobes attaches one program to all entries of the system calls that this test makes, with cookies.
// It repeats this without kprobe_multi.
func TestKprobes(t *testing.T) {
	calls := []struct {
		name string
		nr   uintptr
	}{{"getpgid", unix.SYS_GETPGID}, {"getsid", unix.SYS_GETSID}, {"getppid", unix.SYS_GETPPID}, {"getuid", unix.SYS_GETUID}, {"getgid", unix.SYS_GETGID}}
	for _, kind := range []Kind{Kprobe, Kretprobe} {
		for _, multi := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s multi=%v", kind, multi), func(t *testing.T) {
				k := openKernel(t)
				requireKprobes(t, k)
				if multi {
					require(t, k.Features().KprobeMulti)
				} else {
					k.features.KprobeMulti.OK = false
				}
				b := newBuffer(t, k, 64)
				l := load(t, k, Program{Insns: byCookie(8, 0), Kind: kind, Buffers: []*Buffer{b}})
				var targets []Target
				for i, c := range calls {
					targets = append(targets, Target{Kind: kind, Symbol: syscallEntry + c.name, Cookie: uint64(i)})
				}
				targets = append(targets, Target{Kind: kind, Symbol: "no_such_function"})
				lk, err := l.AttachAll(targets, nil)
				var ae *AttachError
				if !errors.As(err, &ae) || len(ae.Failed) != 1 || ae.Failed[0].Target.Symbol != "no_such_function" || lk.Places() != len(calls) {
					t.Fatal(err)
				}
				for i, c := range calls {
					for range 10 * (i + 1) {
						_, _, _ = unix.RawSyscall(c.nr, 0, 0, 0)
					}
				}
				for i := range calls[:2] { // other programs make the other calls too
					want(t, b, i, uint64(10*(i+1)))
				}
				check(t, lk.Close())
				hits(5)
				want(t, b, 0, 10)
			})
		}
	}
}

// TestKprobeOffset probes an instruction within a function, by symbol and by address.
func TestKprobeOffset(t *testing.T) {
	k := openKernel(t)
	requireKprobes(t, k)
	b := newBuffer(t, k, 64)
	l := load(t, k, Program{Insns: byCookie(8, 0), Kind: Kprobe, Buffers: []*Buffer{b}})
	addr := symbolAddress(t, getpgid)
	attach(t, l, Target{Kind: Kprobe, Addr: addr, Cookie: 1})
	text, err := k.ReadMemory(addr, 64)
	check(t, err)
	attach(t, l, Target{Kind: Kprobe, Symbol: getpgid, Offset: entry(text), Cookie: 2})
	hits(100)
	want(t, b, 1, 100)
	want(t, b, 2, 100)
}

// TestFunctionErrors: the errors of places that cannot be attached, on this kernel and on others.
func TestFunctionErrors(t *testing.T) {
	k := openKernel(t)
	attempt := func(target Target) error {
		l, err := k.Load(Program{Name: "jalon_test", Insns: empty(), Kind: target.Kind, Target: target})
		if err != nil {
			return err
		}
		defer func() { check(t, l.Close()) }()
		lk, err := l.Attach(target)
		if err == nil {
			check(t, lk.Close())
		}
		return err
	}
	kprobe := Target{Kind: Kprobe, Symbol: "no_such_function"}
	fentry := Target{Kind: Fentry, Symbol: "no_such_function"}
	if !k.Features().Kprobe.OK {
		for _, kind := range []Kind{Kprobe, Kretprobe} {
			target := Target{Kind: kind, Symbol: "vfs_read"}
			wantError(t, attempt(target), "attach to "+kind.String()+":vfs_read: this kernel has no kprobes; "+remedyKprobes(k))
		}
	} else {
		wantError(t, attempt(kprobe), "attach to kprobe:no_such_function: the kernel has no function no_such_function; see /proc/kallsyms: it may be inlined, or renamed by the compiler (NAME.isra.0)")
		err := attempt(Target{Kind: Kprobe, Symbol: forbidden})
		if e := errorOf(t, err); e.Remedy == "" {
			t.Error(err)
		}
		err = attempt(Target{Kind: Kprobe, Symbol: getpgid, Offset: 1})
		if e := errorOf(t, err); e.Remedy == "" {
			t.Error(err)
		}
	}
	if !k.Fentry().OK {
		for _, kind := range []Kind{Fentry, Fexit} {
			target := Target{Kind: kind, Symbol: "vfs_read"}
			err := attempt(target)
			if !errors.Is(err, unix.EPERM) {
				t.Errorf("fentry is missing without EPERM: %v", err)
			}
			wantError(t, err, "load the program for "+kind.String()+":vfs_read: this kernel refuses fentry and fexit to everyone (EPERM before the verifier, with all capabilities there); "+remedyFentry(k))
		}
	}
	wantError(t, attempt(fentry), "load the program for fentry:no_such_function: the kernel has no function no_such_function; it may be inlined, or renamed by the compiler (NAME.isra.0); see jalon list 'fentry:*'")
}

func TestTracepointErrors(t *testing.T) {
	k := openKernel(t)
	for _, tc := range []struct {
		target Target
		want   string
	}{
		{Target{Kind: RawTracepoint, Name: "no_such"}, "attach to rawtracepoint:no_such: there is no tracepoint no_such; see jalon list; if it belongs to a module, load the module first"},
		{Target{Kind: RawTracepoint, Name: "a\x00b"}, "attach to rawtracepoint:a\x00b: there is no tracepoint a\x00b; see jalon list; if it belongs to a module, load the module first"},
		{Target{Kind: Tracepoint, Group: "sched", Name: "no_such"}, "attach to tracepoint:sched:no_such: there is no trace event sched:no_such; see jalon list; if it belongs to a module, load the module first"},
		{Target{Kind: Tracepoint, Group: "..", Name: "sched"}, "attach to tracepoint:..:sched: there is no trace event ..:sched; see jalon list; if it belongs to a module, load the module first"},
		{Target{Kind: Tracepoint, Group: "sched", Name: "sched_switch", Pid: 1}, "attach to tracepoint:sched:sched_switch: the kernel has no filter by process for this kind of place; test the process in the condition ($pid == ...)"},
	} {
		l := load(t, k, Program{Insns: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}, Kind: tc.target.Kind})
		_, err := l.Attach(tc.target)
		wantError(t, err, tc.want)
	}
	once := Target{Kind: Tracepoint, Group: "syscalls", Name: "sys_enter_getpgid"}
	l := load(t, k, Program{Insns: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}, Kind: Tracepoint})
	attach(t, l, once)
	_, err := l.Attach(once)
	wantError(t, err, "attach to tracepoint:syscalls:sys_enter_getpgid: this program is attached to this trace event already; load it once more")
	_, err = k.Load(Program{Insns: empty(), Kind: TracedTracepoint, Target: Target{Kind: TracedTracepoint, Name: "no_such"}})
	wantError(t, err, "load the program for tp_btf:no_such: there is no tracepoint no_such; see jalon list 'rawtracepoint:*'")
}

func TestUprobeErrors(t *testing.T) {
	gone := startAndEnd(t)
	ways(t, func(t *testing.T, k *Kernel) {
		c := newCode(t, 4)
		c.write(t, 1, breakpoints...) // a breakpoint of the program's own
		c.write(t, 2, invalid...)
		l := load(t, k, Program{Insns: empty(), Kind: Uprobe})
		for _, tc := range []struct {
			target Target
			want   string
		}{
			{Target{Path: "/no/such/file", FileOffset: 4096}, "attach to uprobe:/no/such/file:0x1000: there is no file /no/such/file"},
			{Target{Path: c.path, FileOffset: c.offset(0), Pid: gone}, "attach to uprobe:" + c.path + ":0x1000: there is no process " + itoa(gone)},
			{Target{Path: c.path, FileOffset: c.offset(1)}, "attach to uprobe:" + c.path + ":0x1010: " + noStep + "; " + remedyStep},
			{Target{Path: c.path, FileOffset: c.offset(2)}, "attach to uprobe:" + c.path + ":0x1020: " + noStep + "; " + remedyStep},
			{Target{Path: "/tmp", FileOffset: 4096}, "attach to uprobe:/tmp:0x1000: " + noUprobe},
			{Target{Path: "/dev/null", FileOffset: 4096}, "attach to uprobe:/dev/null:0x1000: " + noUprobe},
		} {
			tc.target.Kind = Uprobe
			_, err := l.Attach(tc.target)
			wantError(t, err, tc.want)
		}
	})
}

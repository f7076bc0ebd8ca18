package bpf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// TestWildcard attaches one program to each trace event of a pattern, with its index in the list as the
// cookie, and causes hits of some of them.
func TestWildcard(t *testing.T) {
	k := openKernel(t)
	require(t, k.Features().PerfLink)
	dirs, err := filepath.Glob(filepath.Join(k.Features().Tracefs, "events/syscalls/sys_enter_get*"))
	check(t, err)
	if len(dirs) < 10 {
		t.Fatalf("%d trace events", len(dirs))
	}
	index := map[string]int{}
	var targets []Target
	for i, dir := range dirs {
		index[strings.TrimPrefix(filepath.Base(dir), "sys_enter_")] = i
		targets = append(targets, Target{Kind: Tracepoint, Group: "syscalls", Name: filepath.Base(dir), Cookie: uint64(i)})
	}
	targets = append(targets, Target{Kind: Tracepoint, Group: "syscalls", Name: "sys_enter_no_such"})
	b := newBuffer(t, k, 4096)
	l := load(t, k, Program{Insns: byCookie(512, 1), Kind: Tracepoint, Buffers: []*Buffer{b}})
	lk, err := l.AttachAll(targets, nil)
	if ae, ok := err.(*AttachError); !ok || len(ae.Failed) != 1 || ae.Attached != len(dirs) {
		t.Fatal(err)
	}
	defer func() { check(t, lk.Close()) }()
	for name, nr := range map[string]uintptr{"getpgid": unix.SYS_GETPGID, "getsid": unix.SYS_GETSID, "getpriority": unix.SYS_GETPRIORITY} {
		for range 7 {
			_, _, _ = unix.RawSyscall(nr, 0, 0, 0)
		}
		want(t, b, index[name], 7)
	}
}

// TestNoneOfAll: if no place can be attached, there is no link.
func TestNoneOfAll(t *testing.T) {
	k := openKernel(t)
	l := load(t, k, Program{Name: "jalon_none", Insns: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}, Kind: Tracepoint})
	lk, err := l.AttachAll([]Target{{Kind: Tracepoint, Group: "a", Name: "b"}, {Kind: Tracepoint, Group: "c", Name: "d"}}, nil)
	if lk != nil || err == nil || !strings.HasPrefix(err.Error(), "2 of 2 places could not be attached; the first: attach to tracepoint:a:b: there is no trace event a:b") {
		t.Errorf("link %v, error %v", lk, err)
	}
	if _, links := objects(t, "jalon_none"); links != 0 {
		t.Errorf("%d links", links)
	}
	lk, err = l.AttachAll(nil, nil)
	if err != nil || lk.Places() != 0 {
		t.Errorf("no places: %v, %v", lk, err)
	}
	check(t, lk.Close())
	if _, err := os.Stat(filepath.Join(k.Features().Tracefs, "events")); err != nil {
		t.Error(err)
	}
}

package test

import (
	"fmt"
	"strings"
	"testing"
)

// uses compiles a program with two libraries: both have a function shared_work, and only
// that of the second is for others.
func uses(t *testing.T) (prog, hidden, used string) {
	hidden = compile(t, "gcc", "used.c", "-g", "-O1", "-shared", "-fPIC", "-DHIDDEN")
	used = compile(t, "gcc", "used.c", "-g", "-O1", "-shared", "-fPIC")
	return compile(t, "gcc", "uses.c", "-g", "-O1", hidden, used), hidden, used
}

// TestLinkedThreadLocal: a library that is loaded at the start of the program has its thread-local data at
// a fixed distance from the thread pointer, whichever access model its code uses.
func TestLinkedThreadLocal(t *testing.T) {
	prog, _, used := uses(t)
	r := trace(t, "uprobe:"+used+":shared_work", "-c", "inlib, i", "--", prog)
	var got []int64
	for i := range r.events {
		got = append(got, r.events[i].Num(t, "inlib"))
	}
	if fmt.Sprint(got) != "[42 42 43 45 48]" {
		t.Errorf("inlib = %v, status %d\n%s", got, r.status, tail(r.stderr))
	}
}

// TestImportedFunction: both engines use one rule. A function that a file imports from a library means that
// library's function, even if another library has a hidden function of that name. A function that the file
// does not import is not found.
func TestImportedFunction(t *testing.T) {
	prog, _, used := uses(t)
	for _, engine := range []string{"process", "kernel"} {
		r := trace(t, "--engine="+engine, "uprobe:"+prog+":shared_work", "-c", "arg0", "--", prog)
		if r.sum.Hits != 5 || r.sum.Sites != 1 || !strings.Contains(r.stderr, used) {
			t.Errorf("%s: summary %+v\n%s", engine, r.sum, tail(r.stderr))
		}
		// libc has it, and the program does not use it.
		if r := jalon(t, "trace", "--engine="+engine, "uprobe:"+prog+":strfry", "--", prog); r.status == 0 || !strings.Contains(r.stderr, `no function "strfry"`) {
			t.Errorf("%s: a function that the program does not use: status %d\n%s", engine, r.status, tail(r.stderr))
		}
	}
}

// TestCopiedVariable: a variable of a library is where the library's code has it, which
// is in the program where that has a copy of it (R_X86_64_COPY).
func TestCopiedVariable(t *testing.T) {
	lib := compile(t, "gcc", "shared.c", "-g", "-O1", "-shared", "-fPIC")
	prog := compile(t, "gcc", "shares.c", "-g", "-O1", "-no-pie", "-fno-pic", lib)
	for _, engine := range []string{"process", "kernel"} {
		r := trace(t, "--engine="+engine, "uprobe:"+lib+":count_up if (shared_count >= 77)", "-c", "shared_count, own_count, *&shared_count", "--", prog)
		var got []string
		for i := range r.events {
			e := &r.events[i]
			got = append(got, fmt.Sprint(e.Num(t, "shared_count"), e.Num(t, "own_count"), e.Num(t, "*&shared_count")))
		}
		if fmt.Sprint(got) != "[77 9 77 77 10 77 78 11 78]" {
			t.Errorf("%s: %v\n%s", engine, got, tail(r.stderr))
		}
	}
}

package test

import (
	"fmt"
	"testing"
)

// uses compiles a program with two libraries: both have a function shared_work, and only
// that of the second is for others.
func uses(t *testing.T) (prog, hidden, used string) {
	hidden = compile(t, "gcc", "used.c", "-g", "-O1", "-shared", "-fPIC", "-DHIDDEN")
	used = compile(t, "gcc", "used.c", "-g", "-O1", "-shared", "-fPIC")
	return compile(t, "gcc", "uses.c", "-g", "-O1", hidden, used), hidden, used
}

// TestLinkedThreadLocal: a library that is there when the program starts has its
// thread-local data at one distance from the thread pointer, whichever way its code takes
// to it.
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

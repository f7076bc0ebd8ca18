package test

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLoader: tracepoints at all instructions of the code around the function of ld.so at which jalon itself notices
// libraries. The program loads and unloads a library again and again; each run has the hits of each round, and a function
// of the library is found each time.
func TestLoader(t *testing.T) {
	need(t, "objdump")
	lib := compile(t, "gcc", "plugin.c", "-g", "-O2", "-shared", "-fPIC")
	prog := compile(t, "gcc", "plugins.c", "-g", "-O2")
	linker := interpreterOf(t, prog)
	state, near := changedFunction(t, linker)
	hits := func(rounds int, places ...string) (atState, all uint64) {
		t.Helper()
		args := []string{"-c", "$pc", "--pending", "uprobe:" + lib + ":plugin_work"}
		r := unchanged(t, []string{prog, lib, strconv.Itoa(rounds)}, append(args, places...)...)
		works := 0
		for i := range r.events {
			switch p := r.events[i].Place; {
			case strings.HasSuffix(p, fmt.Sprintf(":%#x", state)):
				atState++
			case strings.HasSuffix(p, "plugin_work"):
				works++
			}
		}
		if works != 10*rounds || r.sum.Lost != 0 || r.sum.Hits != uint64(len(r.events)) {
			t.Errorf("%d places, %d rounds: %d calls, %+v: %s", len(places), rounds, works, r.sum, tail(r.stderr))
		}
		return atState, r.sum.Hits - uint64(works)
	}
	atState := fmt.Sprintf("uprobe:%s:%#x", linker, state)
	few, _ := hits(5, atState)
	many, _ := hits(25, atState)
	if n := many - few; n < 2*20 || n%20 != 0 {
		t.Errorf("%d and %d calls of _dl_debug_state in 5 and 25 rounds", few, many)
	}
	if n, _ := hits(25, append(near, atState)...); n != many {
		t.Errorf("%d calls of _dl_debug_state; with tracepoints around it %d", many, n)
	}
	_, less := hits(5, near...)
	if _, more := hits(25, near...); more < less+20 {
		t.Errorf("%d and %d hits around _dl_debug_state in 5 and 25 rounds", less, more)
	}
}

// must ends the test at an error.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// interpreterOf is the dynamic linker of a program.
func interpreterOf(t *testing.T, prog string) string {
	t.Helper()
	f := must(elf.Open(prog))(t)
	defer f.Close()
	b := must(f.Section(".interp").Data())(t)
	return strings.TrimRight(string(b), "\x00")
}

// changedFunction is the address of _dl_debug_state, and the other instructions around it but for padding.
func changedFunction(t *testing.T, linker string) (state uint64, near []string) {
	t.Helper()
	f := must(elf.Open(linker))(t)
	defer f.Close()
	for _, s := range must(f.DynamicSymbols())(t) {
		if s.Name == "_dl_debug_state" {
			state = s.Value
		}
	}
	if state == 0 {
		t.Fatalf("%s has no _dl_debug_state", linker)
	}
	out := must(exec.Command("objdump", "-d", "--no-show-raw-insn", fmt.Sprintf("--start-address=%#x", state),
		fmt.Sprintf("--stop-address=%#x", state+0x100), linker).Output())(t)
	for _, m := range regexp.MustCompile(`(?m)^ +([0-9a-f]+):\t(\w+)`).FindAllStringSubmatch(string(out), -1) {
		addr, err := strconv.ParseUint(m[1], 16, 64)
		if err == nil && addr != state && addr < state+0xf0 && !regexp.MustCompile(`^(nop|data16|cs|xchg)`).MatchString(m[2]) {
			near = append(near, fmt.Sprintf("uprobe:%s:%#x", linker, addr))
		}
	}
	if len(near) < 10 {
		t.Fatalf("%d instructions after _dl_debug_state", len(near))
	}
	return state, near
}

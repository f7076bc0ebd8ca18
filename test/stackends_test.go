package test

import (
	"strings"
	"testing"
)

// TestStackEnds: scripts say where a stack is not known any more, except where the script wants no more of it.
func TestStackEnds(t *testing.T) {
	prog := compile(t, "gcc", "unaligned.c", "-O2", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-omit-frame-pointer")
	r := jalon(t, "run", "-q", "-e", "uprobe:"+prog+`:inner { print(len(ustack)); @whole[ustack] = count(); @one[ustack(1)] = count(); @raw[ustack(raw)] = count(); exit(); }`, "-c", prog)
	if r.status != 0 || !strings.HasPrefix(r.stdout, "1\n") {
		t.Fatalf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	for _, want := range []string{
		"@whole[\n    inner+0\n    [the stack goes on: no call frame information for this code]\n]: 1\n",
		"@one[\n    inner+0\n]: 1\n",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no\n%s\nin\n%s", want, r.stdout)
		}
	}
	if _, raw, _ := strings.Cut(r.stdout, "@raw["); strings.Count(raw, "\n") < 3 || strings.Contains(strings.SplitN(raw, "]:", 2)[0], "goes on") {
		t.Errorf("the raw stack:\n%s", raw)
	}
}

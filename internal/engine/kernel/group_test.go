package kernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/ir"
)

// TestGroup: equal programs of one key are loaded once, those of several keys if they are long and no other program is at their event.
func TestGroup(t *testing.T) {
	made := func(length int, note string) *ir.Program {
		var b strings.Builder
		fmt.Fprintf(&b, "program %q\nb0: ; %s\n", note, note)
		for i := range length {
			fmt.Fprintf(&b, "v%d = const %d\n", i, i)
		}
		p, err := ir.Parse(b.String() + "exit\n")
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	at := func(kind bpf.Kind, key any, event string, length int, note string) *program {
		v := &variant{target: bpf.Target{Kind: kind, Group: "g", Name: event}}
		return &program{Program: &engine.Program{Key: key, IR: made(length, note)}, at: &Point{v: v}}
	}
	const long = sharedFrom
	for i, c := range []struct {
		list []*program
		want string // how many programs each load serves
	}{
		{[]*program{at(bpf.Tracepoint, 1, "a", 3, "x"), at(bpf.Tracepoint, 1, "b", 3, "y")}, "2"},
		{[]*program{at(bpf.Tracepoint, 1, "a", 3, "x"), at(bpf.Tracepoint, 2, "b", 3, "x")}, "1 1"},
		{[]*program{at(bpf.Tracepoint, 1, "a", long, "x"), at(bpf.Tracepoint, 2, "b", long, "y"), at(bpf.Tracepoint, 3, "c", long+1, "x")}, "2 1"},
		{[]*program{at(bpf.Tracepoint, 1, "a", long, "x"), at(bpf.Tracepoint, 2, "b", long, "x"), at(bpf.Tracepoint, 3, "b", 3, "x")}, "1 1 1"},
		{[]*program{at(bpf.RawTracepoint, 1, "a", long, "x"), at(bpf.RawTracepoint, 2, "b", long, "x")}, "1 1"},
	} {
		var got []string
		for _, l := range group(c.list) {
			got = append(got, fmt.Sprint(len(l.programs)))
			if several := l.programs[0].Key != l.programs[len(l.programs)-1].Key; l.ofSeveralKeys() != several {
				t.Errorf("case %d: of several keys: %v", i, !several)
			}
			for k, one := range apart(l) {
				if len(one.programs) != 1 || one.programs[0] != l.programs[k] || l.programs[k].load != one {
					t.Errorf("case %d: program %d has no load of its own", i, k)
				}
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("case %d: %s, want %s", i, s, c.want)
		}
	}
}

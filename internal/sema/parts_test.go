package sema

import (
	"fmt"
	"testing"

	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ir"
)

// TestParts: parts within parts, with and without items, as the program is and optimised. A local that a part changes has its last value
// behind it, and the one from before if the part is not executed.
func TestParts(t *testing.T) {
	all := &Map{Name: "@all", Kind: MapSum, Key: []KeyPart{{}}}
	for _, c := range []struct {
		outer, inner string
		want         string // locals 0 to 3 behind the parts, items, updates
	}{
		{"i == -5", "p->len == 4097", "7 3 4097 -5, ok -5, ok 4097, 11, faults 0"},
		{"i == -5", "p->len != 4097", "6 0 0 -5, ok -5, ok 0, 1, faults 0"},
		{"i == 5", "p->len == 4097", "5 0 0 0, ok 0, ok 0, 0, faults 0"},
		{"bad->len", "1", "5 0 0 0, ok 0, ok 0, 0, faults 1"},
		{"1", "bad->len", "6 0 0 -5, ok -5, ok 0, 1, faults 1"},
	} {
		s, m := sample()
		at := func(after, local int, a Action) Action {
			a.After, a.Local = after, local
			return a
		}
		keep := func(after, local int, value string) Action { return at(after, local, act(t, nil, Keep, value, "")) }
		update := func(after int, value string) Action { return at(after, 0, act(t, all, Update, value, "", "1")) }
		in := Input{Maps: []*Map{all}, Actions: []Action{
			keep(0, 0, "5"),
			at(0, 0, act(t, nil, Begin, "", c.outer)),
			keep(0, 0, "@local(0) + 1"),
			at(1, 3, act(t, nil, Taken, "(long)i", "")),
			update(1, "1"),
			at(1, 0, act(t, nil, Begin, "", c.inner)),
			keep(1, 1, "3"),
			at(2, 2, act(t, nil, Taken, "(long)p->len", "")),
			update(2, "10"),
			keep(2, 0, "@local(0) + 1"),
			at(2, 0, act(t, nil, End, "", "")),
			at(2, 0, act(t, nil, End, "", "")),
		}}
		const items = "(long)i, (long)p->len, @local(0), @local(1), @local(2), @local(3)"
		out := compile(t, s, in, "", items)
		show := func() string {
			r := run(t, out, m)
			sum := uint64(0)
			for _, e := range r.Maps[0] {
				sum += e.Words[0]
			}
			state := map[event.Status]string{event.OK: "ok", event.Unreadable: "unreadable"}
			return fmt.Sprintf("%d %d %d %d, %s %d, %s %d, %d, faults %d",
				r.int(2), r.int(3), r.int(4), r.int(5), state[r.status(0)], r.int(0), state[r.status(1)], r.int(1), sum, r.Counters[1])
		}
		plain := show()
		if err := ir.Optimize(out.Program); err != nil {
			t.Fatal(err)
		}
		if optimised := show(); plain != c.want || optimised != c.want {
			t.Errorf("%s, %s: %q, optimised %q, want %q\n%s", c.outer, c.inner, plain, optimised, c.want, out.Program)
		}
		// Without a record, Taken computes the value itself.
		in.Actions = append(in.Actions, update(2, "1000 * @local(2)"))
		o := hit(t, s, m, in, "")
		var got, want uint64
		for _, e := range o.Maps[0] {
			got = e.Words[0]
		}
		var a, b, n, i, x, y, sum int64
		if _, err := fmt.Sscanf(c.want, "%d %d %d %d, ok %d, ok %d, %d,", &a, &b, &n, &i, &x, &y, &sum); err != nil {
			t.Fatal(err)
		}
		if want = uint64(sum + 1000*n); got != want {
			t.Errorf("%s, %s: without a record @all is %d, want %d", c.outer, c.inner, got, want)
		}
	}
}

// TestTakenFault: an item that cannot be read is marked, and its local is 0.
func TestTakenFault(t *testing.T) {
	s, m := sample()
	taken := act(t, nil, Taken, "(long)bad->len", "")
	taken.After, taken.Local = 1, 0
	end := act(t, nil, End, "", "")
	end.After = 1
	in := Input{Actions: []Action{act(t, nil, Begin, "", "1"), taken, end}}
	out := compile(t, s, in, "", "(long)bad->len, @local(0) + 3")
	for range 2 {
		if r := run(t, out, m); r.status(0) != event.Unreadable || r.faultAddr(0) != m.Regs[4] || r.int(1) != 3 || r.Counters[1] != 0 {
			t.Errorf("status %d, address %#x, the local + 3 is %d, %d faults", r.status(0), r.faultAddr(0), r.int(1), r.Counters[1])
		}
		if err := ir.Optimize(out.Program); err != nil {
			t.Fatal(err)
		}
	}
}

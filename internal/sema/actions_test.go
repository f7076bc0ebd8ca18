package sema

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/eval"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/test/testkit"
)

// act makes an action from texts; an empty text is nothing.
func act(t testing.TB, m *Map, do Do, value, cond string, key ...string) Action {
	t.Helper()
	parse := func(s string) lang.Expr {
		if s == "" {
			return nil
		}
		c, err := lang.ParseCondition(lang.TextOf("action", s))
		if err != nil {
			t.Fatal(err)
		}
		return c.X
	}
	a := Action{Map: m, Do: do, Value: parse(value), If: parse(cond), From: lang.TextOf("action", strings.Repeat(" ", 80))}
	for _, k := range key {
		a.Key = append(a.Key, parse(k))
	}
	return a
}

// hit runs a program as it is and optimised, and holds that both leave the same maps.
func hit(t testing.TB, s debuginfo.Scope, m *eval.Machine, in Input, cond string) eval.Outcome {
	t.Helper()
	in.NoRecord = true
	out := compile(t, s, in, cond, "")
	first := eval.Run(out.Program, m)
	if err := ir.Optimize(out.Program); err != nil {
		t.Fatal(err)
	}
	second := eval.Run(out.Program, m)
	if d := first.DiffMaps(second.Maps); d != "" || first.Exit != eval.Exited {
		t.Fatalf("%v, optimised: %s\n%s", first.Exit, d, out.Program)
	}
	return second
}

func textKey(words int, s string) (k eval.Key) {
	var b [8 * ir.MaxKeyWords]byte
	copy(b[:], s)
	for n := range words {
		k[2+n] = binary.LittleEndian.Uint64(b[8*n:])
	}
	return k
}

func TestActions(t *testing.T) {
	s, m := sample()
	count, sum := &Map{Name: "@", Kind: MapCount}, &Map{Name: "@sum", Kind: MapSum, Key: []KeyPart{{}}}
	number := &Map{Name: "@n", Key: []KeyPart{{}}}
	text := &Map{Name: "@t", Kind: MapStats, Key: []KeyPart{{}, {Kind: KeyText, Bytes: 16}, {}, {}}}
	in := Input{Maps: []*Map{number}, Actions: []Action{
		act(t, count, Update, "", ""),
		act(t, count, Update, "", "i < -100"),
		act(t, sum, Update, "i", "", "c"),
		act(t, sum, Update, "p->len", "", "c"),
		act(t, sum, Update, "bad->len", "", "c"),
		act(t, sum, Update, "1", "", "bad->len"),
		act(t, number, Set, "(i + 12)", "", "1"),
		act(t, number, Update, `@map("@n", 1) * 2`, "", "1"),
		act(t, number, Update, `@map("@n", 99)`, "", "2"),
		act(t, number, Set, "5", "", "3"),
		act(t, number, Delete, "", "", "3"),
		act(t, text, Update, "7", "", "i", "p->path", "p->len", "c"),
		act(t, text, Update, "8", "", "i", "str(p->path, 5)", "p->len", "c"),
		act(t, text, Update, "9", "", "i", "buf", "p->len", "c"),
		act(t, text, Update, "9", "", "i", `"abc"`, "p->len", "c"),
		act(t, text, Update, "10", "", "i", "p->name", "p->len", "c"),
		act(t, text, Update, "10", "", "i", "str(bad)", "p->len", "c"),
	}}
	o := hit(t, s, m, in, "p->len == 4097")
	if o.Counters != [ir.Counters]uint64{1: 3} {
		t.Errorf("counters %v, want three actions that could not be evaluated", o.Counters)
	}
	minus5 := ^uint64(4)
	key := func(s string) eval.Key {
		k := textKey(2, s)
		k[0], k[1], k[4], k[5] = minus5, 4097, 1, 0
		return k
	}
	want := map[string]map[eval.Key]string{
		"@":    {{}: "false [1]"},
		"@sum": {{1}: "true [4092]"},
		"@n":   {{1}: "true [21]", {2}: "true [0]", {3}: "false [0]"},
		"@t":   {key("/etc/passwd"): "false [1 7]", key("/etc/"): "false [1 8]", key("abc"): "false [2 18]", key("fulltext"): "false [1 10]"},
	}
	for n, name := range []string{"@", "@sum", "@n", "@t"} {
		got := map[eval.Key]string{}
		for k, s := range o.Maps[n] {
			got[k] = fmt.Sprint(s.Shown, " ", s.Words)
		}
		if fmt.Sprint(got) != fmt.Sprint(want[name]) {
			t.Errorf("%s:\n%v, want\n%v", name, got, want[name])
		}
	}
	if o := hit(t, s, m, in, "p->len == 1"); len(o.Maps[0])+len(o.Maps[1]) != 0 || o.Counters[0] != 1 {
		t.Errorf("the condition is false, the maps have %v", o.Maps)
	}
}

// TestHistograms compares the index of random values with HistIndex, and what the other kinds keep with Go's arithmetic.
func TestHistograms(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	s, m := sample()
	lowest, largest := &Map{Name: "@min", Kind: MapMin}, &Map{Name: "@max", Kind: MapMax}
	ulowest := &Map{Name: "@umin", Kind: MapMin, Unsigned: true}
	in := Input{Actions: []Action{act(t, lowest, Update, "$rax", ""), act(t, largest, Update, "$rax", ""), act(t, ulowest, Update, "$rax", "")}}
	linear := []*Map{{Kind: MapLinear, Low: -10, High: 30, Step: 7}, {Kind: MapLinear, Low: math.MinInt64, High: math.MaxInt64, Step: 1 << 60}}
	for n, l := range linear {
		l.Name = fmt.Sprint("@l", n)
		in.Actions = append(in.Actions, act(t, l, Update, "$rax", ""))
	}
	for k := range uint(MaxHistBits + 1) {
		in.Actions = append(in.Actions, act(t, &Map{Name: fmt.Sprint("@h", k), Kind: MapHist, Bits: k}, Update, "$rax", ""))
	}
	values := []int64{0, 1, 2, 3, 4, -1, -10, -11, 29, 30, math.MinInt64, math.MaxInt64, math.MaxInt64 - 1}
	for range 300 {
		values = append(values, int64(r.Uint64()>>r.Intn(64)), -int64(r.Uint64()>>r.Intn(64)))
	}
	least, most, uleast := int64(math.MaxInt64), int64(math.MinInt64), uint64(math.MaxUint64)
	for n, v := range values {
		least, most, uleast = min(least, v), max(most, v), min(uleast, uint64(v))
		m.Regs[0] = uint64(v)
		o := hit(t, s, m, in, "")
		m.Maps = o.Maps[:3]
		one := func(i int, at int) {
			t.Helper()
			a := in.Actions[i].Map
			for w, c := range o.Maps[i][eval.Key{}].Words {
				if w == at != (c == 1) {
					t.Fatalf("%s of %d: word %d is %d, want it in word %d", a.Name, v, w, c, at)
				}
			}
		}
		for i, l := range linear {
			at := 0
			switch {
			case v >= l.High:
				at = l.Words() - 1
			case v >= l.Low:
				at = int(uint64(v-l.Low)/uint64(l.Step)) + 1
			}
			one(3+i, at)
		}
		for k := range uint(MaxHistBits + 1) {
			one(5+int(k), HistIndex(v, k))
		}
		for i, want := range []uint64{uint64(least), uint64(most), uleast} {
			a := in.Actions[i].Map
			if w := o.Maps[i][eval.Key{}].Words; w[0] != uint64(n)+1 || a.Extreme(w[1]) != want {
				t.Fatalf("%s: %d values, %#x, want %#x", a.Name, w[0], a.Extreme(w[1]), want)
			}
		}
	}
}

// TestActionErrors: the user's errors.
func TestActionErrors(t *testing.T) {
	s, _ := sample()
	count, text := &Map{Name: "@", Kind: MapCount}, &Map{Name: "@t", Kind: MapSum, Key: []KeyPart{{Kind: KeyText, Bytes: 8}}}
	for _, c := range []struct {
		a    Action
		want string
	}{
		{act(t, count, Set, "1", ""), "made of the values of all hits"},
		{act(t, count, Delete, "", ""), "made of the values of all hits"},
		{act(t, count, Update, "", "", "1"), "the key of @ has 0 parts, this has 1"},
		{act(t, text, Update, "x", "", "text"), "statements keep fractions"},
		{act(t, text, Update, "", "", "text"), "a value for @t is missing"},
		{act(t, text, Update, "1", "", "i"), "is text, not int"},
		{act(t, text, Update, "nothing", "", "text"), `no variable "nothing"`},
		{act(t, &Map{Name: "@h", Kind: MapLinear, Low: 1, High: 1, Step: 1}, Update, "1", ""), "the lower bound"},
		{act(t, &Map{Name: "@k", Key: make([]KeyPart, 40)}, Update, "1", ""), "at most"},
		{act(t, &Map{Name: "@s", Key: []KeyPart{{Kind: KeyStack}}}, Update, "1", "", "$bt"), "stacks cannot be keys"},
	} {
		_, err := tryCompile(s, Input{Actions: []Action{c.a}}, "", "")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestKept: what is kept is as it was when it was kept; actions without a record end the hit.
func TestKept(t *testing.T) {
	s, m := sample()
	m.Ticks = 3 << 32
	start := &Map{Name: "@start", Key: []KeyPart{{Kind: KeyThread}}, SetOnly: true}
	all := &Map{Name: "@all", Kind: MapSum, Key: []KeyPart{{}}}
	keep := func(n int, value, cond string) Action {
		a := act(t, nil, Keep, value, cond)
		a.Local = n
		return a
	}
	sum := func(value string) Action { return act(t, all, Update, value, "", "1") }
	in := Input{
		Moment: &Moment{Ticks: 1 << 32, NS: 1000, Rate: 0.5}, Maps: []*Map{start, all},
		Actions: []Action{
			act(t, start, Set, "i + 12", "", "$tid"), // 7
			keep(0, `@map("@start", $tid)`, ""),
			keep(1, `@has("@start", $tid)`, ""),
			act(t, start, Delete, "", "", "$tid"),
			keep(2, `@has("@start", $tid) + @map("@start", $tid)`, ""),
			keep(3, "5", "i > 0"), keep(4, "bad->len", ""), keep(5, "@nsecs()", ""),
			sum("@local(0)"), sum("100 * @local(1)"), sum("1000 * @local(2)"), sum("10000 * @local(3)"), sum("100000 * @local(4)"),
			act(t, all, Update, "@local(5)", "", "2"),
			act(t, nil, Leave, "", "@local(0) == 8"),
			sum("2"),
			act(t, nil, Leave, "", "@local(0) == 7"),
			sum("4"),
		},
	}
	o := hit(t, s, m, in, "")
	thread := eval.Key{m.Regs[ir.RegThread]}
	if got := o.Maps[0][thread]; got == nil || got.Shown || got.Words[0] != 7 {
		t.Errorf("@start has %+v, want 7, hidden", o.Maps[0])
	}
	if got, time := o.Maps[1][eval.Key{1}], o.Maps[1][eval.Key{2}]; got.Words[0] != 109 || time.Words[0] != 1<<32+1000 {
		t.Errorf("@all has %v and %v", got, time)
	}
	if o.Counters[1] != 1 {
		t.Errorf("%d operands could not be evaluated, want 1", o.Counters[1])
	}
	for _, c := range []struct {
		a    Action
		want string
	}{
		{sum("@local(9)"), "what an action before has kept"},
		{act(t, start, Set, "1", "", "i"), "is a thread: $tid"},
		{sum("@nsecs()"), "which is not known here"},
	} {
		if _, err := tryCompile(s, Input{Actions: []Action{c.a}}, "", ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

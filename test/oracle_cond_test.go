package test

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
)

// conditions by the mark in vars.c's comment of the line they are set on.
var conditions = map[string][]string{
	"scalars:first": {
		"i > 0", "i >= 0", "i < 0", "i == -1", "u > i", "u == 4000000000", "l < 0", "l == -5000000000", "c == 'b'", "c > 97 && i", "sc < -99", "sc == 156", "s * s > 1000000",
		"big > 0xfedcba9876543210", "big >> 60 == 15", "big % 10 == 6", "flag", "!flag", "flag == 1 || i < 0", "thread_count > 100", "calls == 1", "file_static == 41 && global_int < 0",
		"(char)i == 1", "(unsigned)i > 1000", "i / 0", "*(int *)0 == 1", "i && 10 / i > 0", "(i ? c : s) == 97", "global_string[0] == 'h'", "*global_string == 104 && global_string[1] != 'x'",
	},
	"scalars:last":   {"sum > 0", "sum & 1", "calls > 1", "sink == (int)sum", "sum % 3 == 0", "sum != sink"},
	"floats:loop":    {"step > 1e10", "k == 1", "f > 1", "f * k + d == step", "sum == 0", "(int)(f * 2) & 1", "n - k > 1", "d == 1e10 && k", "step / f < 1e10", "f == 0.5f", "sum < step ? k : !k"},
	"floats:last":    {"sum > 2e10", "f < 2", "!f", "n == 2"},
	"structs:loop":   {"it == n", "it != n", "it->next", "!it->next", "it->at.x > 0", "it->bits.b == -3", "it->bits.c > 4294967295", "it->bits.e == BLUE", "it->name && it->name[0] == 'f'", "it->next->at.x == -1", "it->next->next->at.x == 1", "total > 0", "local.x * 2 > 3", "it->w.f == 1.5", "it->weight < 0.2 && it->weight > 0", "it->grid[1][2] == -9", "it->tag[0] == 't'", "n->call == twice", "it->inner - 77", "it->other == 0"},
	"structs:last":   {"local.y > 2", "total != 0", "q == &points[1]", "q - points == 2", "q->x < 0", "fl & F_A", "fl == (F_A | F_C)", "col == GREEN", "p.x == 1"},
	"inlined:body":   {"a > 0", "b == 3", "c == a * b", "c > 3", "a & 1"},
	"shadow:inner":   {"v == 10", "v > r", "r == 2", "v == r * 10"},
	"shadow:outer":   {"v == 1", "r > 10", "r == 11 * v"},
	"pointers:last":  {"vp", "!vp", "text == 0", "text && *text == 't'", "*p == -20", "**pp == *p", "pp == &p", "arr[2] == 30", "arr[n - 1] == 40", "p - arr == 1", "r == -100", "p > arr", "*(short *)p == -20"},
	"in_pieces:loop": {"p.a > 3", "p.b < 0", "i == 2", "m.d > 0", "m.i & 1", "n == 2"},
	"many:first":     {"a == 1", "b > 1", "c < 0", "d == 2.5f", "e == 'e'", "f == -3", "g * 2 == 8", "h >= 1e6", "i || a", "j > 199", "k < 0.2", "a * b + c > 0"},
	"recurse:leaf":   {"*up > 0", "n == 0", "here == 0"},
	"inner:body":     {"x > 3", "y & 1", "(x ^ 0x55) == y"},
	"vla:loop":       {"a[i] > 0", "a[i] == i * i", "i == n - 1", "r >= 0", "two[1][i] == -i"},
	"constants:last": {"copy > 5", "n == 1", "yes", "five + seven == 12", "fixed.y == 4", "col == BLUE"},
	"kinds:list":     {"it == l", "it->key < 0", "it->flex[0] == 200", "!it->next", "it->prev == l"},
	"kinds:last":     {"r > 0", "hits == 1", "k->lo == 100", "k->hi > 7999", "d->low == 2", "d->in[1].p[0].y == -6", "s.a == -1000", "s.d + s.e == 35", "fn == add", "fn == sub", "d->mask & F_C"},
	"single:last":    {"a > b", "m < 0", "b == 1.25f", "wide_m > 1"},
	"narrow:last":    {"x > 200", "y < 0", "a >= 250", "b < 0", "c == 65530", "d == -7", "e"},
	"shapes:last":    {"r == 1", "t > 0", "r && t"},
}

// marks finds the lines of vars.c by their marks.
func marks(t *testing.T) map[string]int {
	b, err := os.ReadFile("programs/vars.c")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for i, l := range strings.Split(string(b), "\n") {
		if _, c, ok := strings.Cut(l, "/* "); ok {
			out[strings.TrimSuffix(strings.TrimSpace(c), " */")] = i + 1
		}
	}
	return out
}

// condition is one condition with its place and the addresses that it is valid at.
type condition struct {
	line  int
	text  string
	addrs []uint64
}

// conditions are those that jalon accepts at every address of their lines.
func (s *subject) conditions() (list []condition) {
	lines := marks(s.t)
	for mark, texts := range conditions {
		line := lines[mark]
		if line == 0 {
			s.t.Fatalf("vars.c has no mark %s", mark)
		}
		sites, err := s.mod.LineSites("vars.c", line)
		if err != nil {
			s.t.Fatalf("%s: %v", mark, err)
		}
		for _, text := range texts {
			c := condition{line: line, text: text}
			for _, x := range sites {
				sc, err := s.mod.ScopeAt(x.Addr)
				if err != nil || !compiles(sc, s.bias, text) || killsGDB(sc, text) {
					c.addrs = nil
					break
				}
				c.addrs = append(c.addrs, x.Addr+s.bias)
			}
			if c.addrs != nil {
				list = append(list, c)
			}
		}
	}
	sort.Slice(list, func(i, j int) bool {
		return list[i].line < list[j].line || list[i].line == list[j].line && list[i].text < list[j].text
	})
	return list
}

func killsGDB(sc debuginfo.Scope, text string) bool {
	p := point{args: sc.Args(), locals: sc.Locals(), gone: map[string]string{}, missing: map[string]string{}}
	re := p.fatalToGDB()
	return re != nil && re.MatchString(text)
}

func compiles(sc debuginfo.Scope, bias uint64, text string) bool {
	cond, err := lang.ParseCondition(lang.TextOf("condition", text))
	if err != nil {
		return false
	}
	_, err = sema.Compile(&sema.Input{
		Scope: sc, Bias: bias, Cond: cond, Place: "p",
		TLSOffset: func() (int64, error) { return 0, nil },
	})
	return err == nil
}

// TestOracleConditions counts the hits with a true condition, for every
// condition at every address, as GDB does.
func TestOracleConditions(t *testing.T) {
	for _, b := range oracleBuilds {
		if b.more && !full {
			continue
		}
		t.Run(b.flags, func(t *testing.T) {
			s := newSubject(t, "vars.c", b.flags)
			list := s.conditions()
			want := s.gdbConditions(list)
			got := map[string]int{}
			var file strings.Builder
			for i, c := range list {
				fmt.Fprintf(&file, "trace vars.c:%d if %s\n  actions\n    collect $rip/x, %d\n  end\n", c.line, c.text, i)
			}
			for _, h := range s.jalon(file.String()) {
				_, index, _ := strings.Cut(h.rest, "=")
				got[fmt.Sprintf("%#x %s", h.pc, index)]++
			}
			hits, bad := 0, 0
			for i, c := range list {
				for _, a := range c.addrs {
					key := fmt.Sprintf("%#x %d", a, i)
					hits += want[key]
					if got[key] != want[key] {
						bad++
						t.Errorf("vars.c:%d if %s, at %#x: true %d times, GDB %d times", c.line, c.text, a, got[key], want[key])
					}
				}
			}
			t.Logf("%d conditions, true %d times, %d differ", len(list), hits, bad)
			if len(list) < 60 || hits < 100 {
				t.Errorf("only %d conditions, true %d times", len(list), hits)
			}
		})
	}
}

// gdbConditions evaluates every condition at every stop. The key of the result
// is the address and the condition's index.
func (s *subject) gdbConditions(list []condition) map[string]int {
	asks := map[string]gdbAsk{}
	index := map[uint64][]int{}
	for i, c := range list {
		for _, a := range c.addrs {
			key := fmt.Sprintf("%#x", a)
			q := asks[key]
			q.Conds = append(q.Conds, c.text)
			asks[key] = q
			index[a] = append(index[a], i)
		}
	}
	count := map[string]int{}
	for _, st := range s.gdbJob(asks, gdbOptions{poison: noPoison}) {
		for k, v := range st.Conds {
			if n, ok := v.(float64); ok && n != 0 {
				count[fmt.Sprintf("%#x %d", st.PC, index[st.PC][k])]++
			}
		}
	}
	return count
}

// TestOracleAddresses compares the addresses of GDB's breakpoints with ours, for
// every line and function.
func TestOracleAddresses(t *testing.T) {
	for _, b := range oracleBuilds {
		if b.more && !full {
			continue
		}
		t.Run(b.flags, func(t *testing.T) {
			s := newSubject(t, "vars.c", b.flags)
			var places []string
			ours := map[string]string{}
			last := 0
			for _, l := range s.mod.Lines("vars.c") {
				last = max(last, l)
			}
			for l := 1; l <= last+2; l++ { // lines without code too
				p := fmt.Sprintf("vars.c:%d", l)
				places = append(places, p)
				sites, _ := s.mod.LineSites("vars.c", l)
				var addrs []uint64
				for _, x := range sites {
					addrs = append(addrs, x.Addr)
				}
				ours[p] = hexList(addrs)
			}
			for _, f := range s.functions() {
				places = append(places, f.Name)
				sites, _ := s.mod.FuncSites(f.Name)
				var addrs []uint64
				for _, x := range sites {
					addrs = append(addrs, x.Addr)
				}
				ours[f.Name] = hexList(addrs)
			}
			some := 0
			for p, want := range s.gdbPlaces(places) {
				if want != "" {
					some++
				}
				if got := ours[p]; got != want {
					t.Errorf("%s: ours %s, GDB %s", p, got, want)
				}
			}
			if some < 200 {
				t.Errorf("GDB has only %d of %d places", some, len(places))
			}
		})
	}
}

func hexList(addrs []uint64) string {
	sort.Slice(addrs, func(i, j int) bool { return addrs[i] < addrs[j] })
	var out []string
	for i, a := range addrs {
		if i == 0 || addrs[i-1] != a {
			out = append(out, fmt.Sprintf("%#x", a))
		}
	}
	return strings.Join(out, " ")
}

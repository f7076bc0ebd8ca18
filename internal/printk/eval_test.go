package printk

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/test/testkit"
)

// testResolver resolves some names.
var testResolver = &Resolver{
	Enumerator: func(name string) (int64, bool) {
		v, ok := map[string]int64{"ONE": 1, "FOUR": 4, "BIG": 1 << 31, "MINUS": -2}[name]
		return v, ok
	},
	Type: func(name string) *ctype.Type {
		switch name {
		case "struct page":
			return &ctype.Type{Kind: ctype.Struct, Name: "page", Size: 64}
		case "odd_t":
			return &ctype.Type{Kind: ctype.Typedef, Name: "odd_t", Size: 2, Elem: ctype.ShortT}
		case "union role":
			u := &ctype.Type{Kind: ctype.Union, Name: "role", Size: 4}
			bits := &ctype.Type{Kind: ctype.Struct, Size: 4}
			bits.SetFields([]ctype.Field{
				{Name: "level", Type: ctype.UIntT, BitOffset: 0, BitSize: 4},
				{Name: "sign", Type: ctype.IntT, BitOffset: 4, BitSize: 4},
				{Name: "high", Type: ctype.UShortT, BitOffset: 16},
			})
			u.SetFields([]ctype.Field{{Name: "word", Type: ctype.UIntT}, {Type: bits}})
			return u
		}
		return nil
	},
	Variable: func(name string) (uint64, bool) { return 0xffffea0000000000, name == "vmemmap_base" },
	HZ:       250,
}

// TestExpressions: the record has n = 0x80000005, b = 1 2 3 ..., c = -2, h = 0xfffe.
func TestExpressions(t *testing.T) {
	b := make([]byte, 64)
	for i := range b {
		b[i] = byte(i + 1)
	}
	rec := testRecord(0x80000005, b)
	for _, c := range []struct{ expr, want string }{
		// C's arithmetic
		{`"%lld", REC->c`, "-2"},
		{`"%lld", REC->h`, "65534"},
		{`"%d", REC->c + REC->h`, "65532"},
		{`"%d", REC->c < 0u`, "0"},
		{`"%d", REC->c < 0`, "1"},
		{`"%llx", (unsigned char)REC->c`, "fe"},
		{`"%llx", ~REC->h`, "ffffffffffff0001"},
		{`"%lld", -REC->c`, "2"},
		{`"%llx", 1 << 31`, "ffffffff80000000"},
		{`"%llx", 1U << 31`, "80000000"},
		{`"%llx", 1UL << 40`, "10000000000"},
		{`"%d", -7 / 2`, "-3"},
		{`"%d", -7 % 2`, "-1"},
		{`"%llu", -7 / 2u`, "2147483644"},
		{`"%lld", (int)REC->n >> 1`, "-1073741822"},
		{`"%d", 7 & 3 | 8 ^ 1`, "11"},
		{`"%d", 1 + 2 * 3 - 4`, "3"},
		{`"%d", 10 - 4 - 3`, "3"},
		{`"%d", !5 + !0`, "1"},
		{`"%d", 3 > 2 == 1`, "1"},
		{`"%d", 0 && (1 / 0)`, "0"},
		{`"%d", 1 || (1 / 0)`, "1"},
		{`"%d", 1 / 0`, "(division by zero)"},
		{`"%d", REC->b[-1]`, "0"},
		{`"%d", REC->b[-17]`, "(beyond the record)"},
		{`"%lld", 1 ? -1 : 0u`, "4294967295"},
		{`"%d", 0 ?: 7`, "7"},
		{`"%d", 5 ?: 7`, "5"},
		{`"%s", REC->c ? "a" : "b"`, "a"},
		{`"%d", sizeof(u64) + sizeof(struct page) + sizeof(REC->b)`, "136"},
		{`"%d", sizeof(int *)`, "8"},
		{`"%d", sizeof REC->h`, "2"},
		{`"%d", 'A' + '\n' + '\x41' + '\101'`, "205"},
		{`"%lld", 4294967295`, "4294967295"},
		{`"%lld", 0xffffffff + 1`, "0"},
		{`"%lld", 2147483648 + 0`, "2147483648"},
		{`"%lld", (odd_t)REC->h`, "-2"},
		{`"%lld", (gfp_t)-1`, "4294967295"},
		{`"%d", (bool)256`, "1"},
		{`"%d", (nobody_t)256`, "(the type nobody_t is not known)"},
		// names
		{`"%d", ONE | FOUR`, "5"},
		{`"%lld", BIG`, "2147483648"},
		{`"%lld", MINUS`, "-2"},
		{`"%d", MISSING + 1`, "(MISSING is not known)"},
		{`"%lu", jiffies - 5`, "(jiffies is not recorded)"},
		{`"%p", ((struct page *)vmemmap_base) + 2`, "ffffea0000000080"},
		{`"%d", REC->p == NULL`, "1"},
		// memory
		{`"%d", REC->b[3]`, "4"},
		{`"%d", *(u16 *)&REC->b[1]`, "770"},
		{`"%d", *REC->b`, "1"},
		{`"%d", ((u32 *)REC->b)[1]`, "134678021"},
		{`"%d", &REC->b[7] - &REC->b[2]`, "5"},
		{`"%d", sizeof(*&REC->h) + *&REC->b[1]`, "4"},
		{`"%d", &REC->b[7] > &REC->b[2]`, "1"},
		{`"%d", REC->b[300]`, "(beyond the record)"},
		{`"%d", *(int *)REC->n`, "(memory at 0x80000005)"},
		{`"%d", ((union role *)REC->b)->level`, "1"},
		{`"%d", ((union role *)&REC->c)->sign`, "-1"},
		{`"%x", ((union role *)REC->b)->high`, "403"},
		{`"%x", ((union role *)REC->b)->none`, "(union role has no known member none)"},
		{`"%c%c", "abc"[1], __get_str(str)[0]`, "bh"},
		// helpers
		{`"%s", __get_str(str)`, "hello"},
		{`"%.*s", 2, __get_str(str)`, "he"},
		{`"%s", __get_rel_str(rel)`, "\x01"},
		{`"%d", __get_dynamic_array_len(str)`, "6"},
		{`"%d", ((u16 *)__get_rel_dynamic_array(rel))[1]`, "512"},
		{`"%x", REC->__data_loc_str`, "6006c"},
		{`"%s", __get_bitmask(mask)`, "00000000,0000000b"},
		{`"%s", __get_cpumask(mask)`, "00000000,0000000b"},
		{`"%*pbl", 8, __get_dynamic_array(mask)`, "0-1,3"},
		{`"%s", __print_flags(REC->n, "|", { 1, "A" }, { FOUR, "B" }, { 8, "C" })`, "A|B|0x80000000"},
		{`"%s", __print_flags(0, "|", { 1, "A" })`, ""},
		{`"%s", __print_flags(6, "", { 2, "x" }, { 4, "y" })`, "xy"},
		{`"%s", __print_flags(4, "|", { MISSING, "N" }, { 4, "B" })`, "B"},
		{`"%s", __print_flags(2, "|", { MISSING, "N" }, { 4, "B" })`, "0x2 (MISSING is not known)"},
		{`"%s", __print_flags_u64(1ULL << 40, "|", { 1ULL << 40, "T" })`, "T"},
		{`"%s", __print_symbolic(REC->b[3], { 1, "A" }, { FOUR, "B" "b" })`, "Bb"},
		{`"%s", __print_symbolic(9, { 1, "A" })`, "0x9"},
		{`"%s", __print_symbolic(REC->c, { -2, "m" })`, "m"},
		{`"%s", __print_symbolic(0, { 0, "" })`, "0x0"},
		{`"%s", __print_symbolic(9, { })`, "0x9"},
		{`"%s", __print_symbolic(1, { -1, NULL }, { 1, "A" })`, "0x1"},
		{`"%s", __print_symbolic(MISSING, { 1, "A" })`, "(MISSING is not known)"},
		{`"%s", __print_hex(REC->b, 3)`, "01 02 03"},
		{`"%s", __print_hex_str(REC->b, 3)`, "010203"},
		{`"%s|", __print_hex(REC->b, 0)`, "|"},
		{`"%s", __print_hex(REC->b, 3000)`, "(beyond the record)"},
		{`"%s", __print_array(REC->b, 2, 2)`, "{0x201,0x403}"},
		{`"%s", __print_array(REC->b, 1, 8)`, "{0x807060504030201}"},
		{`"%s", __print_array(REC->b, 1, 3)`, "(an array of elements of 3 bytes)"},
		{`"%s", __print_dynamic_array(str, 1)`, "{0x68,0x65,0x6c,0x6c,0x6f,0x0}"},
		{`"%s", __print_hex_dump("p: ", 2, 16, 1, REC->b, 18, 1)`, "\np: 00000000: 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10  ................\np: 00000010: 11 12                                            ..\n"},
		{`"%s", __print_hex_dump("", 0, 16, 4, REC->b, 8, 0)`, "\n04030201 08070605\n"},
		{`"%u", jiffies_to_msecs(REC->b[9])`, "40"},
		{`"%s", mc_event_error_type(3)`, "Fatal"},
		{`"%s", mc_event_error_type(77)`, "Info"},
		{`"%d", __builtin_expect(!!(REC->h), 0) ? 1 : 2`, "1"},
		{`"%x", be16_to_cpu(REC->h)`, "feff"},
		{`"%x", ntohl(1)`, "1000000"},
		{`"%d", secret(REC->h, p) + 1`, "(secret() is a kernel function)"},
		{`"%s %s", __print_symbolic(1, { 1, "one" }), __print_flags(2, "", { 2, "two" })`, "one two"},
		// the shape of formats
		{`"a" "b%d" "c", 1`, "ab1c"},
		{"\"a\nb\"", "a\nb"},
		{`"%d %d", 1`, "1 (no argument)"},
		{`"%s"`, "(no argument)"},
		{`"x", 1, 2`, "x"},
	} {
		if got := renderText(t, c.expr, rec, testResolver); got != c.want {
			t.Errorf("%s: %q, want %q", c.expr, got, c.want)
		}
	}
}

// TestStatements has the forms of ({ }) that the kernel's formats hold: the
// smaller of two values, and KVM's text by hand.
func TestStatements(t *testing.T) {
	rec := testRecord(0x00070012, nil)
	for _, c := range []struct{ expr, want string }{
		{`"%d", ({ int x = (REC->h); int y = (128); ((x) < (y) ? (x) : (y)); })`, "128"},
		{`"%d", ({ int x = ({ int z = 3; z + 1; }); int y = 2; x * 10 + y; })`, "42"},
		{`"%d", ({ typeof(REC->c) x = (REC->c); __auto_type y = 3; x = y; x + y; })`, "6"},
		{`"%s", ({ const char *s = trace_seq_buffer_ptr(p); static const char *a[] = { "---", "--x", "w--" }; union role role; role.word = REC->n; trace_seq_printf(p, "l%u %s%c", role.level, a[role.sign], 0); s; })`, "l2 --x"},
		{`"%d", ({ static const char *a[] = { "x" }; a[5]; })`, "(index 5 of 1)"},
		{`"%d", ({ int x; x; })`, "(a variable without a value)"},
		{`"%d", ({ struct missing x; x.y = 1; x.y; })`, "(the type struct missing is not known)"},
	} {
		if got := renderText(t, c.expr, rec, testResolver); got != c.want {
			t.Errorf("%s: %q, want %q", c.expr, got, c.want)
		}
	}
	// What a format says of a name is kept for one resolver only.
	f, err := Parse(`"%d", ONE`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    *Resolver
		want string
	}{{nil, "(ONE is not known)"}, {testResolver, "1"}, {&Resolver{}, "(ONE is not known)"}} {
		if got := string(f.Render(nil, nil, c.r)); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ expr, want string }{
		{``, "no format string"},
		{`x`, "no format string"},
		{`"a" 5`, `unexpected ""`},
		{`"a`, "unterminated"},
		{`"a", REC->none`, `no field "none"`},
		{`"a", REC->`, "expected the name of a member"},
		{`"a", (1`, `")" expected`},
		{`"a", 1 ? 2`, `":" expected`},
		{`"a", __get_str(none)`, "other than a field: none"},
		{`"a", __get_str(5)`, "without a field's name"},
		{`"a", __print_hex(1)`, "with 1 arguments"},
		{`"a", 0x`, "not a number"},
		{`"a", 'ab'`, "2 characters"},
		{`"a", $`, "unexpected '$'"},
		{`"a", 5 = 6`, "cannot assign"},
		{`"a", ({ })`, "without a value"},
		{`"a", ({ 1 })`, `";" expected`},
		{`"a", f({1)`, `"}" expected`},
		{`"a", REC->b[1`, `"]" expected`},
		{`"a", ,`, "expected an expression"},
		{`"a", ` + strings.Repeat("(", 300) + "1" + strings.Repeat(")", 300), "more than 256 levels"},
		{`"a", ` + strings.Repeat("!", 300) + "1", "more than 256 levels"},
		{`"a", trace_seq_printf(p, REC->b)`, "without a format"},
	} {
		_, err := Parse(c.expr, testFields(t))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40s: %v, want %q", c.expr, err, c.want)
		}
	}
}

// TestRandomRecords renders every event of the kernel from random bytes, of all
// lengths, with and without a resolver.
func TestRandomRecords(t *testing.T) {
	seed := uint64(testkit.Seed(t, 7))
	rng := rand.New(rand.NewPCG(seed, 2))
	n := 0
	var text []byte
	for _, ev := range allEvents(t, running(t)) {
		f, err := forEvent(ev)
		if err != nil {
			t.Fatal(err)
		}
		data := Describe(ev, testResolver)
		data.TickCount = false // these records have no ticks
		far := NewPrinter(data, resolverNames{testResolver})
		for range 15 {
			rec := make([]byte, rng.IntN(300))
			for i := range rec {
				rec[i] = byte(rng.Uint32() >> (rng.Uint32() % 8))
			}
			r := testResolver
			if rng.IntN(4) == 0 {
				r = nil
			}
			text = f.Line(text[:0], rec, r)
			if r == testResolver { // the same by data
				if got := string(far.Line(nil, rec, 0)); got != string(text) {
					t.Fatalf("%s:%s (seed %d): by data %q, want %q", ev.System, ev.Name, seed, got, text)
				}
			}
			if len(text) == 0 {
				t.Fatalf("%s:%s (seed %d): no text for %x", ev.System, ev.Name, seed, rec)
			}
			n++
		}
	}
	t.Logf("%d records", n)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`"%d %s", REC->n, __get_str(str)`, `"%*pbl %pISpc", 8, REC->b, &REC->b[3]`, `"%s", __print_flags(REC->n, "|", { 1UL << 3, "A" }, { ONE, "B" })`,
		`"%s", ({ const char *s = trace_seq_buffer_ptr(p); union role role; role.word = REC->n; trace_seq_printf(p, "%u%c", role.level, 0); s; })`,
		`"%p", ((struct page *)vmemmap_base) + (REC->h ?: sizeof(odd_t))`, `"%s", __print_hex_dump("p", 2, 32, 8, REC->b, REC->c, 1)`,
		`"%-*.*s|%#010llx", REC->c, REC->h, __get_rel_str(rel), REC->n`,
	} {
		f.Add(s, testRecord(5, []byte("abc")))
	}
	fields := testFields(f)
	f.Fuzz(func(t *testing.T, printFmt string, record []byte) {
		p, err := Parse(printFmt, fields)
		if err != nil {
			return
		}
		p.Functions()
		p.Names()
		first := string(p.Render(nil, record, testResolver))
		if again := string(p.Render(nil, record, testResolver)); again != first {
			t.Errorf("%q, then %q", first, again)
		}
		p.Render(nil, record, nil)
	})
}

// FuzzRender renders the kernel's own formats.
func FuzzRender(f *testing.F) {
	var formats []*Format
	for _, ev := range allEvents(f, running(f)) {
		p, err := forEvent(ev)
		if err != nil {
			f.Fatal(err)
		}
		formats = append(formats, p)
	}
	f.Add(uint16(0), testRecord(1, nil))
	f.Fuzz(func(_ *testing.T, i uint16, record []byte) {
		formats[int(i)%len(formats)].Line(nil, record, testResolver)
	})
}

// TestShortRecords: a record cut anywhere has a text.
func TestShortRecords(t *testing.T) {
	whole := testRecord(7, []byte("abc"))
	for _, c := range []struct {
		printFmt string
		need     int // bytes of the record
	}{
		{`"%pU %pI4 %u", &REC->b, &REC->n, *&REC->h`, 84},
		{`"%pU %*ph %*pbl", REC->b, 8, REC->b, 16, &REC->b[60]`, 78},
		{`"%s %s %s", __get_str(str), __get_cpumask(mask), __print_dynamic_array(rel, 2)`, 128},
		{`"%d %llu %p", ((union role *)&REC->c)->level, REC->n, REC->p`, 104},
		{`"%pM %pa", &REC->h, &REC->p`, 104},
	} {
		for n := range len(whole) {
			got := renderText(t, c.printFmt, whole[:n], testResolver)
			if strings.Contains(got, beyond) != (n < c.need) {
				t.Errorf("%s of %d bytes: %q", c.printFmt, n, got)
			}
		}
	}
}

// TestLongText: what doubles itself comes to an end.
func TestLongText(t *testing.T) {
	text := `"%s", ({ const char *s = trace_seq_buffer_ptr(p); trace_seq_printf(p, "ab");` + strings.Repeat(` trace_seq_printf(p, "%s%s", s, s);`, 40) + ` s; })`
	if got := renderText(t, text, testRecord(0, nil), nil); len(got) > 4*maxText {
		t.Errorf("%d bytes", len(got))
	}
	long := `"` + strings.Repeat("%8000d", 100) + `"` + strings.Repeat(", 1", 100)
	if got := renderText(t, long, testRecord(0, nil), nil); len(got) > maxText+100 || !strings.HasSuffix(got, "(the text is too long)") {
		t.Errorf("%d bytes", len(got))
	}
}

func BenchmarkRender(b *testing.B) {
	fs := running(b)
	for _, name := range []string{"sched_switch", "sched_wakeup"} {
		ev, err := fs.Event("sched", name)
		if err != nil {
			b.Fatal(err)
		}
		f, err := forEvent(ev)
		if err != nil {
			b.Fatal(err)
		}
		rec := testRecord(5, []byte("swapper/0"))
		b.Run(name, func(b *testing.B) {
			var dst []byte
			for b.Loop() {
				dst = f.Line(dst[:0], rec, nil)
			}
		})
	}
}

// forEvent parses the print format of an event. For the events of system calls
// it gives the text that the kernel itself makes of them.
func forEvent(ev *tracefs.Event) (*Format, error) {
	if name, enter := ev.SyscallName(); name != "" {
		return &Format{call: newSyscallText(ev, name, enter)}, nil
	}
	f, err := Parse(ev.PrintFmt, ev.Fields)
	if err != nil {
		return nil, err
	}
	f.name = ev.Name + ": "
	return f, nil
}

// resolverNames are the names of addresses that a resolver has.
type resolverNames struct{ r *Resolver }

func (n resolverNames) KernelSymbol(addr uint64) (Symbol, bool) { return n.r.symbol(addr) }
func (n resolverNames) KernelString(addr uint64) (string, bool) { return n.r.text(addr) }

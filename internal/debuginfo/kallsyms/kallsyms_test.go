package kallsyms

import (
	"bytes"
	"errors"
	"io"
	"math/rand"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/jalon-trace/jalon/test/testkit"
)

const sample = `0000000000000000 A fixed_percpu_data
0000000000020b00 A runqueues
ffffffff81000000 T _stext
ffffffff81000000 T _text
ffffffff81000010 t __pfx_do_one
ffffffff81000020 t do_one
ffffffff81000120 T do_two
ffffffff82000000 D jiffies
ffffffffc0a01000 t do_one	[ext4]
ffffffffc0a01040 t helper	[ext4]
ffffffffc0900000 t do_one	[xfs]
ffffffffc0b00000 t bpf_prog_1234_x	[bpf]
`

func parse(t *testing.T, text string) *Table {
	t.Helper()
	tab, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestLookup(t *testing.T) {
	tab := parse(t, sample)
	want := []Symbol{
		{"do_one", 0xffffffff81000020, 't', ""},
		{"do_one", 0xffffffffc0a01000, 't', "ext4"},
		{"do_one", 0xffffffffc0900000, 't', "xfs"},
	}
	if got := tab.Lookup("do_one"); !reflect.DeepEqual(got, want) {
		t.Errorf("do_one: %v", got)
	}
	if got := tab.Lookup("do_on"); got != nil {
		t.Errorf("do_on: %v", got)
	}
	if a, ok := tab.Addr("do_one"); !ok || a != 0xffffffff81000020 {
		t.Errorf("Addr(do_one) = %#x %v", a, ok)
	}
	if a, ok := tab.Addr("helper"); !ok || a != 0xffffffffc0a01040 {
		t.Errorf("Addr(helper) = %#x %v", a, ok)
	}
	if a, ok := tab.Addr("fixed_percpu_data"); !ok || a != 0 {
		t.Errorf("Addr(fixed_percpu_data) = %#x %v", a, ok)
	}
	if _, ok := tab.Addr("nothing"); ok {
		t.Error("Addr of a missing name")
	}
	twice := parse(t, "ffffffff81000000 t x\nffffffff81000010 t x\n")
	if _, ok := twice.Addr("x"); ok {
		t.Error("Addr of a name with two addresses")
	}
}

func TestAt(t *testing.T) {
	tab := parse(t, sample)
	for _, c := range []struct {
		addr   uint64
		name   string
		module string
		off    uint64
		size   uint64
	}{
		{0xffffffff81000000, "_stext", "", 0, 0x10},
		{0xffffffff8100000f, "_stext", "", 0xf, 0x10},
		{0xffffffff81000020, "do_one", "", 0, 0x100},
		{0xffffffff8100011f, "do_one", "", 0xff, 0x100},
		{0xffffffff81ffffff, "do_two", "", 0xfffedf, 0xfffee0},
		{0xffffffff82000fff, "jiffies", "", 0xfff, 0},
		{0xffffffff82001000, "", "", 0, 0},
		{0xffffffffc0900010, "do_one", "xfs", 0x10, 0},
		{0xffffffffc0a0103f, "do_one", "ext4", 0x3f, 0x40},
		{0xffffffffc0a01fff, "helper", "ext4", 0xfbf, 0},
		{0xffffffffc0a02000, "", "", 0, 0},
		{0x20b00, "", "", 0, 0},
		{0, "", "", 0, 0},
		{0xffffffff80ffffff, "", "", 0, 0},
	} {
		l, ok := tab.At(c.addr)
		if ok != (c.name != "") || ok && (l.Name != c.name || l.Module != c.module || l.Offset != c.off || l.Size != c.size) {
			t.Errorf("At(%#x) = %+v %v, want %+v", c.addr, l, ok, c)
		}
	}
}

func TestFunctions(t *testing.T) {
	tab := parse(t, sample)
	for glob, want := range map[string]string{
		"do_*":      "do_one do_one do_one do_two",
		"*":         "_stext _text bpf_prog_1234_x do_one do_one do_one do_two helper",
		"do_tw[no]": "do_two",
		"jiffies":   "",
		"h?lper":    "helper",
	} {
		list, err := tab.Functions(glob)
		var names []string
		for _, s := range list {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", glob, got, err, want)
		}
	}
	if _, err := tab.Functions("[a"); !errors.Is(err, path.ErrBadPattern) {
		t.Errorf("bad pattern: %v", err)
	}
}

func TestNotFound(t *testing.T) {
	tab := parse(t, sample)
	if e := tab.NotFound("do_onee"); !reflect.DeepEqual(e.Nearest, []string{"do_one"}) || e.What != "function" {
		t.Errorf("do_onee: %+v", e)
	}
	if e := tab.NotFound("jiffies"); e.Nearest != nil || e.Hint == "" {
		t.Errorf("jiffies: %+v", e)
	}
}

func TestErrors(t *testing.T) {
	for _, text := range []string{
		"x\n", "ffffffff81000000\n", "ffffffff81000000 T\n", "ffffffff81000000 T \n", "ffffffff81000000 T a b\n",
		"ffffffff81000000 T a []\n", "fffffffff81000000 T a\n", "ffffffff81000000 TT a\n", "\n",
		"ffffffff81000000 T " + strings.Repeat("a", 1<<17) + "\n",
	} {
		if _, err := Parse(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	_, err := Parse(strings.NewReader("0000000000000000 T a\n0000000000000000 t b\t[m]\n"))
	if !errors.Is(err, ErrRestricted) {
		t.Errorf("zeroed: %v", err)
	}
	if tab := parse(t, ""); tab.Len() != 0 || tab.Lookup("a") != nil {
		t.Error("empty table")
	}
}

// TestSearch: names that are searched for in the text and by the index give the same symbols.
func TestSearch(t *testing.T) {
	const text = sample + "ffffffffc0b00100 t do\nffffffffc0b00110 t one\nffffffffc0b00120 t oneone\nffffffffc0b00130 t one\n"
	bySearch, byIndex := parse(t, text), parse(t, text)
	for range mostSearches {
		byIndex.Lookup("x")
	}
	names := []string{"", "do", "one", "oneone", "do_one", "two", "fixed_percpu_data", "xed", "bpf_prog_1234_x", "x", "oneo"}
	for i, name := range names {
		if i%8 == 0 {
			bySearch = parse(t, text)
		}
		if a, b := bySearch.Lookup(name), byIndex.Lookup(name); !reflect.DeepEqual(a, b) {
			t.Errorf("%q: %v by search, %v by index", name, a, b)
		}
	}
	if got := parse(t, text).Lookup("one"); len(got) != 2 || got[1].Addr != 0xffffffffc0b00130 {
		t.Errorf("one: %v", got)
	}
	if byIndex.heads == nil || bySearch.heads != nil {
		t.Error("the wrong one has an index")
	}
}

// TestParts: lines are whole wherever the reader stops.
func TestParts(t *testing.T) {
	var b strings.Builder
	for b.Len() < 5*partSize {
		b.WriteString(sample)
	}
	whole := parse(t, b.String())
	for _, r := range []io.Reader{iotest.OneByteReader(strings.NewReader(b.String())), iotest.HalfReader(strings.NewReader(strings.TrimSuffix(b.String(), "\n")))} {
		got, err := Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		if got.Len() != whole.Len() || got.names != whole.names || !slices.Equal(got.addrs, whole.addrs) {
			t.Errorf("%d symbols, want %d", got.Len(), whole.Len())
		}
	}
	if _, err := Parse(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("an error of the reader: %v", err)
	}
}

// TestKernel holds the table against the text that it was read from.
func TestKernel(t *testing.T) {
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	tab, err := Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != tab.Len() {
		t.Fatalf("%d lines, %d symbols", len(lines), tab.Len())
	}
	for i, l := range lines {
		f := strings.Fields(l)
		s := tab.Symbol(i)
		if len(f) < 3 || s.Name != f[2] || string(s.Type) != f[1] || (s.Module == "") != (len(f) == 3) || len(f) == 4 && f[3] != "["+s.Module+"]" {
			t.Fatalf("%q read as %+v", l, s)
		}
		found := false
		for _, x := range tab.Lookup(f[2]) {
			found = found || x == s
		}
		if !found {
			t.Fatalf("Lookup(%q) does not give %+v", f[2], s)
		}
	}
	seed := testkit.Seed(t, 1)
	r := rand.New(rand.NewSource(seed))
	for range 20000 {
		s := tab.Symbol(r.Intn(tab.Len()))
		if s.Addr < KernelHalf {
			continue
		}
		l, ok := tab.At(s.Addr)
		if !ok || l.Addr != s.Addr || l.Offset != 0 {
			t.Fatalf("seed %d: At(%#x) = %+v %v, want %s", seed, s.Addr, l, ok, s.Name)
		}
		if l.Size > 1 {
			d := uint64(r.Int63n(int64(l.Size)))
			if m, ok := tab.At(s.Addr + d); !ok || m.Name != l.Name || m.Offset != d {
				t.Fatalf("seed %d: At(%#x+%#x) = %+v %v", seed, s.Addr, d, m, ok)
			}
		}
	}
}

func TestOpen(t *testing.T) {
	tab, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	if a, ok := tab.Addr("_stext"); !ok || a < KernelHalf {
		t.Errorf("_stext at %#x %v", a, ok)
	}
}

func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text, err := os.ReadFile("/proc/kallsyms")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("ffffffff81000000 T a [\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tab, err := Parse(bytes.NewReader(b))
		if err != nil {
			return
		}
		for i := range tab.Len() {
			s := tab.Symbol(i)
			if s.Name == "" || len(tab.Lookup(s.Name)) == 0 {
				t.Fatalf("symbol %d: %+v", i, s)
			}
			if l, ok := tab.At(s.Addr); s.Addr >= KernelHalf && (!ok || l.Addr != s.Addr) {
				t.Fatalf("At(%#x) = %+v %v", s.Addr, l, ok)
			}
		}
		if _, err := tab.Functions("*"); err != nil {
			t.Fatal(err)
		}
	})
}

package raw

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"testing"
)

// build makes BTF of types, each a list of words whose names are strings.
func build(base *BTF, types ...[]any) []byte {
	var body, strings []byte
	start := uint32(0)
	if base == nil {
		strings = []byte{0}
	} else {
		start = uint32(len(base.strings))
	}
	for _, t := range types {
		for _, w := range t {
			switch w := w.(type) {
			case int:
				body = binary.LittleEndian.AppendUint32(body, uint32(w))
			case string:
				body = binary.LittleEndian.AppendUint32(body, start+uint32(len(strings)))
				strings = append(append(strings, w...), 0)
			}
		}
	}
	b := binary.LittleEndian.AppendUint16(nil, magic)
	b = append(b, 1, 0)
	for _, v := range []int{headerSize, 0, len(body), len(body), len(strings)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return append(append(b, body...), strings...)
}

func kindOf(k Kind, n int) int { return int(k)<<24 | n }

func parse(t *testing.T, b []byte, base *BTF) *BTF {
	t.Helper()
	x, err := Parse(b, base)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestNamed finds types by name and kind in the order of the BTF, of a module in the
// module's alone, and constants by the first enumeration that has them.
func TestNamed(t *testing.T) {
	base := parse(t, build(nil,
		[]any{"int", kindOf(Int, 0), 4, 1<<24 | 32},
		[]any{"twice", kindOf(Struct, 1), 4, "m", 1, 0},
		[]any{"twice", kindOf(Func, 0), 0},
		[]any{"twice", kindOf(Struct, 0), 0},
		[]any{"e", kindOf(Enum, 2), 4, "ONE", 1, "TWO", 2},
		[]any{"f", kindOf(Enum, 1), 4, "ONE", 11},
	), nil)
	module := parse(t, build(base,
		[]any{"own", kindOf(Typedef, 0), 1},
		[]any{"twice", kindOf(Typedef, 0), 7},
	), base)
	ids := func(x *BTF, name string, kinds ...Kind) (out []ID) {
		for _, found := range x.Named(name, kinds...) {
			out = append(out, found.ID)
		}
		return out
	}
	cases := []struct {
		x     *BTF
		name  string
		kinds []Kind
		want  []ID
	}{
		{base, "twice", nil, []ID{2, 3, 4}},
		{base, "twice", []Kind{Struct}, []ID{2, 4}},
		{base, "wice", nil, nil},
		{base, "", nil, nil},
		{base, "m", nil, nil},
		{module, "twice", nil, []ID{8}},
		{module, "int", nil, nil},
		{base, "own", nil, nil},
	}
	for _, looked := range []uint32{0, 0, few} { // by comparing all, as found before, and by the table
		for _, x := range []*BTF{base, module} {
			if x.asked.Store(looked); looked == few {
				x.known.Clear()
			}
		}
		for _, c := range cases {
			if got := ids(c.x, c.name, c.kinds...); !slices.Equal(got, c.want) {
				t.Errorf("%q %v: types %v, want %v", c.name, c.kinds, got, c.want)
			}
		}
	}
	own := module.Type(7)
	if of := own.Ref(); own.Name() != "own" || of.In != base || of.Name() != "int" {
		t.Errorf("a module's typedef %q of the kernel's type %q", own.Name(), of.Name())
	}
	base.asked.Store(0)
	for range 3 {
		base.Named("never asked for")
	}
	if n := base.asked.Load(); n != 1 {
		t.Errorf("a name that is asked for again is searched for %d times", n)
	}
	if e, ok := base.Enumeration("ONE"); !ok || e.ID != 5 {
		t.Errorf("ONE is in type %d", e.ID)
	}
	if got := base.Type(99); got.Kind != Invalid {
		t.Errorf("a type that is not there has kind %d", got.Kind)
	}
}

// TestMalformed: what is cut off anywhere is refused.
func TestMalformed(t *testing.T) {
	whole := build(nil, []any{"int", kindOf(Int, 0), 4, 32}, []any{"s", kindOf(Struct, 1), 4, "m", 1, 0})
	parse(t, whole, nil)
	for n := range len(whole) {
		if _, err := Parse(whole[:n], nil); err == nil {
			t.Errorf("%d of %d bytes are taken for BTF", n, len(whole))
		}
	}
	for _, types := range [][]any{{"k", kindOf(numKinds, 0), 0}, {"v", kindOf(Void, 0), 0}, {"s", kindOf(Struct, 2), 4, "m", 1, 0}} {
		if _, err := Parse(build(nil, types), nil); err == nil {
			t.Errorf("%v is taken for a type", types)
		}
	}
}

// TestKernelNames finds types of the running kernel again by their names.
func TestKernelNames(t *testing.T) {
	if _, err := os.Stat(File); err != nil {
		t.Skipf("the kernel has no BTF: %v", err)
	}
	x, err := Kernel()
	if err != nil {
		t.Fatal(err)
	}
	for id := ID(1); int(id) <= x.Len(); id += 7 {
		want := x.Type(id)
		if want.Name() == "" {
			continue
		}
		if !slices.ContainsFunc(x.Named(want.Name(), want.Kind), func(got Type) bool { return got.Same(&want) }) {
			t.Errorf("type %d %q is not found by its name", id, want.Name())
		}
	}
}

// BenchmarkOpen opens the running kernel's BTF and finds names in it.
func BenchmarkOpen(b *testing.B) {
	bytes, err := contents(File)
	if err != nil {
		b.Skip(err)
	}
	for names, n := range map[string]int{"two names": 1, "a table": few + 1} {
		b.Run(names, func(b *testing.B) {
			for b.Loop() {
				x, err := Parse(bytes, nil)
				for i := range n {
					if err != nil || len(x.Named("bpf_rdonly_cast", Func)) != 1 || len(x.Named(fmt.Sprint("not there ", i))) != 0 {
						b.Fatal("no function", err)
					}
				}
			}
		})
	}
}

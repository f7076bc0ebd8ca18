package btf

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
)

// writer makes raw BTF by hand, for what compilers do not write (any more).
type writer struct {
	types, strings []byte
	strBase        uint32 // bytes of strings of the BTF below
	next           uint32
}

const (
	kindPtr      = 2
	kindArray    = 3
	kindFwd      = 7
	kindVolatile = 9
	kindConst    = 10
	kindProto    = 13
	kindTypeTag  = 18
	kflag        = 1 << 7
)

func newWriter(below *writer) *writer {
	if below == nil {
		return &writer{strings: []byte{0}, next: 1}
	}
	return &writer{strBase: below.strBase + uint32(len(below.strings)), next: below.next}
}

func (w *writer) str(s string) uint32 {
	if s == "" {
		return 0
	}
	off := w.strBase + uint32(len(w.strings))
	w.strings = append(append(w.strings, s...), 0)
	return off
}

// add appends a type and returns its id; size is that, or the type referred to.
func (w *writer) add(name string, kind uint32, vlen int, size uint32, extra ...uint32) uint32 {
	for _, v := range append([]uint32{w.str(name), kind<<24 | uint32(vlen), size}, extra...) {
		w.types = binary.LittleEndian.AppendUint32(w.types, v)
	}
	w.next++
	return w.next - 1
}

func (w *writer) int(name string, size, encoding, offset, bits uint32) uint32 {
	return w.add(name, uint32(raw.Int), 0, size, encoding<<24|offset<<16|bits)
}

func (w *writer) bytes() []byte {
	b := binary.LittleEndian.AppendUint16(nil, 0xeb9f)
	b = append(b, 1, 0)
	for _, v := range []int{24, 0, len(w.types), len(w.types), len(w.strings)} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return append(append(b, w.types...), w.strings...)
}

func (w *writer) kernel(t *testing.T) *Kernel { return parseRaw(t, w.bytes()) }

func mustType(t *testing.T, k *Kernel, kind ctype.Kind, name string) *ctype.Type {
	t.Helper()
	c, err := k.Type(kind, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOldBitFields: without kind_flag, a bit-field's type is an integer with fewer bits than its size and
// its own offset.
func TestOldBitFields(t *testing.T) {
	w := newWriter(nil)
	word := w.int("unsigned int", 4, 0, 0, 32)
	three := w.int("unsigned int", 4, 0, 0, 3)
	late := w.int("unsigned int", 4, 0, 7, 5)
	w.add("old", uint32(raw.Struct), 4, 12,
		w.str("a"), word, 0, w.str("b"), three, 32, w.str("c"), late, 32, w.str("d"), word, 64)
	w.add("new", uint32(raw.Struct)|kflag, 2, 4, w.str("a"), word, 3<<24|1, w.str("b"), word, 28<<24|4)
	k := w.kernel(t)
	var got [][2]int64
	for _, n := range []string{"old", "new"} {
		for _, f := range mustType(t, k, ctype.Struct, n).Fields() {
			got = append(got, [2]int64{f.BitOffset, f.BitSize})
		}
	}
	if want := [][2]int64{{0, 0}, {32, 3}, {39, 5}, {64, 0}, {1, 3}, {4, 28}}; !slices.Equal(got, want) {
		t.Errorf("members at %v, want %v", got, want)
	}
}

func TestDeclarations(t *testing.T) {
	w := newWriter(nil)
	i := w.int("int", 4, 1, 0, 32)
	pointers := []uint32{}
	for _, n := range []string{"once", "never", "same", "twice"} {
		pointers = append(pointers, w.add("", kindPtr, 0, w.add(n, kindFwd, 0, 0)))
	}
	union := w.add("", kindPtr, 0, w.add("once", kindFwd|kflag, 0, 0))
	w.add("once", uint32(raw.Struct), 1, 8, w.str("x"), i, 32)
	for range 2 {
		w.add("same", uint32(raw.Struct), 1, 8, w.str("x"), i, 32)
	}
	w.add("twice", uint32(raw.Struct), 1, 8, w.str("x"), i, 32)
	w.add("twice", uint32(raw.Struct), 1, 8, w.str("y"), i, 32)
	declared := w.add("later", uint32(raw.Enum), 0, 4)
	w.add("later", uint32(raw.Enum), 1, 4, w.str("ONE"), 1)
	noValues := w.add("nobody", uint32(raw.Enum), 0, 4)
	w.add("all", uint32(raw.Struct), 7, 56,
		w.str("once"), pointers[0], 0, w.str("never"), pointers[1], 64, w.str("same"), pointers[2], 128,
		w.str("twice"), pointers[3], 192, w.str("union"), union, 256, w.str("later"), declared, 320, w.str("nobody"), noValues, 384)
	k := w.kernel(t)
	whole := map[string]bool{"once": true, "same": true, "later": true}
	for _, f := range mustType(t, k, ctype.Struct, "all").Fields() {
		c := f.Type
		if c.Kind == ctype.Pointer {
			c = c.Elem
		}
		if c.Incomplete == whole[f.Name] || whole[f.Name] && len(c.Fields())+len(c.Enumerators()) != 1 {
			t.Errorf("%s: incomplete %v, %d members", f.Name, c.Incomplete, len(c.Fields()))
		}
	}
	if c := mustType(t, k, ctype.Struct, "never"); !c.Incomplete {
		t.Error("a type that is only declared is complete")
	}
	if _, err := k.Type(ctype.Union, "same"); err == nil {
		t.Error("a struct is found as a union")
	}
}

// TestOldEnums: before kind_flag, constants were signed; wide ones were cut off.
func TestOldEnums(t *testing.T) {
	build := func(marked bool) *Kernel {
		w := newWriter(nil)
		w.add("e", uint32(raw.Enum), 2, 4, w.str("MINUS"), ^uint32(0), w.str("ONE"), 1)
		w.add("wide", uint32(raw.Enum), 1, 8, w.str("CUT"), 5)
		if marked {
			w.add("s", uint32(raw.Enum)|kflag, 1, 4, w.str("TWO"), ^uint32(1))
		}
		return w.kernel(t)
	}
	old, now := build(false), build(true)
	if v, ok := old.EnumValue("MINUS"); !ok || v != -1 || !mustType(t, old, ctype.Enum, "e").Signed {
		t.Errorf("old: MINUS = %d %v", v, ok)
	}
	if v, ok := old.EnumValue("CUT"); ok {
		t.Errorf("old: CUT = %d", v)
	}
	if v, ok := now.EnumValue("MINUS"); !ok || v != 0xffffffff || mustType(t, now, ctype.Enum, "e").Signed {
		t.Errorf("now: MINUS = %d %v", v, ok)
	}
	if v, ok := now.EnumValue("TWO"); !ok || v != -2 {
		t.Errorf("now: TWO = %d %v", v, ok)
	}
	if v, ok := now.EnumValue("CUT"); !ok || v != 5 {
		t.Errorf("now: CUT = %d %v", v, ok)
	}
}

func TestTagsAndCycles(t *testing.T) {
	w := newWriter(nil)
	i := w.int("int", 4, 1, 0, 32)
	user := w.add("", kindPtr, 0, w.add("user", kindTypeTag, 0, i))
	w.add("user_int", uint32(raw.Typedef), 0, user)
	w.add("plain_int", uint32(raw.Typedef), 0, w.add("", kindPtr, 0, i))
	w.add("circle", uint32(raw.Typedef), 0, w.next+1)
	w.add("", kindConst, 0, w.next+1)
	w.add("", kindVolatile, 0, w.next-2)
	w.add("tags", uint32(raw.Typedef), 0, w.next+1)
	w.add("x", kindTypeTag, 0, w.next+1)
	w.add("y", kindTypeTag, 0, w.next-1)
	w.add("huge", uint32(raw.Typedef), 0, w.next+1)
	w.add("", kindArray, 0, 0, w.next+1, i, 0xffffffff)
	w.add("", kindArray, 0, 0, w.next+1, i, 0xffffffff)
	w.add("", kindArray, 0, 0, i, i, 0xffffffff)
	k := w.kernel(t)
	if c := mustType(t, k, ctype.Typedef, "user_int"); k.PointerTag(c) != "user" || c.Elem.Elem.Kind != ctype.Int {
		t.Errorf("user_int: %q, %v", k.PointerTag(c), c.Elem.Elem)
	}
	if c := mustType(t, k, ctype.Typedef, "plain_int"); k.PointerTag(c) != "" {
		t.Errorf("plain_int: %q", k.PointerTag(c))
	}
	for _, n := range []string{"circle", "tags"} {
		if c, err := k.Type(ctype.Typedef, n); err == nil && c.Strip().Kind != ctype.Invalid {
			t.Errorf("%s: %v", n, c.Strip())
		}
	}
	if c := mustType(t, k, ctype.Typedef, "huge"); c.Elem.Size < 0 || c.Elem.Size > 1<<50 {
		t.Errorf("huge: %d bytes", c.Elem.Size)
	}
}

// handmade is a kernel with a tracepoint whose arguments have no names, a function
// that exists twice, and a module.
func handmade() (base, module *writer) {
	w := newWriter(nil)
	i := w.int("int", 4, 1, 0, 32)
	void := w.add("", kindPtr, 0, 0)
	probe := w.add("", kindProto, 3, 0, 0, void, 0, i, 0, void)
	w.add("btf_trace_nameless", uint32(raw.Typedef), 0, w.add("", kindPtr, 0, probe))
	w.add("btf_trace_named", uint32(raw.Typedef), 0, w.add("", kindPtr, 0, probe))
	w.add("__bpf_trace_named", uint32(raw.Func), 0, w.add("", kindProto, 3, 0, w.str("__data"), void, w.str("count"), i, w.str("where"), void))
	// A function of that name with other types cannot be used.
	w.add("__traceiter_named", uint32(raw.Func), 0, w.add("", kindProto, 3, 0, w.str("__data"), void, w.str("wrong"), void, w.str("where"), void))
	w.add("twin", uint32(raw.Func), 0, w.add("", kindProto, 1, i, w.str("a"), i))
	w.add("twin", uint32(raw.Func), 0, w.add("", kindProto, 1, i, w.str("a"), void))
	w.add("printk", uint32(raw.Func), 0, w.add("", kindProto, 2, i, w.str("format"), void, 0, 0))
	w.add("shared", uint32(raw.Struct), 1, 4, w.str("x"), i, 0)
	v := w.add("hot", uint32(raw.Var), 0, i, 1)
	v2 := w.add("cold", uint32(raw.Var), 0, i, 0)
	w.add(".data..percpu", uint32(raw.Datasec), 2, 0x100, v, 0x40, 4, v2, 0x80, 4)

	m := newWriter(w)
	fwd := m.add("", kindPtr, 0, m.add("shared", kindFwd, 0, 0))
	m.add("private", uint32(raw.Struct), 1, 8, m.str("s"), fwd, 0)
	m.add("module_enum", uint32(raw.Enum), 1, 4, m.str("MODULE_ONLY"), 77)
	m.add("module_fn", uint32(raw.Func), 0, m.add("", kindProto, 1, i, m.str("s"), fwd))
	m.add("btf_trace_of_module", uint32(raw.Typedef), 0, m.add("", kindPtr, 0, m.add("", kindProto, 2, 0, 0, void, 0, fwd)))
	return w, m
}

func handmadeKernel(t *testing.T) *Kernel {
	t.Helper()
	w, m := handmade()
	k, err := Parse(w.bytes(), map[string][]byte{"mod": m.bytes()})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func argNames(s debuginfo.Scope) (out []string) {
	for _, v := range s.Args() {
		out = append(out, v.Name)
	}
	return out
}

func TestHandmadeTracepoints(t *testing.T) {
	k := handmadeKernel(t)
	for name, want := range map[string][]string{"nameless": {"arg0", "arg1"}, "named": {"count", "where"}, "of_module": {"arg0"}} {
		s, err := k.TracepointScope(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := argNames(s); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got, err := k.Tracepoints("*na*"); err != nil || !slices.Equal(got, []string{"named", "nameless"}) {
		t.Errorf("*na*: %v, %v", got, err)
	}
	_, err := k.TracepointScope("names")
	if nf, ok := err.(*debuginfo.NotFoundError); !ok || !slices.Contains(nf.Why().Nearest, "named") {
		t.Errorf("names: %v", err)
	}
	_, err = k.TracepointScope("sys_enter_openat")
	if nf, ok := err.(*debuginfo.NotFoundError); !ok || nf.Hint == "" {
		t.Errorf("sys_enter_openat: %v", err)
	}
}

func TestModule(t *testing.T) {
	k := handmadeKernel(t)
	if _, err := k.Type(ctype.Struct, "private"); err == nil {
		t.Error("a module's type is found in the kernel")
	}
	s := k.EntryScope("module_fn", "")
	v, err := s.Lookup("s")
	if err != nil {
		t.Fatal(err)
	}
	if e := v.Type.Elem; e.Incomplete || len(e.Fields()) != 1 {
		t.Errorf("the kernel's struct shared seen from the module: %+v", e)
	}
	if c, err := s.Type(ctype.Struct, "private"); err != nil || len(c.Fields()) != 1 {
		t.Errorf("private: %v", err)
	}
	if _, v, ok := s.Enumerator("MODULE_ONLY"); !ok || v != 77 {
		t.Errorf("MODULE_ONLY: %d %v", v, ok)
	}
	if _, err := k.Func("module_fn", "vmlinux"); err == nil {
		t.Error("a module's function is found in the kernel")
	}
	if f, err := k.Func("module_fn", "mod"); err != nil || f.Module != "mod" {
		t.Errorf("module_fn: %+v, %v", f, err)
	}
}

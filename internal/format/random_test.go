package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/test/testkit"
)

// typeMaker makes random well-formed types, with a value and its model: what a
// JSON decoder must find.
type typeMaker struct {
	*rand.Rand
	names int
}

func (m *typeMaker) name() string {
	m.names++
	return "m" + strconv.Itoa(m.names)
}

func (m *typeMaker) bytes(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		if m.IntN(3) > 0 {
			b[i] = byte(m.Uint32())
		}
	}
	return b
}

var integers = []*ctype.Type{
	ctype.CharT, ctype.SCharT, ctype.UCharT, ctype.ShortT, ctype.UShortT, ctype.IntT,
	ctype.UIntT, ctype.LongT, ctype.ULongT, ctype.LLongT,
	{Kind: ctype.Int, Name: "__int128", Size: 16, Signed: true},
	{Kind: ctype.Int, Name: "unsigned __int128", Size: 16},
}

// number is the model of an integer, by another way than the printer's.
func number(data []byte, signed bool) json.Number {
	v := new(big.Int)
	for i := len(data) - 1; i >= 0; i-- {
		v.Add(v.Mul(v, big.NewInt(256)), big.NewInt(int64(data[i])))
	}
	if signed && data[len(data)-1]&0x80 != 0 {
		v.Sub(v, new(big.Int).Exp(big.NewInt(256), big.NewInt(int64(len(data))), nil))
	}
	return json.Number(v.String())
}

func (m *typeMaker) make(depth int) (*ctype.Type, []byte, any) {
	switch n := m.IntN(10); {
	case n < 3 || depth == 0:
		t := integers[m.IntN(len(integers))]
		data := m.bytes(int(t.Size))
		if m.IntN(3) == 0 {
			t = &ctype.Type{Kind: ctype.Typedef, Name: "alias", Size: t.Size, Elem: &ctype.Type{Kind: ctype.Const, Size: t.Size, Elem: t}}
		}
		return t, data, number(data, t.Strip().Signed)
	case n == 3:
		v := m.IntN(2)
		return ctype.BoolT, []byte{byte(v)}, v == 1
	case n == 4:
		data := m.bytes(8)
		return ctype.PointerTo(ctype.IntT), data, fmt.Sprintf("%#x", word(data))
	case n == 5:
		return m.enum()
	case n == 6:
		return m.float()
	case n == 7:
		text := m.text()
		return ctype.ArrayOf(ctype.CharT, int64(len(text))), []byte(text), strings.TrimRight(text, "\x00")
	case n == 8:
		return m.array(depth)
	}
	return m.structure(depth)
}

func (m *typeMaker) enum() (*ctype.Type, []byte, any) {
	t := &ctype.Type{Kind: ctype.Enum, Name: "e", Size: 4}
	t.SetEnumerators([]ctype.Enumerator{{Name: "A", Value: 1}, {Name: "B", Value: 2}, {Name: "C", Value: 8}})
	v := m.Uint64N(12)
	want := map[uint64]any{0: json.Number("0"), 1: "A", 2: "B", 3: "A | B", 8: "C", 9: "A | C", 10: "B | C", 11: "A | B | C"}[v]
	if want == nil {
		want = json.Number(strconv.FormatUint(v, 10))
	}
	return t, le(v, 4), want
}

func (m *typeMaker) float() (*ctype.Type, []byte, any) {
	bits := m.Uint64()
	f := math.Float64frombits(bits)
	switch m.IntN(4) {
	case 0:
		f = math.NaN()
	case 1:
		f = math.Inf(m.IntN(2)*2 - 1)
	}
	data := le(math.Float64bits(f), 8)
	switch {
	case math.IsNaN(f):
		return ctype.DoubleT, data, "NaN"
	case math.IsInf(f, 1):
		return ctype.DoubleT, data, "Infinity"
	case math.IsInf(f, -1):
		return ctype.DoubleT, data, "-Infinity"
	}
	return ctype.DoubleT, data, f
}

func (m *typeMaker) text() string {
	var b []byte
	for range 1 + m.IntN(12) {
		switch m.IntN(5) {
		case 0:
			b = append(b, byte(m.Uint32()))
		case 1:
			b = utf8.AppendRune(b, rune(m.IntN(0x11000)))
		case 2:
			b = append(b, 0)
		default:
			b = append(b, byte(' '+m.IntN(95)))
		}
	}
	return string(b)
}

func (m *typeMaker) array(depth int) (*ctype.Type, []byte, any) {
	elem, data, model := m.make(depth - 1)
	s := elem.Strip()
	if s.Kind == ctype.Char && s.Name == "char" || s.Size == 0 {
		return elem, data, model
	}
	all, models := []byte{}, []any{}
	n := 1 + m.IntN(30)
	for range n {
		all, models = append(all, data...), append(models, model)
	}
	return ctype.ArrayOf(elem, int64(n)), all, models
}

// structure makes structs with bit-fields and anonymous members, whose own
// members belong to the struct.
func (m *typeMaker) structure(depth int) (*ctype.Type, []byte, any) {
	t := &ctype.Type{Kind: ctype.Struct, Name: "s"}
	model := map[string]any{}
	var fields []ctype.Field
	var data []byte
	for range m.IntN(6) {
		if m.IntN(4) == 0 {
			bits := m.bytes(8)
			off, size := int64(m.IntN(32)), int64(1+m.IntN(32))
			f := ctype.Field{
				Name: m.name(), Type: []*ctype.Type{ctype.UIntT, ctype.IntT, ctype.LongT}[m.IntN(3)],
				BitOffset: int64(len(data))*8 + off, BitSize: size,
			}
			v := new(big.Int).Rsh(new(big.Int).SetUint64(word(bits)), uint(off))
			v.And(v, new(big.Int).SetUint64(1<<size-1))
			if f.Type.Signed && v.Bit(int(size-1)) != 0 {
				v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(size)))
			}
			model[f.Name] = json.Number(v.String())
			fields, data = append(fields, f), append(data, bits...)
			continue
		}
		mt, md, mm := m.make(depth - 1)
		f := ctype.Field{Name: m.name(), Type: mt, BitOffset: int64(len(data)) * 8}
		if inner, ok := mm.(map[string]any); ok && m.IntN(2) == 0 {
			f.Name = ""
			for k, v := range inner {
				model[k] = v
			}
		} else {
			model[f.Name] = mm
		}
		fields, data = append(fields, f), append(data, md...)
	}
	t.SetFields(fields)
	t.Size = int64(len(data))
	return t, data, model
}

// same compares a decoded value with its model; strings are compared after the
// escapes of lone bytes are undone.
func same(got, want any) bool {
	switch w := want.(type) {
	case float64:
		n, ok := got.(json.Number)
		f, err := strconv.ParseFloat(n.String(), 64)
		return ok && err == nil && math.Float64bits(f) == math.Float64bits(w)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !same(g[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range w {
			if !same(g[k], w[k]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(got, want)
}

// loneBytes makes the escapes \udcBB something that encoding/json keeps: the
// private characters U+F700 + BB.
func loneBytes(line []byte) []byte {
	line = bytes.ReplaceAll(line, []byte(`\\`), []byte(`\u005c`))
	for b := 0x80; b < 0x100; b++ {
		line = bytes.ReplaceAll(line, fmt.Appendf(nil, `\udc%02x`, b), fmt.Appendf(nil, `\uf7%02x`, b))
	}
	return line
}

func loneModel(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			r = 0xf700 + rune(s[0])
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}

func loneModels(v any) any {
	switch v := v.(type) {
	case string:
		return loneModel(v)
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, loneModels(e))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = loneModels(e)
		}
		return out
	}
	return v
}

// TestJSONModel: what a JSON decoder reads is the value, for random types and
// bytes, names and texts.
func TestJSONModel(t *testing.T) {
	n := uint64(20000)
	if testing.Short() {
		n = 1000
	}
	var out bytes.Buffer
	j := NewJSON(&out, JSONOptions{})
	first := uint64(testkit.Seed(t, 0))
	for seed := first; seed < first+n; seed++ {
		m := &typeMaker{Rand: rand.New(rand.NewPCG(seed, 6))}
		typ, data, model := m.make(4)
		l := newLayout(m.text())
		l.fixed(m.text(), typ, data)
		ev := l.event()
		ev.Comm = m.text()
		out.Reset()
		if err := errors.Join(j.Event(ev), j.Flush()); err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(loneBytes(out.Bytes())))
		d.UseNumber()
		var got map[string]any
		if err := d.Decode(&got); err != nil || d.More() || bytes.Count(out.Bytes(), []byte("\n")) != 1 {
			t.Fatalf("seed %d: %v: %s", seed, err, out.Bytes())
		}
		name := l.s.Fields[0].Name
		want := loneModels(map[string]any{
			"time": json.Number("1234567890123"), "cpu": json.Number("1"), "pid": json.Number("4242"), "tid": json.Number("4243"),
			"comm": ev.Comm, "place": l.s.Place, "function": "handle", "errors": map[string]any{},
		}).(map[string]any)
		want["values"] = map[string]any{loneModel(name): loneModels(model)}
		if !same(got, want) {
			t.Fatalf("seed %d:\n%s\ngot  %v\nwant %v", seed, out.Bytes(), got, want)
		}
	}
}

// wildType makes any type at all of bytes, malformed ones and ones that contain
// themselves included.
func wildType(data []byte) (*ctype.Type, []byte) {
	pool := []*ctype.Type{nil, {}, ctype.CharT, ctype.IntT, ctype.DoubleT}
	next := func() int64 {
		if len(data) == 0 {
			return 0
		}
		c := int8(data[0])
		data = data[1:]
		if c == 127 {
			return math.MaxInt64 - 3
		}
		return int64(c)
	}
	pick := func() *ctype.Type { return pool[uint64(next())%uint64(len(pool))] }
	names := []string{"", "char", "wchar_t", "char16_t", "x", "_Float128", "\x1b"}
	for range 6 {
		t := &ctype.Type{Kind: ctype.Kind(uint64(next()) % 20), Name: names[uint64(next())%uint64(len(names))], Size: next(), Signed: next()&1 == 0}
		pool = append(pool, t)
	}
	for _, t := range pool[5:] {
		t.Elem, t.Count = pick(), next()
		t.Vector, t.Variadic, t.Incomplete = next()&7 == 0, next()&7 == 0, next()&7 == 0
		switch t.Kind {
		case ctype.Func:
			t.Params = []*ctype.Type{pick(), pick()}
		case ctype.Enum:
			t.SetEnumerators([]ctype.Enumerator{{Name: "A", Value: next()}, {Name: "B", Value: next()}})
		case ctype.Struct, ctype.Union:
			var f []ctype.Field
			for range 3 {
				f = append(f, ctype.Field{Name: names[uint64(next())%uint64(len(names))], Type: pick(), BitOffset: next(), BitSize: next(), Base: next()&15 == 0})
			}
			t.SetFields(f)
		}
	}
	return pick(), data
}

// TestBombs: debug information made to explode does not.
func TestBombs(t *testing.T) {
	bomb := ctype.IntT
	fn := ctype.IntT
	for range 100 {
		outer := &ctype.Type{Kind: ctype.Struct, Size: 4}
		outer.SetFields([]ctype.Field{{Type: bomb}, {Name: "b", Type: bomb}, {Type: bomb, Base: true}})
		bomb = outer
		fn = &ctype.Type{Kind: ctype.Func, Elem: fn, Params: []*ctype.Type{fn, fn}}
	}
	data := []byte{1, 2, 3, 4}
	if s := (&Printer{}).Value(bomb, data, 0); len(s) > 100<<20 {
		t.Errorf("text of %d bytes", len(s))
	}
	if s := appendJSON(nil, bomb, item{data: data}, false, nil); len(s) > 100<<20 || !json.Valid(s) {
		t.Errorf("JSON of %d bytes", len(s))
	}
	if s := TypeName(fn, false); len(s) > 100<<20 {
		t.Errorf("type name of %d bytes", len(s))
	}
	if s := TypeName(ctype.PointerTo(fn), true); len(s) > 100<<20 {
		t.Errorf("type name of %d bytes", len(s))
	}
}

// FuzzPrinter: no type and no bytes make the printer fail, and JSON is JSON.
func FuzzPrinter(f *testing.F) {
	for seed := range uint64(50) {
		m := &typeMaker{Rand: rand.New(rand.NewPCG(seed, 7))}
		f.Add(m.bytes(120), byte("\x00xduotcafsz"[seed%11]), seed%2 == 0)
	}
	f.Fuzz(func(t *testing.T, raw []byte, letter byte, counted bool) {
		typ, data := wildType(raw)
		p := &Printer{Symbol: func(uint64) string { return "s" }, Memory: func(_ uint64, n int) []byte { return data[:min(n, len(data))] }}
		p.Value(typ, data, Fmt(letter))
		p.AppendAt(nil, typ, data, Fmt(letter), 16)
		l := newLayout("p")
		field := l.add(event.Field{Name: "x", Type: typ, Show: event.Show{Letter: letter}}, data)
		if counted {
			field.Kind = event.Counted
		} else {
			field.StrOffset, field.StrSize, field.StrStatusOffset = l.slot(countedSlot(string(data), 1)), 8+len(data), -1
		}
		var text, line bytes.Buffer
		tx, j := NewText(&text, TextOptions{}), NewJSON(&line, JSONOptions{})
		if err := errors.Join(tx.Event(l.event()), tx.Flush(), j.Event(l.event()), j.Flush()); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(line.Bytes()) {
			t.Fatalf("not JSON: %s", line.Bytes())
		}
		if bytes.ContainsAny(text.Bytes()[:text.Len()-1], "\x1b\n") {
			t.Fatalf("control characters: %q", text.Bytes())
		}
	})
}

package printf

import (
	"math"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/script/types"
)

// TestFormat compares with what C's printf, and bpftrace's documentation of its own conversions, say.
func TestFormat(t *testing.T) {
	rec := Record([]string{"a", "b"}, []Value{Int(1), Text("x")})
	for _, c := range []struct {
		format string
		args   []Value
		want   string
	}{
		{"plain %% text\n", nil, "plain % text\n"},
		{"%d %i %u", []Value{Int(-5), Int(7), Uint(9)}, "-5 7 9"},
		{"%5d|%-5d|%05d|%+d|% d", []Value{Int(42), Int(42), Int(42), Int(42), Int(42)}, "   42|42   |00042|+42| 42"},
		{"%.3d|%6.3d|%-6.3d|%06d", []Value{Int(7), Int(-7), Int(7), Int(-7)}, "007|  -007|007   |-00007"},
		{"%x %X %#x %o %#o %#x", []Value{Uint(255), Uint(255), Uint(255), Uint(8), Uint(8), Uint(0)}, "ff FF 0xff 10 010 0"},
		{"%08x|%-8x|%#010x|%#X", []Value{Uint(0xbeef), Uint(0xbeef), Uint(0xbeef), Uint(0xbeef)}, "0000beef|beef    |0x0000beef|0XBEEF"},
		// Without a length modifier an integer is an int, as in C.
		{
			"%hhx %hx %x %lx %llx %jx %zx %tx",
			[]Value{
				Uint(0x12345678abcdef), Uint(0x12345678abcdef), Uint(0x12345678abcdef), Uint(0x12345678abcdef),
				Uint(0x12345678abcdef), Uint(0x12345678abcdef), Uint(0x12345678abcdef), Uint(0x12345678abcdef),
			},
			"ef cdef 78abcdef 12345678abcdef 12345678abcdef 12345678abcdef 12345678abcdef 12345678abcdef",
		},
		{"%hhd %hd %d %ld", []Value{Int(-1), Int(-1), Int(1 << 31), Int(1 << 31)}, "-1 -1 -2147483648 2147483648"},
		{"%hhu %hu %u %lu", []Value{Int(-1), Int(-1), Int(-1), Int(-1)}, "255 65535 4294967295 18446744073709551615"},
		{"%c%c|%3c|%-3c|", []Value{Int(65), Int(66), Int(67), Int(68)}, "AB|  C|D  |"},
		{"%s|%10s|%-10s|%.2s|%10.2s", []Value{Text("abc"), Text("abc"), Text("abc"), Text("abc"), Text("abc")}, "abc|       abc|abc       |ab|        ab"},
		{"%*d|%-*d|%.*s|%*.*d", []Value{Int(5), Int(1), Int(5), Int(2), Int(2), Text("abc"), Int(-6), Int(3), Int(4)}, "    1|2    |ab|004   "},
		{"%p %p %20p", []Value{Pointer(0xdead), Uint(16), Pointer(1)}, "0xdead 0x10                  0x1"},
		{"%s %d %-6s|", []Value{Symbol("ONE", 1), Symbol("ONE", 1), Symbol("TWO", 2)}, "ONE 1 TWO   |"},
		{"%s %d %s", []Value{Bool(true), Bool(true), Bool(false)}, "true 1 false"},
		{"%r|%rx|%rh", []Value{Buffer([]byte("\n\xfea")), Buffer([]byte("\n\xfea")), Buffer([]byte("\n\xfea"))}, `\x0a\xfea|\x0a\xfe\x61|0a fe 61`},
		{"%gr|%gr|%gr|%gr", []Value{Uint(1), Uint(0xcc0), Uint(0x820), Uint(0)}, "GFP_DMA|GFP_KERNEL|GFP_ATOMIC|0"},
		{"%s %s %s", []Value{Tuple(Int(1), Text("a"), Tuple(Int(2), Int(3))), rec, Array(Int(1), Int(2))}, "(1, a, (2, 3)) { .a = 1, .b = x } [1,2]"},
		{
			"%f %.2f %e %g %6.1f|%-8.2f|%+.1f|%08.3f",
			[]Value{Float(1.5, 64), Float(2.345, 64), Float(12345.678, 64), Float(0.0001, 64), Float(2.25, 64), Float(1, 64), Float(1, 64), Float(-3.14159, 64)},
			"1.500000 2.35 1.234568e+04 0.0001    2.2|1.00    |+1.0|-003.142",
		},
		{"%f %.0f", []Value{Int(-3), Uint(7)}, "-3.000000 7"},
		{"%a %A %012a %a", []Value{Float(1.5, 64), Float(-0.1, 64), Float(1, 64), Float(0, 64)}, "0x1.8p+0 -0X1.999999999999AP-4 0x0000001p+0 0x0p+0"},
		{"%f %G %5e|%05g|%-5F|", []Value{Float(math.Inf(1), 64), Float(math.NaN(), 64), Float(math.Inf(-1), 64), Float(math.NaN(), 64), Float(math.Inf(1), 64)}, "inf NAN  -inf|  nan|INF  |"},
		{"%s %s %s %s %s %s", []Value{Float(0.1, 64), Float(float64(float32(0.1)), 32), Float(1e6, 64), Float(3e20, 64), Float(2.5e-7, 64), Float(-0.0001, 64)}, "0.1 0.1 1000000 3e+20 2.5e-07 -0.0001"},
		{"%d %d", []Value{Int(1)}, "1 !{missing}"},
		{"%d", []Value{Text("a")}, "!{not a number: a}"},
	} {
		f, err := Parse(c.format)
		if err != nil {
			t.Errorf("%q: %v", c.format, err)
			continue
		}
		if got := f.Format(c.args); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.format, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	buf, str := types.BufferOf(4), types.StringOf(8)
	for _, c := range []struct {
		format string
		args   []*types.Type
		want   string
	}{
		{"%d %s", []*types.Type{types.Int8, types.Int8}, ""},
		{"%s %s %s", []*types.Type{str, buf, types.TupleOf(nil)}, ""},
		{"%r %rx %rh", []*types.Type{buf, buf, buf}, ""},
		{"%*d", []*types.Type{types.Int8, types.Int8}, ""},
		{"%d", []*types.Type{types.CountT}, ""},
		{"%p", []*types.Type{types.PointerTo(nil, types.Kernel)}, ""},
		{"%.2f", []*types.Type{types.FloatT}, ""},
		{"%d", nil, "the format has conversions for 1 arguments, not 0"},
		{"%*d", []*types.Type{types.Int8}, "the format has conversions for 2 arguments, not 1"},
		{"%*d", []*types.Type{str, types.Int8}, "a width or precision is an integer, not string[8]"},
		{"%d", []*types.Type{str}, "%d cannot show a value of type string[8]"},
		{"%r", []*types.Type{str}, "%r cannot show a value of type string[8]"},
		{"%s", []*types.Type{types.HistT}, "%s cannot show a value of type hist_t"},
		{"%s", []*types.Type{types.VoidT}, "%s cannot show a value of type void"},
	} {
		f, err := Parse(c.format)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := f.Check(c.args); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%q\n got %s\nwant %s", c.format, got, c.want)
		}
	}
	for _, bad := range []string{"%", "%y", "%5", "%l", "100%", "%99999999d", "%.99999999s", "%5.y"} {
		if _, err := Parse(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// TestBuildID: frames by the ID of their file and the offset in it; the functions that are inlined there are no frames of their own.
func TestBuildID(t *testing.T) {
	v := Stack([]Frame{{PC: 5, Function: "in", Inlined: true, BuildID: "0af1", FileOffset: 0x1234}, {PC: 5, Function: "f", BuildID: "0af1", FileOffset: 0x1234}, {PC: 0x77}}, "build_id")
	if got := v.String(); got != "\n0af1 0x1234\n0x77\n" {
		t.Errorf("%q", got)
	}
}

func TestJSON(t *testing.T) {
	v := Record([]string{"a", "b\"", "c"}, []Value{Int(-1), Tuple(Text("x\n\x01\\"), Bool(true), None()), Array(Symbol("ONE", 1), Pointer(16))})
	const want = `{"a": -1, "b\"": ["x\n\u0001\\",true,null], "c": [1,16]}`
	if got := v.JSON(); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	for v, want := range map[string]string{
		Uint(1 << 63).JSON(): "9223372036854775808", Uint(1<<63 + 1).JSON(): `"9223372036854775809"`,
		Int(-1 << 63).JSON(): "-9223372036854775808", Int(1<<53 + 1).JSON(): `"9007199254740993"`,
		Int(1<<63 - 1).JSON(): `"9223372036854775807"`, Uint(1<<64 - 1).JSON(): `"18446744073709551615"`,
		Float(0.5, 64).JSON(): "0.5", Buffer([]byte{1, 255}).JSON(): "[1,-1]",
	} {
		if v != want {
			t.Errorf("got %s, want %s", v, want)
		}
	}
}

func FuzzFormat(f *testing.F) {
	f.Add("%-5d|%08.3f %s %% %rx %gr", int64(5), "text")
	f.Fuzz(func(t *testing.T, format string, n int64, s string) {
		p, err := Parse(format)
		if err != nil {
			return
		}
		args := []Value{Int(n), Text(s), Uint(uint64(n)), Float(float64(n), 64), Buffer([]byte(s)), Symbol(s, uint64(n)), None(), Bool(n > 0)}
		if out := p.Format(args); len(out) > len(format)+len(args)*(2*maxWidth+8*len(s)+100)+20*strings.Count(format, "%") {
			t.Fatalf("%d bytes", len(out))
		}
	})
}

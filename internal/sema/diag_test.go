package sema

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

var update = flag.Bool("update", false, "rewrite testdata/diagnostics.txt")

// diagnosed are the conditions ("if ...") and collect lists whose diagnostics are in testdata/diagnostics.txt.
var diagnosed = []string{
	// Names.
	"if conut > 3", "if i + zzz", "if 'main.c'::foo == 1", "if ::i == 1", "if (struct rek *)0", "p->lenn", "if sizeof(struct nope)", "if sizeof(union req)", "(enum req)1",
	"retval", "arg6", "if $rex == 0", "if $foo", "if $xmm16", "if $ymm0", "if $st0", "if $cs == 3", "if $tid == 3", "if $regs", "$tid + 1", "$locals[0]", "$regs/x",
	// What the parser leaves open.
	"if (rek)i", "if (rek)-i", "if (i)-rek", "if (rek *)i", "(rek **)p->len", "if req_t", "if req_t + 1", "if (req_t)", "(req_t)()", "(int (*)(rek))i", "sizeof(rek)", "sizeof(req_t) req_t", "(i)(3)", "(req_t)(i).a", "(rek)(req_t)i",
	// Values that are not here.
	"gone", "if entry == 2", "late", "if gone == 3 && i", "partly.a", "tlsvar",
	// Types.
	"if *p", "if *i", "if *void_p == 3", "void_p[1]", "if i->x", "if i.x", "p + p", "p * 2", "p - text", "-p", "~x", "x % 2", "x << 1", "i & x", "if !*p", "*p + 1", "(struct req)i",
	"(int [3])i", "(int)*p", "(int)x ? *p : i", "if buf.x", "i[2]", "ld + 1", "-ld", "if ld", "wide == 1", "opaque->x", "*opaque", "opaque + 1", "(void)i", "if (void)i",
	"sizeof p->b", "&p->b", "&p", "&3", "&(i + 1)", "i@0", "i@(i - i)@2", "3@2", "*p@x", "(*p@n)[1]", "p->b@2", "&regarr[i]", "regarr[i]@2", "regarr[9]", "$xmm0[1]", "$xmm1.v2_double[3]", "$xmm1.v2_double[1] + 1", "vec[i]", "&$rax", "99999999999999999999", "9223372036854775808",
	// Text.
	"if p == \"abc\"", "if i == \"a\"", "\"abc\"", "if \"abc\"", "if *p->path == \"a\"", "str(p->path) + 1", "str(i)", "str()", "str(p, n)", "str(p, 99999)", "if text == \"a\\0b\"",
	// What a tracepoint cannot do.
	"if i = 3", "i++", "i += 2", "if strcmp(text, \"x\") == 0", "if strlen(text) > 3", "f(1)", "(*p->path)()", "nosize", "huge", "bigs[0]@n",
	// Several at once.
	"i, gone, foo, *p, bar",
}

func diagnosticScope() *fakeScope {
	s, _ := sample()
	s.addType(unionOf("u", member{"a", ctype.IntT, 0}))
	partly := s.addType(structOf("partly", member{"a", ctype.IntT, 0}, member{"b", ctype.IntT, 0}))
	opaque := &ctype.Type{Kind: ctype.Struct, Name: "opaque", Incomplete: true}
	vec := ctype.ArrayOf(ctype.FloatT, 4)
	vec.Vector = true
	s.add("partly", partly, debuginfo.Piece{Kind: debuginfo.IsMissing, BitSize: 32}, debuginfo.Piece{Kind: debuginfo.InRegister, Reg: 0, BitSize: 32})
	s.add("tlsvar", ctype.IntT, memOps(debuginfo.OpConst, 4, debuginfo.OpTLS, 0))
	s.add("ld", longDoubleT, onFrame(-64))
	s.add("wide", int128T, onFrame(-64))
	s.add("opaque", ctype.PointerTo(opaque), inReg(0))
	s.add("regarr", ctype.ArrayOf(ctype.IntT, 2), inReg(0))
	s.add("vec", vec, onFrame(-64))
	s.add("nosize", ctype.ArrayOf(ctype.IntT, -1), onFrame(-64))
	s.add("huge", ctype.ArrayOf(ctype.IntT, 1<<20), atAddr(0x9000))
	s.add("bigs", ctype.ArrayOf(ctype.ArrayOf(ctype.IntT, 1<<14), 4), atAddr(0x9000))
	s.locals = []*debuginfo.Variable{s.vars["i"], s.vars["count"]}
	return s
}

// TestDiagnostics compares whole diagnostics with testdata/diagnostics.txt.
func TestDiagnostics(t *testing.T) {
	s := diagnosticScope()
	in := sampleInput()
	in.TLSOffset = nil
	var b strings.Builder
	for _, text := range diagnosed {
		cond, collect := "", text
		if rest, ok := strings.CutPrefix(text, "if "); ok {
			cond, collect = rest, ""
		}
		out, err := tryCompile(s, in, cond, collect)
		if err == nil && out.Missing != nil {
			err = out.Missing
		}
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		b.WriteString(err.Error() + "\n\n")
	}
	in.AtEntry, in.Pid = false, 0
	for _, cond := range []string{"arg0 == 1", "$pid == 1"} {
		_, err := tryCompile(s, in, cond, "")
		b.WriteString(err.Error() + "\n\n")
	}
	s.noDebug, s.cfa = true, nil
	for _, cond := range []string{"foo == 1", "$ret == 1"} {
		_, err := tryCompile(s, in, cond, "")
		b.WriteString(err.Error() + "\n\n")
	}
	golden := filepath.Join("testdata", "diagnostics.txt")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range g {
			if i >= len(w) || g[i] != w[i] {
				t.Fatalf("line %d is\n%s\nnot\n%s\n(go test -update rewrites the file)", i+1, g[i], at(w, i))
			}
		}
		t.Fatalf("%d lines, want %d", len(g), len(w))
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

func TestTooLargeRecord(t *testing.T) {
	s, _ := sample()
	in := sampleInput()
	in.StackLimit = 80_000
	_, err := tryCompile(s, in, "", "i, $bt")
	want := `error: the record would have 80184 bytes; the limit is 65536, and this is its largest part
  --> collect:1:4
   |
 1 | i, $bt
   |    ^^^
   = hint: collect less, or lower the limits for strings and the stack`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestWarnings(t *testing.T) {
	s, _ := sample()
	out := compile(t, s, sampleInput(), "1 << 40 == 2", "i << 2")
	var got []string
	for _, w := range out.Warnings {
		got = append(got, w.Msg)
	}
	if want := "a shift of int by 40 is undefined in C; the condition is always false"; strings.Join(got, "; ") != want {
		t.Errorf("warnings: %q", got)
	}
	if out := compile(t, s, sampleInput(), "i < 3", "i"); len(out.Warnings) != 0 {
		t.Errorf("warnings: %v", out.Warnings)
	}
}

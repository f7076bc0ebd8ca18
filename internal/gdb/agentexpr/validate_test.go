package agentexpr

import (
	"encoding/hex"
	"math/rand"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestEveryOperation: the table, the interpreter and the lowering know the same
// operations; those of floating point are known only to be refused.
func TestEveryOperation(t *testing.T) {
	n := 0
	for o := range Op(255) {
		info, ok := o.info()
		_, refused := operandChecks[o]
		switch {
		case !ok && (runs[o] != nil || lowers[o] != nil):
			t.Errorf("%#x is not in the table", o)
		case !ok:
		case (runs[o] == nil) != (lowers[o] == nil):
			t.Errorf("%v: interpreted %v, lowered %v", o, runs[o] != nil, lowers[o] != nil)
		case runs[o] == nil && !refused:
			t.Errorf("%v is neither executed nor refused", o)
		case opByName[info.name] != o:
			t.Errorf("two operations have the name %s", info.name)
		}
		if ok {
			n++
		}
	}
	if n != 51 { // ax.def has 0x01 to 0x34 without 0x31
		t.Errorf("%d operations", n)
	}
}

// assemble reads instructions as text, without offsets, separated by semicolons.
func assemble(t *testing.T, text string) []byte {
	t.Helper()
	var b strings.Builder
	for _, s := range strings.Split(text, ";") {
		b.WriteString("0 " + strings.TrimSpace(s) + "\n")
	}
	list, err := ParseText(b.String())
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return Encode(list)
}

func TestValidate(t *testing.T) {
	const pushMany = "const8 1; "
	for _, c := range []struct{ code, want string }{
		{"const8 1; end", ""},
		{"end", "byte 0: the condition ends without a value"},
		{"const8 1", "byte 0: nothing follows, and this is no end"},
		{"const8 1; add; end", "byte 2: add needs 2 values on the stack, 1 are there"},
		{"const8 1; pick 1; end", "byte 2: pick needs 2 values on the stack, 1 are there"},
		{"const8 1; pick 0; end", ""},
		{"const8 1; const8 2; rot; end", "byte 4: rot needs 3 values on the stack, 2 are there"},
		{"reg 59; end", ""},
		{"reg 76; end", "byte 0: there is no register 76"},
		{"reg 40; end", "byte 0: register xmm0 has no value that an expression could use"},
		{"reg 24; end", "byte 0: register st0 has no value that an expression could use"},
		{"reg 60; end", "byte 0: register ymm0h has no value that an expression could use"},
		{"const8 1; ext 0; end", "byte 2: ext of 0 bits"},
		{"const8 1; zero_ext 65; end", "byte 2: zero_ext of 65 bits"},
		{"const8 1; ext 64; end", ""},
		{"const8 1; trace_quick 4; end", "byte 2: trace_quick: a condition cannot collect"},
		{"const8 1; ref_float; end", "byte 2: ref_float: floating point is reserved in the bytecode, and GDB makes none"},
		{"float; const8 1; end", "byte 0: float: floating point is reserved in the bytecode, and GDB makes none"},
		// Jumps: to an instruction's middle, behind the end, back, to itself.
		{"const8 1; goto 6; const8 1; end", "byte 2: goto 6 does not lead to an instruction"},
		{"const8 1; goto 8; end", "byte 2: goto 8 does not lead to an instruction"},
		{"const8 1; dup; if_goto 0; end", "byte 3: if_goto 0 leads back: it might never end, and GDB makes no such jumps"},
		{"const8 1; goto 2; end", "byte 2: goto 2 leads back: it might never end, and GDB makes no such jumps"},
		// Depths at joins.
		{"const8 1; if_goto 9; const8 1; const8 1; end", "byte 9: it is reached with 0 values on the stack, and with 2 from byte 7"},
		{"const8 1; if_goto 10; const8 2; goto 10; pop; end", "byte 10: it is reached with 0 values on the stack, and with 1 from byte 7"},
		{"const8 1; if_goto 10; const8 2; goto 12; const8 3; end", ""},
		// What no way leads to must be instructions, but no more.
		{"const8 1; end; add; add", ""},
		{"const8 1; goto 7; pop; pop; end", ""},
		{strings.Repeat(pushMany, MaxDepth) + "end", ""},
		{strings.Repeat(pushMany, MaxDepth+1) + "end", "byte 200: more than 100 values on the stack"},
	} {
		code := assemble(t, c.code)
		_, err := Validate(code, ForCondition)
		got := ""
		if err != nil {
			got = strings.TrimPrefix(err.Error(), "agent expression, ")
		}
		if got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.code, got, c.want)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	for _, c := range []struct{ code, want string }{
		{"00", "byte 0: there is no operation 0x00"},
		{"31", "byte 0: there is no operation 0x31"},
		{"2201ff", "byte 2: there is no operation 0xff"},
		{"25", "byte 0: const64 needs 8 bytes, 0 are there"},
		{"2000", "byte 0: if_goto needs 2 bytes, 1 are there"},
		{"3400", "byte 0: printf needs 3 bytes, 1 are there"},
		{"34000002", "byte 0: printf needs a text of 2 bytes, 0 are there"},
		{"34000000", "byte 0: the text of printf has no NUL"},
		{"340000026161", "byte 0: the text of printf does not end where its NUL is"},
		{"340000030061", "byte 0: printf needs a text of 3 bytes, 2 are there"},
		{"34000003610000", "byte 0: the text of printf does not end where its NUL is"},
		{strings.Repeat("28", MaxLength+1), "byte 0: 65536 bytes are more than the 65535 that jumps can reach"},
		{"", "byte 0: it is empty"},
	} {
		code, _ := hex.DecodeString(c.code)
		_, err := Validate(code, ForAction)
		if err == nil || strings.TrimPrefix(err.Error(), "agent expression, ") != c.want {
			t.Errorf("%.20s: %v, want %s", c.code, err, c.want)
		}
	}
}

// TestText: what is printed is read back, and encoded and decoded alike.
func TestText(t *testing.T) {
	code := assemble(t, `const64 -16; const32 4210944; reg 6; pick 1; if_goto 40; printf "%d %s\n", 2 args; getv 1; trace16 300; end`)
	list, err := Decode(code)
	if err != nil {
		t.Fatal(err)
	}
	text := Text(list)
	want := "  0  const64 -16\n  9  const32 4210944\n 14  reg 6\n 17  pick 1\n 19  if_goto 40\n 22  printf \"%d %s\\n\", 2 args\n 34  getv 1\n 37  trace16 300\n 40  end\n"
	if text != want {
		t.Errorf("got\n%swant\n%s", text, want)
	}
	again, err := ParseText("Scope: 0x1\nReg mask: 40\n" + text)
	if err != nil || string(Encode(again)) != string(code) {
		t.Errorf("%v: %x, want %x", err, Encode(again), code)
	}
	for _, bad := range []string{"0 nothing", "0 const8 256", "0 const8 x", "0 const8", "0 add 1", "0 printf 3", `0 printf "x", many args`, "0 const8 -1"} {
		if _, err := ParseText(bad); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// walk executes e as Run does and holds it to what Validate says of it: every
// step goes forward and finds the stack as deep as predicted.
func walk(t *testing.T, e *Expr, m *Machine) {
	t.Helper()
	r := &interp{e: e, m: m, lim: m.Limits.withDefaults()}
	steps := 0
	for r.at >= 0 {
		i := r.at
		if steps++; steps > len(e.Insns) {
			t.Fatalf("%x does not end", e.Code)
		}
		if len(r.out.Stack) != e.Depth[i] {
			t.Fatalf("%x, byte %d: %d values on the stack, not %d", e.Code, e.Insns[i].PC, len(r.out.Stack), e.Depth[i])
		}
		r.at++
		if runs[e.Insns[i].Op](r, &e.Insns[i]) != nil {
			return
		}
		if r.at >= 0 && r.at <= i {
			t.Fatalf("%x goes back at byte %d", e.Code, e.Insns[i].PC)
		}
	}
	if e.use == ForCondition && len(r.out.Stack) == 0 {
		t.Fatalf("%x ends without a value", e.Code)
	}
}

// readAll reads as 0x41 everywhere but in the first page.
type readAll struct{}

func (readAll) Read(addr uint64, buf []byte) int {
	if addr < 4096 {
		return 0
	}
	for i := range buf {
		buf[i] = 'A'
	}
	return len(buf)
}

// accepted runs what Validate accepts of code, and lowers it; false: it refuses.
func accepted(t *testing.T, code []byte, use Use) bool {
	t.Helper()
	e, err := Validate(code, use)
	if err != nil {
		return false
	}
	if string(Encode(e.Insns)) != string(code) {
		t.Fatalf("%x is encoded as %x", code, Encode(e.Insns))
	}
	lim := Limits{Block: 64, String: 16}
	walk(t, e, &Machine{Mem: readAll{}, Vars: map[int]uint64{}, Limits: lim})
	site := &Site{Actions: []Action{{Kind: Evaluate, Expr: e, Value: true}}}
	if use == ForCondition {
		site = &Site{Cond: e}
	}
	p, lay, err := Lower(site, &Options{GSBase: true, Limits: lim, Var: func(n int) (Variable, bool) { return Variable{Index: int64(n % ir.MaxVars)}, true }})
	if err != nil {
		return true // too large: said in words
	}
	if err := ir.Check(p); err != nil {
		t.Fatalf("%x: %v\n%s", code, err, p)
	}
	lay.Frame(make([]byte, lay.RecordSize))
	return true
}

// TestRandomBytes: bytes at random, and valid expressions with some bytes changed,
// are refused, or run as Validate says.
func TestRandomBytes(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	seeds := [][]byte{
		assemble(t, "reg 6; const8 16; add; trace_quick 4; ref32; ext 32; dup; if_goto 18; pop; const8 1; end"),
		assemble(t, "const8 1; if_goto 10; const8 2; goto 12; const8 3; setv 1; tracev 1; end"),
		assemble(t, `const8 1; const8 5; const8 0; const8 0; printf "%d %s", 2 args; end`),
	}
	accept, refuse := 0, 0
	for n := range 30000 {
		var code []byte
		if n%3 == 0 {
			code = make([]byte, 1+r.Intn(12))
			for i := range code {
				code[i] = byte(r.Intn(0x36)) // most bytes are operations
			}
			code = append(code, byte(OpEnd))
		} else {
			code = append([]byte(nil), seeds[r.Intn(len(seeds))]...)
			for range 1 + r.Intn(3) {
				code[r.Intn(len(code))] = byte(r.Intn(0x36))
			}
		}
		if accepted(t, code, Use(r.Intn(2))) {
			accept++
		} else {
			refuse++
		}
	}
	t.Logf("%d accepted, %d refused", accept, refuse)
	if accept < 1000 || refuse < 1000 {
		t.Error("too few of a kind")
	}
}

func FuzzValidate(f *testing.F) {
	for _, s := range []string{"220127", "2202260005162004162022032600041620041620021620220 02b1427", "2201200005272201 27", "22002200340100032564000027"} {
		code, _ := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		f.Add(code, false)
		f.Add(code, true)
	}
	f.Fuzz(func(t *testing.T, code []byte, cond bool) {
		use := ForAction
		if cond {
			use = ForCondition
		}
		accepted(t, code, use)
	})
}

package usdt

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// opsText writes a location's operations.
func opsText(l debuginfo.Location) string {
	if l.Unavailable != "" {
		return "none: " + l.Unavailable
	}
	p := l.Pieces[0]
	var b strings.Builder
	fmt.Fprint(&b, []string{debuginfo.InRegister: "reg", debuginfo.InMemory: "mem", debuginfo.IsValue: "value"}[p.Kind])
	if p.Kind == debuginfo.InRegister {
		fmt.Fprintf(&b, " %d", p.Reg)
	}
	names := map[debuginfo.OpCode]string{
		debuginfo.OpReg: "reg", debuginfo.OpConst: "const", debuginfo.OpAddConst: "plus", debuginfo.OpAdd: "add",
		debuginfo.OpMul: "mul", debuginfo.OpConvert: "convert", debuginfo.OpAddr: "addr",
	}
	for _, o := range p.Expr {
		fmt.Fprintf(&b, " %s", names[o.Code])
		if o.Code != debuginfo.OpAdd && o.Code != debuginfo.OpMul {
			fmt.Fprintf(&b, " %d", o.Arg)
		}
	}
	return b.String()
}

// TestA64 reads operands of arm64, on any machine.
func TestA64(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"-4@x1", "reg 1"},
		{"4@w21", "reg 21"},
		{"8@sp", "reg 31"},
		{"8@x29", "reg 29"},
		{"8f@d3", "reg 67"},
		{"-4@5", "value const 5"},
		{"-4@#-17", "value const -17"},
		{"8@xzr", "value const 0"},
		{"-4@[sp, 16]", "mem reg 31 plus 16"},
		{"-4@[sp,#16]", "mem reg 31 plus 16"},
		{"8@[x0]", "mem reg 0"},
		{"8@[x0, -8]", "mem reg 0 plus -8"},
		{"8@[x19, x20]", "mem reg 19 reg 20 add"},
		{"8@[x19, x20, lsl 3]", "mem reg 19 reg 20 const 8 mul add"},
		{"4@[x1, w2, sxtw 2]", "mem reg 1 reg 2 convert -4 const 4 mul add"},
		{"4@[x1, w2, uxtw]", "mem reg 1 reg 2 convert 4 add"},
		{"8@(3-5)*7", "value const -14"},
		{"8@[w0]", `none: cannot parse its operand "8@[w0]": a base of 32 bits`},
		{"8@[x0, w1]", `none: cannot parse its operand "8@[x0, w1]": an index of 32 bits that is not extended`},
		{"8@[x0, 8]!", `none: cannot parse its operand "8@[x0, 8]!": unexpected "!"`},
		{"8@[x0], 8", `none: cannot parse its operand "8@[x0],": unexpected ","`},
		{"8@[x0, #:lo12:sym]", `none: cannot parse its operand "8@[x0, #:lo12:sym]": a part of an address (:lo12:sym]) is not supported`},
		{"8@[x0, x1, ror 2]", `none: cannot parse its operand "8@[x0, x1, ror 2]": "ror" does not extend an index of 64 bits`},
		{"8@[x0, x1, lsl 9]", `none: cannot parse its operand "8@[x0, x1, lsl 9]": an index shifted by 9`},
		{"16@x0", `none: cannot parse its operand "16@x0": 16 bytes do not fit there`},
		{"8@%rdi", `none: cannot parse its operand "8@%rdi": "%rdi" is not a number`},
	} {
		a := a64.args(c.text)[0]
		if got := opsText((&placer{pc: 0x1000}).location(&a)); got != c.want {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

// TestA64Compiled reads the operands that GCC 12 gave the probes of demo.c, at -O0, -O1,
// -O2 and -Os; see testdata/arm64_args.txt.
func TestA64Compiled(t *testing.T) {
	f, err := os.Open("testdata/arm64_args.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	args := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		for _, a := range a64.args(s.Text()) {
			args++
			if a.Err != nil {
				t.Errorf("%s: %v", s.Text(), a.Err)
			}
		}
	}
	if args < 100 {
		t.Errorf("only %d arguments", args)
	}
}

package lang

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Expressions whose value depends on how tightly their operators bind. All
// values fit into an int, so that one evaluator on int64 is enough.
var oracleExprs = []string{
	"1 + 2 * 3", "(1 + 2) * 3", "10 - 4 - 3", "100 / 10 / 5", "100 / 10 * 5", "17 % 5 * 2", "2 * 17 % 5",
	"1 << 2 + 3", "1 << 2 << 3", "256 >> 2 >> 1", "1 + 1 << 3", "64 >> 1 + 2",
	"1 < 2 < 3", "3 > 2 > 1", "3 > 2 == 1", "1 == 2 < 3", "5 == 5 != 0", "1 != 1 == 0", "1 == 1 == 1",
	"2 <= 1 + 1", "7 & 3 == 3", "6 & 3 | 8", "6 | 3 & 8", "6 ^ 3 & 1", "6 ^ 3 | 8", "1 | 2 ^ 3", "5 & 6 ^ 3 | 9",
	"1 & 2 < 3", "8 | 4 == 4", "4 ^ 4 == 4",
	"1 || 0 && 0", "0 && 1 || 1", "(1 || 0) && 0", "1 && 2 | 4", "0 || 2 & 1", "1 && 1 == 2", "!0 || 0", "!1 && 0",
	"1 ? 2 : 3", "0 ? 1 : 0 ? 2 : 3", "1 ? 0 ? 4 : 5 : 6", "1 || 0 ? 7 : 8", "1 ? 2 : 3 + 10", "(1 ? 2 : 3) + 10", "0 ? 2 : 3 , 4",
	"1, 2, 3", "1, 2 + 3", "(4, 5) * 2",
	"-1 + 2", "-2 * -3", "- - 4", "-(4 + 1)", "~1 + 1", "~(1 + 1)", "!3 + 4", "!(3 + 4)", "-!0", "!-1", "~-1", "-~5", "!~0", "+3 - +2",
	"-7 / 2", "-7 % 3", "-16 >> 2", "-1 < 0", "- 1 - 1 - - 1",
	"(int)3 + 4", "-(char)5 * 2", "(char)1 + 2", "sizeof(int) * 2", "sizeof(int) + 1 << 1", "sizeof 1 + 2", "sizeof(long[3]) / sizeof(long)",
	"'a' + 1", "'\\n' * 2", "'\\x41' == 0x41", "'\\101' | 1", "0x10 + 010 + 0b10 + 10", "1 ? 2 : 3 ? 4 : 5",
}

// TestPrecedenceAgainstGDB compares the values of our trees with what gdb prints.
func TestPrecedenceAgainstGDB(t *testing.T) {
	want := gdbPrints(t, "", oracleExprs)
	for i, src := range oracleExprs {
		e, err := parsed(src, nil)
		if err != nil {
			t.Errorf("%s:\n%v", src, err)
			continue
		}
		got := evaluate(t, e)
		// A char prints as "97 'a'".
		if w, _, _ := strings.Cut(want[i], " "); strconv.FormatInt(got, 10) != w {
			t.Errorf("%s = %s is %d, gdb prints %s", src, String(e), got, want[i])
		}
	}
}

// TestRepeatAgainstGDB has gdb print each expression as it is and as we
// understand it, with all parentheses.
func TestRepeatAgainstGDB(t *testing.T) {
	dir := t.TempDir()
	prog := filepath.Join(dir, "prog")
	build := exec.Command("gcc", "-g", "-O0", "-o", prog, "testdata/gdb/prog.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("compiling the program: %v\n%s", err, out)
	}
	exprs := []string{
		"arr[0]@2+1", "arr[0]@2*2", "arr[1]@1<<1 == 0", "*arr@3", "*arr@g - 2", "arr[1]@2@2", "*&arr[2]@2", "arr[0]@1, arr[5]@2",
		"g ? arr[0]@2 : arr[0]@2", "sizeof arr[0]@3", "sizeof(arr[0]@3)", "(arr[1]@4)[2]", "arr[1]@7%3", "arr[1]@-1+3",
		"'prog.c'::g + 1", "::g * 2", "-'prog.c'::g", "test_function::calls + 1", "&arr[1] - arr", "*(arr + 2) * 2", "*arr + 2 * g",
		"(long)arr[1] + 1", "(char)arr[1] << 9", "&*&g == &g", "!arr[0]++ ", "{int}arr + 1", "{int[2]}arr", "{struct req}arr.path",
		"(unsigned long int)-1 > 0", "sizeof(struct req *[3])", "sizeof(int (*[2])(char, ...))", "sizeof(char (*)[3])", "sizeof(long long unsigned)",
	}
	var printed []string
	for _, src := range exprs {
		e, err := parsed(src, nil)
		if err != nil {
			t.Fatalf("%s:\n%v", src, err)
		}
		printed = append(printed, String(e))
	}
	as, is := gdbPrints(t, prog, exprs), gdbPrints(t, prog, printed)
	for i := range exprs {
		if as[i] != is[i] {
			t.Errorf("gdb prints %s as %s, but %s as %s", exprs[i], as[i], printed[i], is[i])
		}
	}
}

// gdbPrints prints all expressions in one gdb and returns its output, or an error message if gdb refuses.
func gdbPrints(t *testing.T, prog string, exprs []string) []string {
	t.Helper()
	args := []string{"-nx", "-batch", "-ex", "set language c", "-ex", "set confirm off"}
	if prog != "" {
		args = append(args, prog)
	}
	for i, e := range exprs {
		// Printing through "output" leaves out the numbers of the value history.
		args = append(args, "-ex", fmt.Sprintf("echo \\n<%d>", i), "-ex", "output "+e)
	}
	out, err := exec.Command("gdb", args...).CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatalf("running gdb: %v", err)
	}
	marks := regexp.MustCompile(`\n<(\d+)>`).FindAllStringSubmatchIndex(string(out), -1)
	if len(marks) != len(exprs) {
		t.Fatalf("gdb printed %d values for %d expressions:\n%s", len(marks), len(exprs), out)
	}
	values := make([]string, len(exprs))
	for i, m := range marks {
		end := len(out)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		values[i] = strings.TrimSpace(string(out[m[1]:end]))
	}
	return values
}

// evaluate is C on integers that fit.
func evaluate(t *testing.T, e Expr) int64 {
	t.Helper()
	truth := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	ev := func(e Expr) int64 { return evaluate(t, e) }
	switch e := e.(type) {
	case *IntLit:
		return int64(e.Value)
	case *CharLit:
		return e.Value
	case *Sizeof:
		if e.Type == nil {
			return 4
		}
		size := map[string]int64{"int": 4, "char": 1, "long": 8}[e.Type.Name]
		for _, d := range e.Type.Derive {
			size *= d.Array
		}
		return size
	case *Cast:
		return ev(e.X)
	case *Cond:
		if ev(e.C) != 0 {
			return ev(e.T)
		}
		return ev(e.F)
	case *Unary:
		switch x := ev(e.X); e.Op {
		case "-":
			return -x
		case "+":
			return x
		case "~":
			return ^x
		case "!":
			return truth(x == 0)
		}
	case *Binary:
		x, y := ev(e.X), ev(e.Y)
		switch e.Op {
		case "*":
			return x * y
		case "/":
			return x / y
		case "%":
			return x % y
		case "+":
			return x + y
		case "-":
			return x - y
		case "<<":
			return x << y
		case ">>":
			return x >> y
		case "&":
			return x & y
		case "|":
			return x | y
		case "^":
			return x ^ y
		case ",":
			return y
		case "&&":
			return truth(x != 0 && y != 0)
		case "||":
			return truth(x != 0 || y != 0)
		case "==":
			return truth(x == y)
		case "!=":
			return truth(x != y)
		case "<":
			return truth(x < y)
		case "<=":
			return truth(x <= y)
		case ">":
			return truth(x > y)
		case ">=":
			return truth(x >= y)
		}
	}
	t.Fatalf("no value for %s", String(e))
	return 0
}

package test

import (
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// returnedFunctions are those of programs/returned.c, in the order of their calls.
func returnedFunctions(t *testing.T) (list []string) {
	src, err := os.ReadFile("programs/returned.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^F\([^,]*, (f_\w+),`).FindAllStringSubmatch(string(src), -1) {
		list = append(list, m[1])
	}
	return list
}

// aReturn is a function that returned, and the value as it is shown.
type aReturn struct{ fn, value string }

// returnsByGDB are the results of functions as GDB's finish shows them.
func returnsByGDB(t *testing.T, prog string, funcs []string) (list []aReturn) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "gdb")
	var b strings.Builder
	b.WriteString("set pagination off\nset confirm off\n")
	for _, f := range funcs {
		fmt.Fprintf(&b, "break *%s\n", f)
	}
	b.WriteString("run\npython\nfor i in range(100000):\n  if not gdb.selected_inferior().threads(): break\n" +
		"  gdb.write('CALL ' + gdb.newest_frame().name() + '\\n')\n  gdb.execute('finish')\n  gdb.execute('continue')\nend\n")
	if err := os.WriteFile(script, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("gdb", "-nx", "-batch", "-x", script, prog).CombinedOutput()
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	for _, m := range regexp.MustCompile(`(?s)CALL (\w+)\n.*?Value returned is \$\d+ = ([^\n]*)`).FindAllStringSubmatch(string(out), -1) {
		list = append(list, aReturn{m[1], m[2]})
	}
	if len(list)%len(funcs) != 0 || len(list) == 0 {
		t.Fatalf("GDB shows %d values of %d functions:\n%s", len(list), len(funcs), tail(string(out)))
	}
	return list
}

// returnsByJalon are the results as jalon shows them.
func returnsByJalon(t *testing.T, prog string, funcs []string, flags ...string) (list []aReturn) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "events")
	args := append([]string{"trace", "-q", "-o", file}, flags...)
	for _, f := range funcs {
		args = append(args, f+"%return")
	}
	if res := jalon(t, append(args, "--", prog)...); res.status != 0 {
		t.Fatal(res.stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m) (f_\w+)%return +\$retval=(.*)$`).FindAllStringSubmatch(string(text), -1) {
		list = append(list, aReturn{m[1], m[2]})
	}
	return list
}

// floating are the functions of programs/returned.c whose results, or parts of them, are in vector registers or in the x87.
var floating = []string{"f_double", "f_float", "f_cdouble", "f_cfloat", "f_pair", "f_floats", "f_mixed", "f_long", "f_clong", "f_extended", "f_nested"}

// TestReturnValues: $retval at each return of functions with results of every class is what GDB's finish shows. At uretprobes of
// the kernel it is the same, or the reason why there is none: registers for floating-point numbers are not known there.
func TestReturnValues(t *testing.T) {
	need(t, "gcc", "clang", "gdb")
	funcs := returnedFunctions(t)
	for _, build := range []string{"gcc -O0", "gcc -O2", "clang -O1"} {
		t.Run(build, func(t *testing.T) {
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "returned.c", append(flags[1:], "-g", "-no-pie", "-w")...)
			want := returnsByGDB(t, prog, funcs)
			if len(want) != 11*len(funcs) || len(want) < 200 {
				t.Fatalf("GDB shows %d values of %d functions", len(want), len(funcs))
			}
			for i := range want {
				if n := int64(i / len(funcs)); want[i].fn == "f_wide" { // GDB looks for it in memory
					want[i].value = new(big.Int).Add(new(big.Int).Lsh(big.NewInt(n), 70), big.NewInt(n)).String()
				}
			}
			sameReturns(t, returnsByJalon(t, prog, funcs, "-c", "$retval"), want)
			inKernel := returnsByJalon(t, prog, funcs, "--engine", "kernel")
			missing := 0
			for i := range inKernel {
				if i < len(want) && slices.Contains(floating, inKernel[i].fn) && strings.HasPrefix(inKernel[i].value, "<it is in a ") {
					inKernel[i].value = want[i].value
					missing++
				}
			}
			if missing != 11*len(floating) {
				t.Errorf("%d values are not available in the kernel, want %d", missing, 11*len(floating))
			}
			sameReturns(t, inKernel, want)
		})
	}
}

func sameReturns(t *testing.T, got, want []aReturn) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d returns, GDB has %d:\n%v", len(got), len(want), got)
	}
	wrong := 0
	for i := range want {
		if got[i] != want[i] {
			wrong++
			t.Errorf("return %d of %s: %s, GDB: %s %s", i, got[i].fn, got[i].value, want[i].fn, want[i].value)
		}
	}
	t.Logf("%d return values compared with GDB, %d differ", len(want), wrong)
}

// TestReturnUpperBits: a result that is narrower than its register has the type's value in both engines, also in conditions,
// whatever the other bits of the register are. A function without debug information has the whole register.
func TestReturnUpperBits(t *testing.T) {
	need(t, "gcc", "gdb")
	prog := compile(t, "gcc", "upperbits.c", "-g", "-no-pie")
	funcs := []string{"f_int", "f_unsigned", "f_short", "f_schar", "f_uchar", "f_bool", "f_enum"}
	want := returnsByGDB(t, prog, funcs)
	below := []string{
		"f_int%return if ($retval < 0)", "f_short%return if ($retval < 0)", "f_schar%return if ($retval < 0)", "f_bool%return if (!$retval)",
		"f_enum%return if ($retval == minus)", "f_unsigned%return if ($retval > 3)", "f_uchar%return if ($retval >= 253)",
	}
	for _, engine := range [][]string{nil, {"--engine", "kernel"}, {"--all"}} {
		sameReturns(t, returnsByJalon(t, prog, funcs, engine...), want)
		for _, place := range below {
			r := jalon(t, append(append([]string{"trace", "-q", place}, engine...), "--", prog)...)
			if n := strings.Count(r.stdout, "%return"); n != 3 || r.status != 0 {
				t.Errorf("%v: %d hits of %s\n%s%s", engine, n, place, r.stdout, r.stderr)
			}
		}
	}
	bare := compile(t, "gcc", "upperbits.c", "-no-pie")
	r := jalon(t, "trace", "-q", "f_bool%return", "--engine", "kernel", "-c", "$retval/x", "--", bare)
	if n := strings.Count(r.stdout, "$retval=0x5a5a5a5a5a5a5a0"); n != 7 {
		t.Errorf("%d of 7 results as in the register:\n%s%s", n, r.stdout, r.stderr)
	}
	void := jalon(t, "trace", "main%return", "--engine", "kernel", "-c", "@entry($args)", "--", prog)
	if void.status == 0 || !strings.Contains(void.stderr, "@entry") {
		t.Errorf("@entry at a uretprobe: %s", void.stderr)
	}
}

// left is how often functions were entered and left by a return or a tail call.
func left(t *testing.T, tr *traced) (entered, returned map[string]int) {
	t.Helper()
	entered, returned = map[string]int{}, map[string]int{}
	for _, e := range tr.events {
		if strings.HasSuffix(e.Place, "%return") || strings.HasPrefix(e.Place, "uretprobe:") {
			returned[e.Function]++
		} else {
			entered[e.Function]++
		}
	}
	return entered, returned
}

// TestLeftOtherwise: functions whose returns are traced may be left by C++ exceptions and longjmp, in several
// threads. The program computes the same; each entry has a return, except for those that were left otherwise.
func TestLeftOtherwise(t *testing.T) {
	need(t, "g++")
	const times = 90
	const calls = 4 * times
	for _, flags := range []string{"-O0", "-O2"} {
		t.Run(flags, func(t *testing.T) {
			prog := compile(t, "g++", "left.cc", "-g", "-pthread", flags)
			plain, err := exec.Command(prog).Output()
			if err != nil {
				t.Fatal(err)
			}
			funcs := []string{"ends", "passes", "plain", "hands_over", "deep", "chooses"}
			args := []string{"--buffer", "64M"}
			for _, f := range funcs {
				args = append(args, f+"+0", f+"%return")
			}
			tr := trace(t, append(args, "--", prog)...)
			equal(t, "output", tr.stdout, string(plain))
			entered, returned := left(t, tr)
			// passes throws at i%3 == 1; plain throws or jumps at i%3 != 0, and ends ends with it each time.
			ones, zeros := 0, 0
			for i := range times {
				switch i % 3 {
				case 0:
					zeros++
				case 1:
					ones++
				}
			}
			want := map[string]int{
				"passes": calls - 4*ones, "plain": 4 * zeros, "hands_over": calls, "chooses": calls,
				"ends": entered["ends"] - 4*ones - 4*(times-zeros), "deep": entered["deep"],
			}
			for _, f := range funcs {
				if entered[f] < calls || returned[f] != want[f] {
					t.Errorf("%s: %d entries, %d returns, want %d", f, entered[f], returned[f], want[f])
				}
			}
			if tr.sum.Lost != 0 {
				t.Errorf("%d records lost", tr.sum.Lost)
			}
		})
	}
}

// TestReturnsOfGo: the returns of every function of a Go program's own package are traced under load: its
// stacks grow and move, its collector reads them, goroutines are preempted, functions panic and recover.
// Values are right.
func TestReturnsOfGo(t *testing.T) {
	dir := t.TempDir()
	prog := filepath.Join(dir, "prog")
	build := exec.Command("go", "build", "-o", prog, "./testdata/goreturns")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	plain, err := exec.Command(prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	tr := trace(t, "--buffer", "64M", "uprobe:"+prog+":main.*", "main.*%return", "--", prog)
	equal(t, "output", tr.stdout, string(plain))
	entered, returned := left(t, tr)
	for f, n := range entered {
		want := n
		switch f {
		case "main.fails", "main.middle": // left by a panic
			want = 0
		case "main.main.func1", "main.main.func1.deferwrap1": // the program may end before the last ones return, behind Done
			want = max(n-1, returned[f])
		}
		if returned[f] != want {
			t.Errorf("%s: %d entries, %d returns, want %d", f, n, returned[f], want)
		}
	}
	if entered["main.grow"] < 1000 || tr.sum.Lost != 0 {
		t.Errorf("%d calls of main.grow, %d records lost", entered["main.grow"], tr.sum.Lost)
	}
	values := trace(t, "main.several%return", "-c", "$retval.n, $retval.s.len, $retval.f, $retval", "--", prog)
	if len(values.events) != 20 {
		t.Fatalf("%d returns of main.several: %s", len(values.events), values.stderr)
	}
	for i, e := range values.events {
		got := fmt.Sprintf("%v %v %v", e.Values["$retval.n"], e.Values["$retval.s.len"], e.Values["$retval.f"])
		if want := fmt.Sprintf("%v %v %v", i*3, len(fmt.Sprint("value ", i)), float64(i)/2); got != want {
			t.Errorf("return %d: n, the length of s, and f are %s, want %s", i, got, want)
		}
	}
}

// TestReturnsOfLibrary: all returns of a library's functions, which has no debug information and no symbols of
// its own functions, are traced. The program does the same, and each function is left as often as it is
// entered; a jump to the function's own start enters it again.
func TestReturnsOfLibrary(t *testing.T) {
	need(t, "sqlite3", "objdump")
	dir := t.TempDir()
	libs, _ := filepath.Glob("/usr/lib/*/libsqlite3.so.0")
	if len(libs) == 0 {
		t.Fatal("there is no libsqlite3.so.0")
	}
	lib := filepath.Join(dir, "libsqlite3.so.0") // a copy: uprobes concern all processes that use the file
	b, err := os.ReadFile(libs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lib, b, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LD_LIBRARY_PATH", dir)
	const script = "create table t(a integer primary key, b text); create index tb on t(b);\n" +
		"with recursive n(i) as (select 1 union all select i+1 from n where i<100) insert into t select i, 'x'||i from n;\n" +
		"select count(*), max(b) from t where b like 'x1%'; select a from t order by b desc limit 5;\n"
	plain := runInput(t, script, "/usr/bin/sqlite3", ":memory:")
	tr := traceInput(t, script, "--buffer", "64M", "uprobe:"+lib+":*", "uretprobe:"+lib+":*", "--", "/usr/bin/sqlite3", ":memory:")
	equal(t, "output", tr.stdout, plain.stdout)
	entered, returned := left(t, tr)
	again := ownStarts(t, lib)
	functions, calls := 0, 0
	for f, n := range entered {
		functions, calls = functions+1, calls+n
		if returned[f] != n && (!again[f] || returned[f] > n) {
			t.Errorf("%s: %d entries, %d returns", f, n, returned[f])
		}
	}
	t.Logf("%d functions, %d calls, all returned", functions, calls)
	if functions < 300 || tr.sum.Lost != 0 {
		t.Errorf("%d functions, %d records lost: %s", functions, tr.sum.Lost, tail(tr.stderr))
	}
}

// ownStarts are the functions that jump to their own start.
func ownStarts(t *testing.T, lib string) map[string]bool {
	t.Helper()
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", lib).Output()
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)\tj\w+ +[0-9a-f]+ <(\w+)(@@\w+)?>$`).FindAllStringSubmatch(string(out), -1) {
		set[m[1]] = true
	}
	return set
}

// TestSharedReturn: a return where no jump fits is a uprobe, and an int3 with a warning where uprobes cannot do what is
// wanted. jalon list shows the same.
func TestSharedReturn(t *testing.T) {
	prog := compile(t, "gcc", "sharedret.S", "-g")
	if r := jalon(t, "list", "--tactics", prog, "f%return"); !strings.Contains(r.stdout, "return, uprobe") {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	for list, warning := range map[string]bool{"$rax": false, "$elapsed": true} {
		r := jalon(t, "trace", "f%return", "-c", list, "--", prog)
		if n := strings.Count(r.stdout, list+"="); n != 2 {
			t.Errorf("%s: %d events\n%s%s", list, n, r.stdout, r.stderr)
		}
		if warned := strings.Contains(r.stderr, "reached by an int3"); warned != warning {
			t.Errorf("%s: a warning: %t\n%s", list, warned, r.stderr)
		}
	}
}

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Programs that are not written in C.

// inOther traces prog at place and returns the values of each event's line.
func inOther(t *testing.T, prog, place, list string) (values []string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "events")
	res := jalon(t, "trace", "-o", out, "-c", list, place, "--", prog)
	b, err := os.ReadFile(out)
	if err != nil || res.status != 0 {
		t.Errorf("%s: %s: status %d, %v\n%s", place, list, res.status, err, res.stderr)
		return nil
	}
	at, _, _ := strings.Cut(place, " if ")
	for _, l := range strings.Split(strings.TrimSpace(string(b)), "\n") {
		if _, v, ok := strings.Cut(l, " "+at+" "); ok {
			values = append(values, strings.TrimSpace(v))
		}
	}
	return values
}

func buildOther(t *testing.T, dir string, cmd ...string) {
	t.Helper()
	need(t, cmd[0])
	c := exec.Command(cmd[0], cmd[1:]...)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if b, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd, " "), err, b)
	}
}

type valueOf struct{ x, want string }

func compareOther(t *testing.T, prog, place string, list []valueOf) {
	t.Helper()
	for _, v := range list {
		got := strings.Join(inOther(t, prog, place, v.x), "; ")
		if got = strings.ReplaceAll(got, v.x+"=", ""); got != v.want {
			t.Errorf("%s: %s is %s, want %s", place, v.x, got, v.want)
		}
	}
}

// refusedOther checks that an expression is refused, with the words why.
func refusedOther(t *testing.T, prog, place string, list []valueOf) {
	t.Helper()
	for _, v := range list {
		res := jalon(t, "trace", "-c", v.x, place, "--", prog)
		if res.status == 0 || !strings.Contains(res.stderr, v.want) {
			t.Errorf("%s: status %d, want an error with %q: %s", v.x, res.status, v.want, res.stderr)
		}
	}
}

func lineWith(t *testing.T, file, text string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, ok := strings.Cut(string(b), text)
	if !ok {
		t.Fatalf("%s has no %q", file, text)
	}
	return filepath.Base(file) + ":" + strconv.Itoa(1+strings.Count(before, "\n"))
}

// TestFortran: arrays with the program's own bounds and order, CHARACTER, COMMON, PARAMETER.
func TestFortran(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "arrays")
	source, err := filepath.Abs("programs/arrays.f90")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"-gdwarf-5", "-gdwarf-4"} {
		buildOther(t, t.TempDir(), "gfortran", flags, "-O0", "-o", prog, source)
		at := lineWith(t, source, "    print *, ")
		compareOther(t, prog, at, []valueOf{
			{"marr", "{1.5, 2.5, 3.5}"},
			{"marr(4)", "2.5"},
			{"marr(n + 1)", "1.5"},
			{"m::marr(5)", "3.5"},
			{"grid", "{{210, 310}, {211, 311}, {212, 312}}"},
			{"grid(2,10)", "210"},
			{"grid(3, 12)", "312"},
			{"grid(k, n + 9)", "311"},
			{"a(-1)", "11"},
			{"a(n)", "44"},
			{"a", "{11, 22, 33, 44}"},
			{"alloc", "{7, 9, 7, 7}"},
			{"alloc(2)", "9"},
			{"name", `"some name"`},
			{"a(-1)@2", "{11, 22}"},
			{"fixed", `"hello"`},
			{"one", `"q"`},
			{"fixed(2)", "101 'e'"},
			{`fixed == "hello"`, "1"},
			{`fixed == "hell"`, "0"},
			{"names", `{"two", "iii"}`},
			{"names(3)", `"iii"`},
			{"name(1)@_name", `"some name"`},
			{"z", "1.5 + -2.5i"},
			{"flag", "true"},
			{"f1", "false"},
			{"modv", "45"},
			{"cn", "92"}, // of COMMON blocks
			{"cx(2)", "0.375"},
			{"cm + 1", "-2"},
			{"limit", "99"}, // PARAMETER
			{"third", "0.375"},
			{"cn - limit", "-7"},
		})
		refusedOther(t, prog, at, []valueOf{
			{"marr[4]", "is written with parentheses"},
			{"marr(6)", "outside of 3:5"},
			{"marr(2)", "outside of 3:5"},
			{"grid(2)", "has 2 dimensions"},
			{"a[1]", "an array whose bounds are computed at run time"},
			{"alloc(1, 2)", "has 1 dimensions"},
			{"work(1)", "cannot be called"},
		})
	}
}

// TestRustEnums: the variant that a value holds, and its data.
func TestRustEnums(t *testing.T) {
	source, err := filepath.Abs("programs/enums.rs")
	if err != nil {
		t.Fatal(err)
	}
	prog := filepath.Join(t.TempDir(), "enums")
	buildOther(t, t.TempDir(), "rustc", "-g", "-o", prog, source)
	at := lineWith(t, source, "    let n = match")
	compareOther(t, prog, at, []valueOf{
		{"number", "Some {__0 = 77}; None; Some {__0 = 0}; Some {__0 = 0}"},
		{"nested", "Some {__0 = Some {__0 = true}}; None; Some {__0 = None}; Some {__0 = Some {__0 = false}}"},
		{"result", "Ok {__0 = 4}; Err {__0 = 9 '\\t'}; Err {__0 = 0 '\\000'}; Ok {__0 = -1}"},
		{"level", "Low; High; High; High"},
		{"tagged", "Minus {__0 = -6}; Plus; Plus; Plus"},
		{"only", "One {__0 = 8}; One {__0 = 1}; One {__0 = 2}; One {__0 = 3}"},
		{"pair", "{__0 = Some {__0 = 77}, __1 = 17}; {__0 = None, __1 = 17}; {__0 = Some {__0 = 0}, __1 = 17}; {__0 = Some {__0 = 0}, __1 = 17}"},
		{"result/d", "result=Ok {__0 = 4}; result=Err {__0 = 9}; result=Err {__0 = 0}; result=Ok {__0 = -1}"},
		{"COUNT", "17; 17; 17; 17"},
	})
	wider := lineWith(t, source, "// wider")
	compareOther(t, prog, wider, []valueOf{
		{"wide", "U {__0 = 1267650600228229401496703205376}; I {__0 = -2}; Z"},
		{"far", "Below {__0 = -1}; Above; Last {x = 7 '\\a'}"},
		{"far == Below", "1; 0; 0"},
		{"done", "Ok {__0 = {<No data fields>}}; Err {__0 = 0}; Ok {__0 = {<No data fields>}}"},
	})
	for i, huge := range inOther(t, prog, wider, "huge") {
		for _, want := range [][]string{{"Some", " = 1237940039285380274899124224}"}, {"None"}, {"Some", " = 3}"}}[i] {
			if !strings.Contains(huge, want) {
				t.Errorf("hit %d: %s has no %q", i, huge, want)
			}
		}
	}
	for x, want := range map[string]string{
		"*shape": "Circle {__0 = 2.5}; Rect {w = 3, h = 4}; Unit; Named {__0 = 0x",
		"maybe":  "Some {__0 = 0x",
		"boxed":  "Some {__0 = 0x",
		"big":    "A {__0 = 10, __1 = 3 '\\003'}; B {__0 = 0x",
	} {
		got := strings.ReplaceAll(strings.Join(inOther(t, prog, at, x), "; "), x+"=", "")
		if !strings.HasPrefix(got, want) || x != "*shape" && !strings.HasSuffix(got, map[bool]string{true: "; C; C", false: "; None; None; None"}[x == "big"]) {
			t.Errorf("%s is %s, want %s...", x, got, want)
		}
	}
	out := filepath.Join(t.TempDir(), "events")
	jalon(t, "trace", "-f", "json", "-o", out, "-c", "number, nested, *shape", at, "--", prog)
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`"values":{"number":{"Some":{"__0":77}},"nested":{"Some":{"__0":{"Some":{"__0":true}}}},"*shape":{"Circle":{"__0":2.5}}}`,
		`"values":{"number":"None","nested":"None","*shape":{"Rect":{"w":3,"h":4}}}`,
		`"values":{"number":{"Some":{"__0":0}},"nested":{"Some":{"__0":"None"}},"*shape":"Unit"}`,
	} {
		if lines := strings.Split(string(b), "\n"); i >= len(lines) || !strings.Contains(lines[i], want) {
			t.Errorf("JSON has no %s:\n%s", want, b)
		}
	}
	refusedOther(t, prog, at, []valueOf{{"number.Some", "Some"}, {"number.Some.__0", "Some"}})
}

// TestGoParts: a string has no value, instead of a wrong one, where the compiler describes one part of it as if it
// were the whole.
func TestGoParts(t *testing.T) {
	src, err := os.ReadFile("programs/parts.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	prog, file := filepath.Join(dir, "parts"), filepath.Join(dir, "parts.go")
	if err := os.WriteFile(file, src, 0o600); err != nil {
		t.Fatal(err)
	}
	buildOther(t, dir, "go", "build", "-o", prog, "parts.go")
	at := lineWith(t, file, "// here")
	events := inOther(t, prog, at, "$locals")
	if len(events) != 2 {
		t.Fatalf("%d events: %q", len(events), events)
	}
	for _, e := range events {
		if !strings.Contains(e, `whole="/WHOLE"`) || strings.Contains(e, "unreadable") {
			t.Errorf("the values are %q", e)
		}
	}
}

// TestGoPaddedParts: structures in registers have their members where they are, with bytes between them; of a string and a slice on the stack
// whose parts are not all described there is no value, instead of one part in the place of another.
func TestGoPaddedParts(t *testing.T) {
	src, err := os.ReadFile("programs/padded.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	prog := filepath.Join(dir, "padded")
	if err := os.WriteFile(filepath.Join(dir, "padded.go"), src, 0o600); err != nil {
		t.Fatal(err)
	}
	buildOther(t, dir, "go", "build", "-o", prog, "padded.go")
	compareOther(t, prog, "main.padded", []valueOf{
		{"p.a", "1 '\\001'; 1 '\\001'"},
		{"p.in.b", "3; 3"},
		{"p.in.c", `"four"; "four"`},
		{"p.in.c.len", "4; 4"},
		{"p.d", "5; 5"},
		{"p.in.a + 0", "2; 2"},
		{"f", "{x = 1.5, y = 2.5, b = true}; {x = 1.5, y = 2.5, b = true}"},
	})
	compareOther(t, prog, "main.words", []valueOf{{"z", "{a = 6 '\\006', b = 7, c = 8, d = 9}; {a = 6 '\\006', b = 7, c = 8, d = 9}"}})
	compareOther(t, prog, "main.padded if (p.in.b == 3 && f.b && p.d == 5)", []valueOf{{"p.in.c.len", "4; 4"}})
	compareOther(t, prog, "main.words if (z.b == 7 && z.c == 8)", []valueOf{{"z.d", "9; 9"}})
	result := `{x = 40, y = 5, s = "done!", ok = true}`
	compareOther(t, prog, "main.deferred%return", []valueOf{{"$retval", result + "; " + result}, {"$retval.s.len", "5; 5"}})
	for _, e := range inOther(t, prog, "main.onStack", "length, ends, whole") {
		for part, wrong := range map[string]string{"length=": "length=<optimised out>", "ends=": "ends=<optimised out>"} {
			whole := map[string]string{"length=": `length="length"`, "ends=": "ends={1, 2}"}[part]
			if !strings.Contains(e, wrong) && !strings.Contains(e, whole) {
				t.Errorf("%s%q", part, e)
			}
		}
		if !strings.Contains(e, `whole="whole"`) {
			t.Errorf("whole is missing in %q", e)
		}
	}
}

// TestGoVariables: variables of packages by the names that Go programs have for them.
func TestGoVariables(t *testing.T) {
	dir, err := filepath.Abs("programs/golang")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"", "all=-N -l"} {
		prog := filepath.Join(t.TempDir(), "golang")
		buildOther(t, dir, "go", "build", "-gcflags="+flags, "-o", prog, ".")
		compareOther(t, prog, "main.work", []valueOf{
			{"main.counter", "3; 4; 6"},
			{"counter", "3; 4; 6"},
			{"main.counter + 1", "4; 5; 7"},
			{"main.bounds.High", "99; 99; 99"},
			{"bounds", "{Low = 1, High = 99}; {Low = 1, High = 99}; {Low = 1, High = 99}"},
			{"sub.Counter", "10; 11; 13"},
			{"'example.com/prog/sub.Counter'", "10; 11; 13"},
			{"sub.list.len", "3; 4; 5"},
			{"name.len", "11; 11; 11"},
			{"a", "1; 2; 3"},
			{"f", "2.5; 2.5; 2.5"},
			{"s.len", "5; 5; 5"},
			{"p->A", "4; 4; 4"},
		})
		compareOther(t, prog, "main.work if (main.counter > 3 && a == 3)", []valueOf{{"counter", "6"}})
		compareOther(t, prog, "example.com/prog/sub.(*T).Add", []valueOf{{"Counter", "10; 11; 13"}, {"main.counter", "3; 4; 6"}, {"n", "1; 2; 3"}})
		// A function value points to the address of its code.
		if got := inOther(t, prog, "main.work", "*(long *)hook/a"); len(got) != 3 || !strings.Contains(got[0], "func1>") {
			t.Errorf("hook calls %q", got)
		}
		refusedOther(t, prog, "main.work", []valueOf{{"sub.nothing", "no variable"}, {"main.nothing", "no package variable main.nothing"}})
	}
}

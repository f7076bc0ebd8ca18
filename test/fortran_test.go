package test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shapesOf are expressions of programs/shapes.f90, in Fortran as GDB reads them.
var shapesOf = []string{
	"x", "x(1,1)", "x(3,1)", "x(n,n-1)", "e", "e(-1,1)", "e(n,2)", "few(2)", "txt", "p", "p(2)", "al", "al(-1,5)", "al(1,6)",
	"nd", "nd%w", "nd%w(2)", "nd%link", "nd%link(2,1)", "nd%tail", "wh%inner", "wh%inner%w(1)", "wh%parts(1)", "wh%parts(1)%link",
	"cube", "cube(2,-1,0)", "cube(3,1,1)", "ids", "ids(2)", "flags", "flags(2)", "names", "names(2)",
	"grid", "grid(1,2)", "grid(n,n)", "brief", "brief(2)", "line", "line(0)", "line(n)", "modal", "modal(4)",
}

// elementsKept are those that are described at all levels of optimisation.
var elementsKept = regexp.MustCompile(`^(x|e|few|p|grid|brief|line|modal)\(`)

// backwards are elements of what the second call passes in the opposite order. GDB 13 has errors or wrong values for them, and
// the right ones for the whole arrays.
var backwards = regexp.MustCompile(`^(x|cube|ids|flags)\(`)

// character is one character, which GDB writes so in C too.
var character = regexp.MustCompile(`^[0-9]+ '.'$`)

var betweenRows = regexp.MustCompile(`\) \(`)

// inC is a value that GDB wrote in Fortran, in C's notation.
func inC(v string) string {
	if v == "<optimized out>" {
		return "<optimised out>"
	}
	if character.MatchString(v) {
		return v
	}
	v = betweenRows.ReplaceAllString(v, "), (")
	v = strings.NewReplacer("( ", "{", " )", "}", "(", "{", ")", "}", "'", `"`, ".TRUE.", "true", ".FALSE.", "false").Replace(v)
	return v
}

// gdbShapes are the values of expressions in GDB, by hit.
func gdbShapes(t *testing.T, prog, place string, list []string) (hits []map[string]string) {
	t.Helper()
	args := []string{"-nx", "-q", "-batch", "-ex", "set width 0", "-ex", "break " + place, "-ex", "run"}
	for range 2 {
		args = append(args, "-ex", `echo @@hit\n`)
		for _, x := range list {
			args = append(args, "-ex", "echo @@"+x+"=", "-ex", "output "+x, "-ex", `echo \n`)
		}
		args = append(args, "-ex", "continue")
	}
	out := run(t, append([]string{"gdb"}, append(args, prog)...)...).stdout
	for _, l := range strings.Split(out, "\n") {
		if l == "@@hit" {
			hits = append(hits, map[string]string{})
		} else if x, v, ok := strings.Cut(strings.TrimPrefix(l, "@@"), "="); ok && strings.HasPrefix(l, "@@") && len(hits) > 0 {
			hits[len(hits)-1][x] = v
		}
	}
	if len(hits) != 2 {
		t.Fatalf("GDB stopped %d times:\n%s", len(hits), out)
	}
	return hits
}

// TestFortranAtRunTime: arrays and texts whose place, bounds and distances of elements are computed at the hit have the
// values that GDB shows, in both engines.
func TestFortranAtRunTime(t *testing.T) {
	need(t, "gdb")
	source, err := filepath.Abs("programs/shapes.f90")
	if err != nil {
		t.Fatal(err)
	}
	place := lineWith(t, source, " ! look here")
	for _, flags := range [][]string{{"-O0", "-gdwarf-5"}, {"-O2", "-gdwarf-5"}, {"-O1", "-gdwarf-4"}, {"-O3", "-g"}} {
		dir := t.TempDir()
		prog := filepath.Join(dir, "shapes")
		buildOther(t, dir, append(append([]string{"gfortran"}, flags...), "-o", prog, source)...)
		exprs, optimised := shapesOf, flags[0] != "-O0"
		if optimised { // GDB 13 ends with an internal error at members and elements of what is optimised out
			exprs = slices.DeleteFunc(slices.Clone(shapesOf), func(x string) bool {
				return strings.Contains(x, "%") || strings.HasSuffix(x, ")") && !elementsKept.MatchString(x)
			})
		}
		want := gdbShapes(t, prog, place, exprs)
		var list []string
		for _, x := range exprs {
			list = append(list, strings.ReplaceAll(x, "%", "."))
		}
		engines := []string{"process", "kernel"}
		same := 0
		for _, engine := range engines {
			hits := shapeValues(t, prog, place, engine, list)
			if len(hits) != 2 {
				t.Errorf("%s, %s: %d hits", flags, engine, len(hits))
				continue
			}
			for i, x := range list {
				for hit, values := range hits {
					value, gdb := values[i], want[hit][exprs[i]]
					switch {
					case optimised && value == "<optimised out>" && (gdb == "" || x == "txt"): // GDB takes the text's length for 1
						same++
					case gdb == "": // an error message of GDB, which has none for what is not there
						same += wantAbsent(t, x, hit, value)
					case inC(gdb) == value:
						same++
					case hit == 1 && backwards.MatchString(x):
						same += wantAbsent(t, x, hit, value)
					default:
						t.Errorf("%s, %s, hit %d: %s is %s, GDB: %s", flags, engine, hit+1, x, value, gdb)
					}
				}
			}
		}
		if same < 2*len(list)*len(engines) {
			t.Errorf("%s: only %d values could be compared", flags, same)
		}
	}
}

// wantAbsent checks values that GDB does not have.
func wantAbsent(t *testing.T, x string, hit int, value string) int {
	t.Helper()
	want := map[string]string{
		"x(3,1)": "2.5", "x(n,n-1)": "3.25", "cube(2,-1,0)": "5", "cube(3,1,1)": "8", "ids(2)": "7", "flags(2)": "true", "x(1,1)": "6.5",
		"p(2)": "<not associated>", "al(-1,5)": "<not allocated>", "al(1,6)": "<not allocated>", "nd.w(2)": "<not allocated>",
		"nd.link(2,1)": "<not associated>",
	}[x]
	if hit != 1 || want != value {
		t.Errorf("hit %d: %s is %s, want %s", hit+1, x, value, want)
		return 0
	}
	return 1
}

// shapeValues are the values of expressions, by hit.
func shapeValues(t *testing.T, prog, place, engine string, list []string) (hits [][]string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "events")
	res := jalon(t, "trace", "-o", out, "--engine", engine, "-c", strings.Join(list, ", "), place, "--", prog)
	b, err := os.ReadFile(out)
	if err != nil || res.status != 0 {
		t.Errorf("%s: status %d, %v\n%s", place, res.status, err, res.stderr)
		return nil
	}
	for _, l := range strings.Split(string(b), "\n") {
		var values []string
		for i, x := range list {
			_, v, ok := strings.Cut(l, " "+x+"=")
			if !ok {
				break
			}
			if i+1 < len(list) {
				v, _, _ = strings.Cut(v, " "+list[i+1]+"=")
			}
			values = append(values, v)
		}
		if len(values) == len(list) {
			hits = append(hits, values)
		}
	}
	return hits
}

// TestFortranShapes: conditions, texts, lists, JSON and recordings of such arrays.
func TestFortranShapes(t *testing.T) {
	source, err := filepath.Abs("programs/shapes.f90")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	prog := filepath.Join(dir, "shapes")
	buildOther(t, dir, "gfortran", "-g", "-O0", "-o", prog, source)
	place := lineWith(t, source, " ! look here")
	for _, engine := range []string{"process", "kernel"} {
		for cond, want := range map[string]string{
			`txt == "x"`: "x", `txt != "x"`: "hello text", "cube(2,-1,0) == 5": "x", "al(0,6) == 5": "hello text", "p(3) == 64": "hello text",
			"p(4) == 64": "", "nd.w(1) > 1": "hello text", "wh.parts(3).id == 9 && ids(1) == 9": "x", `late == "x+more"`: "", `*late == "x+more"`: "x",
			`names(2) == "two"`: "x", "line(4) == 0": "",
		} {
			if cond == `late == "x+more"` {
				refusedOther(t, prog, place+" if "+cond, []valueOf{{"txt", "only a char pointer or array can be compared"}})
				continue
			}
			if engine == "kernel" && strings.Contains(cond, "nd.w") { // it is a floating-point number
				continue
			}
			got := ""
			for _, hit := range shapeValues(t, prog, place+" if "+cond, engine, []string{"txt"}) {
				got += strings.Trim(hit[0], `"`)
			}
			if got != want {
				t.Errorf("%s if %s: %s, want %q", engine, cond, got, want)
			}
		}
	}
	compareOther(t, prog, place, []valueOf{
		{"late(2)", "101 'e'; 43 '+'"},
		{"*late", `"hello text+more"; "x+more"`},
		{"txt(11)", "<the index is not below the number of elements>; <the index is not below the number of elements>"},
		{"x(0,1)", "<the index is not below the number of elements>; <the index is not below the number of elements>"},
		{"line(2)@2", "{4, 9}; {4, 9}"},
		{"none", "{}; {}"},
		{"grid(n, 3) + 1", "34; 34"},
		{"nd/x", "nd={id = 0x7, w = <an array whose bounds are computed at run time>, link = <an array whose bounds are computed at run time>, tail = 0x46}; " +
			"nd={id = 0x8, w = <an array whose bounds are computed at run time>, link = <an array whose bounds are computed at run time>, tail = 0x50}"},
	})
	refusedOther(t, prog, place, []valueOf{
		{"x(1)", "has 2 dimensions"},
		{"x[1]", "an array whose bounds are computed at run time"},
		{"x + 1", "an array whose bounds are computed at run time"},
		{"few", "the size of integer(kind=4) [] is unknown"},
	})
	large := lineWith(t, source, " ! large")
	got := inOther(t, prog, large, "huge")
	if len(got) != 1 || !strings.HasPrefix(got[0], "huge={{1, 2, 3, ") || !strings.HasSuffix(got[0], ", 150}, {151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 163, 164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 174, 175, 176, 177, 178, 179, 180, 181, 182, 183, 184, 185, 186, 187, 188, 189, 190, 191, 192, 193, 194, 195, 196, 197, 198, 199, 200...}...}") {
		t.Errorf("huge is %s", got)
	}
	compareOther(t, prog, large, []valueOf{{"huge(150, 4)", "600"}, {"huge(151, 4)", "<the index is not below the number of elements>"}})
	sameShapesRecorded(t, prog, place)
	// Between the elements of ids are other members.
	trace := filepath.Join(dir, "redacted")
	if r := jalon(t, "record", "-q", "-o", trace, "--redact", "tail", "-c", "ids, nd, n", place, "--", prog); r.status != 0 {
		t.Fatalf("record: %s", r.stderr)
	}
	if out := jalon(t, "report", trace).stdout; strings.Contains(out, "ids={") || !strings.Contains(out, "ids=<") || !strings.Contains(out, "n=3") {
		t.Errorf("with --redact tail: %s", out)
	}
}

// sameShapesRecorded compares what is printed of a recording with what trace prints, as text and as JSON.
func sameShapesRecorded(t *testing.T, prog, place string) {
	t.Helper()
	const list = "x, cube, nd, wh.parts(2), ids, names, txt, p, al, flags"
	for _, format := range []string{"text", "json"} {
		dir := filepath.Join(t.TempDir(), "trace")
		live := jalon(t, "trace", "-q", "-f", format, "-c", list, place, "--", prog)
		if r := jalon(t, "record", "-q", "-o", dir, "-c", list, place, "--", prog); r.status != 0 {
			t.Fatalf("record: %s", r.stderr)
		}
		read := jalon(t, "report", "-f", format, dir)
		var lines [2][]string
		for i, out := range []string{live.stdout, read.stdout} {
			for _, l := range strings.Split(out, "\n") {
				for _, from := range []string{" x={{", `"x":[[`} {
					if at := strings.Index(l, from); at >= 0 {
						lines[i] = append(lines[i], l[at:])
					}
				}
			}
		}
		if len(lines[0]) != 2 || strings.Join(lines[0], "\n") != strings.Join(lines[1], "\n") {
			t.Errorf("%s: trace\n%s\nreport\n%s\n%s", format, strings.Join(lines[0], "\n"), strings.Join(lines[1], "\n"), read.stderr)
		}
		if want := map[string]string{
			"text": `wh.parts(2)={id = 8, w = <not allocated>, link = <not associated>, tail = `, "json": `"wh.parts(2)":{"id":8,"w":null,"link":null,"tail":`,
		}[format]; len(lines[0]) > 0 && !strings.Contains(lines[0][0], want) {
			t.Errorf("%s: no %s in %s", format, want, lines[0][0])
		}
	}
}

// TestFortranQuads: gfortran's real(kind=16) is IEEE 754's number of 128 bits, and real(kind=10) the x87's, in 16 bytes too: variables, parts of
// complex numbers, elements and results.
func TestFortranQuads(t *testing.T) {
	source, err := filepath.Abs("programs/quads.f90")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	prog := filepath.Join(dir, "quads")
	buildOther(t, dir, "gfortran", "-g", "-O0", "-o", prog, source)
	for _, c := range []struct{ place, list, want string }{
		{lineWith(t, source, " ! look here"), "mq, q, x, cq, cx, a", "mq=1.5 q=-2.5 x=3.25 cq=1.5 + -2.5i cx=3.5 + 4.5i a={0.5, 0.25}"},
		{"half", "$args", "q=-2.5"},
		{"half10%return", "$retval", "$retval=1.625"},
	} {
		r := jalon(t, "trace", c.place, "--collect", c.list, "-q", "--", prog)
		if !strings.Contains(r.stdout, c.want) {
			t.Errorf("%s: no %q in\n%s%s", c.place, c.want, r.stdout, r.stderr)
		}
	}
}

package test

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	api "github.com/jalon-trace/jalon"
	"github.com/jalon-trace/jalon/test/testkit"
)

// Objects of C++ with virtual bases, printed whole.

// hierarchy makes a program with random classes. Pointer pN is to an object of class CN, or to the CN in an object of
// a class derived from it. look() is called with many objects, also from constructors and destructors; it prints
// them as GDB does, without the pointers to tables.
func hierarchy(seed int64, classes int) string {
	r := rand.New(rand.NewSource(seed))
	var b, shows strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("#include <cstdio>\n#include <unistd.h>\n")
	for i := range classes {
		line("class C%d; extern C%[1]d *p%[1]d; void show(const C%[1]d &o, unsigned &seen);", i)
	}
	line("void look();")
	all, direct := make([]map[int]bool, classes), make([]map[int]bool, classes) // base classes; those with an object of their own
	for i := range classes {
		var bases []string
		all[i], direct[i] = map[int]bool{}, map[int]bool{}
		chosen := map[int]bool{} // is it virtual?
		// clash: one would be a base of the other, but not the same object
		clash := func(k int, virtual bool, x int) bool { return all[x][k] && !(virtual && !direct[x][k]) }
		fmt.Fprintf(&shows, "void show(const C%d &o, unsigned &seen)\n{\n\tconst char *sep = \"\";\n\tprintf(\"{\");\n", i)
		for _, k := range r.Perm(i) {
			if len(bases) == 3 || r.Intn(3) == 0 {
				continue
			}
			virtual, is := "virtual ", r.Intn(4) > 0
			if !is {
				virtual = ""
			}
			bad := false
			for x, v := range chosen {
				bad = bad || clash(k, is, x) || clash(x, v, k)
			}
			if bad {
				continue
			}
			chosen[k] = is
			for x := range all[k] {
				all[i][x], direct[i][x] = true, direct[i][x] || direct[k][x]
			}
			all[i][k], direct[i][k] = true, direct[i][k] || !is
			bases = append(bases, fmt.Sprintf("public %sC%d", virtual, k))
			once := "true"
			if virtual != "" {
				once = fmt.Sprintf("!(seen & 1u << %d) && (seen |= 1u << %[1]d)", k)
			}
			fmt.Fprintf(&shows, "\tif (%s) { printf(\"%%s<C%d> = \", sep); show((const C%[2]d &)o, seen); sep = \", \"; }\n", once, k)
		}
		line("class C%d%s {\npublic:", i, strings.TrimSuffix(" : "+strings.Join(bases, ", "), " : "))
		member := func(decl, format, value string) {
			line("\t%s", decl)
			shows.WriteString("\tprintf(\"%s" + format + "\", sep, " + value + "); sep = \", \";\n")
		}
		own := r.Intn(3)
		for m := range own {
			switch v := 1 + r.Intn(1000); r.Intn(5) {
			case 0:
				member(fmt.Sprintf("int a%d = %d;", m, v), fmt.Sprintf("a%d = %%d", m), fmt.Sprintf("o.a%d", m))
			case 1:
				member(fmt.Sprintf("char b%d = 'a' + %d;", m, v%26), fmt.Sprintf("b%d = %%d '%%c'", m), fmt.Sprintf("o.b%d, o.b%[1]d", m))
			case 2:
				member(fmt.Sprintf("double c%d = %d / 4.0;", m, v), fmt.Sprintf("c%d = %%g", m), fmt.Sprintf("o.c%d", m))
			case 3:
				member(fmt.Sprintf("short d%d[3] = { %d };", m, v), fmt.Sprintf("d%d = {%%d, %%d, %%d}", m), fmt.Sprintf("o.d%d[0], o.d%[1]d[1], o.d%[1]d[2]", m))
			default:
				member(fmt.Sprintf("long e%d : 5 = %d;", m, v%16), fmt.Sprintf("e%d = %%d", m), fmt.Sprintf("(int)o.e%d", m))
			}
		}
		inner := func(name, format string, show ...string) {
			own++
			fmt.Fprintf(&shows, "\tprintf(\"%%s%s = %s\", sep); sep = \", \";\n", name, format)
			for k, x := range show {
				fmt.Fprintf(&shows, "\t{ unsigned other = 0; show(%s, other); printf(\"%s\"); }\n", x, []string{"", ", "}[min(1, len(show)-1-k)])
			}
		}
		if i > 0 && r.Intn(3) == 0 {
			line("\tC%d in;", r.Intn(i))
			inner("in", "", "o.in")
		}
		if i > 0 && r.Intn(4) == 0 {
			line("\tC%d both[2];", r.Intn(i))
			inner("both", "{", "o.both[0]", "o.both[1]")
			shows.WriteString("\tprintf(\"}\");\n")
		}
		if own == 0 {
			shows.WriteString("\tprintf(\"%s<No data fields>\", sep);\n")
		}
		shows.WriteString("\tprintf(\"}\");\n}\n")
		if r.Intn(2) == 0 {
			line("\tvirtual int f%d() { return %[1]d; }", i)
		}
		line("\tC%d() { at(); }\n\t~C%[1]d() { at(); }\n\tvoid at();\n};\nC%[1]d *p%[1]d;", i)
		line("static int calls%d;\nvoid C%[1]d::at()\n{\n\tC%[1]d *old = p%[1]d;\n\tif (!old || calls%[1]d++ > 6) return;\n\tp%[1]d = this;\n\tlook();\n\tp%[1]d = old;\n}", i)
	}
	b.WriteString(shows.String())
	line("void look()\n{\n\tfflush(stdout);")
	for i := range classes {
		line("\t{ unsigned seen = 0; printf(\"\\n@%d=\"); show(*p%[1]d, seen); }", i)
	}
	line("\tprintf(\"\\n@%d=\\n\"); // look here\n}", classes)
	line("template <class D, class B> auto point(D *d, B *&b) -> decltype(static_cast<B *>(d), void()) { b = d; }\nvoid point(...) {}")
	line("int main(int argc, char **argv)\n{\n\tif (!freopen(argc > 1 ? argv[1] : \"/dev/null\", \"w\", stdout)) return 1;")
	for i := range classes {
		line("\tstatic C%d o%[1]d;", i)
	}
	for i := range classes {
		line("\tp%d = &o%[1]d;", i)
	}
	line("\tlook();")
	for range 2 * classes {
		i := 1 + r.Intn(classes-1)
		line("\t{\n\t\tC%d *d = new C%[1]d;", i)
		for k := range i {
			line("\t\tpoint(d, p%d);", k)
		}
		line("\t\tp%d = d;\n\t\tlook();", i)
		for k := range i + 1 {
			line("\t\tp%d = &o%[1]d;", k)
		}
		line("\t\tdelete d;\n\t}")
	}
	line("\tfflush(stdout);\n\t_exit(0);\n}")
	return b.String()
}

var (
	tablePointer  = regexp.MustCompile(`_vptr[.$]\w+ = 0x[0-9a-f]+( <[^>]*>)?(, )?`)
	mappedAddress = regexp.MustCompile(`0x[0-9a-f]{12}\b`)
	noFields      = regexp.MustCompile(`(, )?<No data fields>`)
)

// printedWhole are the values of *p0, *p1, ... at each hit, without pointers to tables.
func printedWhole(text string, mark func(i int) string, n int) (hits [][]string) {
	for _, hit := range strings.Split(text, mark(0))[1:] {
		rest, values := hit, []string(nil)
		for i := 1; i <= n; i++ {
			var v string
			v, rest, _ = strings.Cut(rest, mark(i))
			v, _, _ = strings.Cut(v, "\n")
			v = tablePointer.ReplaceAllString(strings.TrimSpace(v), "")
			v = noFields.ReplaceAllString(v, "")
			values = append(values, strings.ReplaceAll(v, ", }", "}"))
		}
		hits = append(hits, values)
	}
	return hits
}

// TestVirtualBases compares the values of objects with virtual bases in random classes with the program's own
// output and with GDB: complete objects, bases of other objects, members, elements, objects whose construction or
// destruction has begun. (GDB 13 shows other bytes for a base that lies behind the end of the object of the printed
// class.)
func TestVirtualBases(t *testing.T) {
	need(t, "g++", "clang++", "gdb")
	const classes = 8
	programs := 2
	if full {
		programs = 60
	}
	seed := testkit.Seed(t, 1)
	compared, equal, withBase := 0, 0, 0
	for k := range programs {
		cc := [][]string{{"g++", "-O0"}, {"clang++", "-O0"}, {"g++", "-O2"}, {"clang++", "-O1", "-fno-rtti"}}[k%4]
		what := fmt.Sprintf("seed %d, %v", seed+int64(k), cc)
		dir := t.TempDir()
		src, prog := filepath.Join(dir, "classes.cc"), filepath.Join(dir, "classes")
		text := hierarchy(seed+int64(k), classes)
		if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(cc[0], append(cc[1:], "-g", "-w", "-o", prog, src)...).CombinedOutput(); err != nil {
			t.Fatalf("%s: %s\n%s", what, err, out)
		}
		before, _, _ := strings.Cut(text, "// look here")
		place := fmt.Sprintf("classes.cc:%d", 1+strings.Count(before, "\n"))
		list, script := []string{}, "set debuginfod enabled off\nset may-call-functions off\nset width 0\nbreak "+place+"\ncommands\nsilent\n"
		for i := range classes {
			list = append(list, fmt.Sprintf("*p%d", i))
			script += fmt.Sprintf("echo \\n@%d=\noutput *p%[1]d\n", i)
		}
		script += fmt.Sprintf("echo \\n@%d=\\n\ncontinue\nend\nrun\n", classes)
		file, own := filepath.Join(dir, "script"), filepath.Join(dir, "own")
		if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		gdb := run(t, "gdb", "-nx", "-batch", "-x", file, prog)
		out := run(t, jalonBin, "trace", place, "-c", strings.Join(list, ", ")+", $tid", "--", prog, own)
		printed, err := os.ReadFile(own)
		if err != nil {
			t.Fatal(err)
		}
		marked := func(i int) string { return fmt.Sprintf("\n@%d=", i) }
		truth, theirs := printedWhole(string(printed), marked, classes), printedWhole(gdb.stdout, marked, classes)
		ours := printedWhole(out.stdout, func(i int) string {
			if i == classes {
				return " $tid="
			}
			return fmt.Sprintf(" *p%d=", i)
		}, classes)
		if len(ours) != len(truth) || len(ours) != len(theirs) || len(ours) < 10 {
			t.Fatalf("%s: %d hits, GDB has %d, the program prints %d\n%s%s", what, len(ours), len(theirs), len(truth), out.stderr, gdb.stderr)
		}
		for h := range ours {
			for i, v := range ours[h] {
				compared++
				if strings.Contains(v, "<C") {
					withBase++
				}
				if v == theirs[h][i] {
					equal++
				}
				if v != truth[h][i] {
					t.Errorf("%s, hit %d: *p%d\njalon   %s\nprogram %s\nGDB     %s", what, h, i, v, truth[h][i], theirs[h][i])
				}
			}
		}
	}
	t.Logf("%d values, %d of classes with bases, %d equal GDB's", compared, withBase, equal)
	if withBase < 100*programs || equal < compared/2 {
		t.Errorf("too few values were compared")
	}
}

// TestRecordedTables: a recording shows what is printed while the program runs: virtual bases, and the names of addresses. Without the program's
// file the bases have none, and another reason; --debug-dir has it again.
func TestRecordedTables(t *testing.T) {
	prog := filepath.Join(t.TempDir(), "tables")
	tool(t, "cp", compile(t, "g++", "virtualbases.cc", "-g", "-O0", "-w", "-Wl,--build-id=0x0123456789abcdef00112244"), prog)
	list := []string{lineWith(t, "programs/virtualbases.cc", "// look here"), "-c", "*p, p->t, &copied[1]", "--", prog}
	run := filepath.Join(t.TempDir(), "run")
	if r := jalon(t, append([]string{"record", "-q", "-o", run}, list...)...); r.status != 0 {
		t.Fatal(r.stderr)
	}
	values := func(args ...string) (out string) {
		t.Helper()
		for line := range strings.Lines(jalon(t, args...).stdout) {
			if _, v, ok := strings.Cut(line, " *p="); ok {
				out += mappedAddress.ReplaceAllString(v, "0x")
			}
		}
		return out
	}
	want := values(append([]string{"trace", "-q"}, list...)...)
	if !strings.Contains(want, "<Top> = {_vptr.Top = 0x <vtable for ") || !strings.Contains(want, "<copied+8>") {
		t.Fatalf("jalon trace: %s", want)
	}
	if got := values("report", run); got != want {
		t.Errorf("jalon report:\n%s\nwant\n%s", got, want)
	}
	rec, err := api.OpenRecording(run)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	for ev, err := range rec.Events(time.Time{}, time.Time{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got := ev.Value(2).String(); !strings.Contains(got, "<copied+8>") {
			t.Errorf("the Go package has %s", got)
		}
		break
	}
	debug := t.TempDir()
	if err := os.Rename(prog, filepath.Join(debug, "tables")); err != nil {
		t.Fatal(err)
	}
	const why = "whether the object points to its table is not known without the program's file"
	if r := jalon(t, "report", run, "-f", "json"); !strings.Contains(r.stdout, why) || strings.Contains(r.stdout, "does not point") {
		t.Errorf("without the file: %s", r.stdout)
	}
	if got := values("report", run, "--debug-dir", debug); got != want {
		t.Errorf("with --debug-dir:\n%s\nwant\n%s", got, want)
	}
}

// TestWrongTables: without the table of its class an object's virtual base is unavailable; its own members are not.
func TestWrongTables(t *testing.T) {
	need(t, "g++", "clang++")
	place := lineWith(t, "programs/virtualbases.cc", "// look here")
	for _, cc := range []string{"g++", "clang++"} {
		prog := compile(t, cc, "virtualbases.cc", "-g", "-O0", "-w")
		r := jalon(t, "trace", place, "-c", "*p, p->t", "--", prog)
		var got []string
		for _, line := range strings.Split(strings.TrimSpace(r.stdout), "\n") {
			if _, v, ok := strings.Cut(line, " *p="); ok {
				got = append(got, mappedAddress.ReplaceAllString(tablePointer.ReplaceAllString(v, ""), "0x"))
			}
		}
		for i, want := range []string{
			"{<Top> = {t = 1}, l = 2} p->t=1",
			"{<Top> = <unavailable>, l = 0} p->t=0",
			"{<Top> = <unreadable address 0xdbdbdbdbdbdbdbc3>, l = -606348325} p->t=<unreadable address 0xdbdbdbdbdbdbdbc3>",
			"{<Top> = <unreadable address 0xffffffffffffffe8>, l = 0} p->t=<unreadable address 0xffffffffffffffe8>",
			"{<Top> = <un",
			"{<Top> = <unreadable address 0x>, l = 2} p->t=<unreadable address 0x>",
		} {
			if i >= len(got) || !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: no %q:\n%s", cc, want, r.stdout)
			}
		}
		j := jalon(t, "trace", place, "-c", "*p", "-f", "json", "--", prog)
		for _, want := range []string{
			`"values":{"*p":{"Top":{"_vptr`, `"Top":null`, `"errors":{}`,
			`"*p":"partly unavailable: a virtual base of Left: unreadable address 0xdbdbdbdbdbdbdbc3"`,
			`"*p":"partly unavailable: a virtual base of Left: the object does not point to a table that has it"`,
		} {
			if !strings.Contains(j.stdout, want) {
				t.Errorf("%s: no %s in\n%s", cc, want, j.stdout)
			}
		}
	}
}

package test

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
	"github.com/jalon-trace/jalon/test/testkit"
)

// Random programs of nested namespaces and classes that declare the same few names repeatedly. Expressions
// that the compiler rejects are removed; jalon must reject them too.

// nameWorld makes one program.
type nameWorld struct {
	r      *rand.Rand
	decls  strings.Builder
	bodies []string // definitions of functions, which follow all declarations
	calls  []string
	value  int
	spaces []string // full names of namespaces
	bases  []string // classes that are complete
	class  []string // all classes
}

var (
	sharedNames = []string{"a", "b", "c", "d", "e"}
	spaceNames  = []string{"N", "M", "K"}
	classNames  = []string{"P", "Q", "R", "S"}
)

func (w *nameWorld) pick(list []string) string { return list[w.r.Intn(len(list))] }
func (w *nameWorld) next() int                 { w.value += 1 + w.r.Intn(3); return w.value }
func (w *nameWorld) line(depth int, format string, args ...any) {
	w.decls.WriteString(strings.Repeat("\t", depth) + fmt.Sprintf(format, args...) + "\n")
}

// some declares a few of the shared names, each once, by make.
func (w *nameWorld) some(make func(name string)) {
	for _, n := range w.r.Perm(len(sharedNames))[:w.r.Intn(4)] {
		make(sharedNames[n])
	}
}

// space fills a namespace ("" is the global one).
func (w *nameWorld) space(full string, depth int) {
	w.some(func(n string) {
		switch v := w.next(); w.r.Intn(5) {
		case 0:
			w.line(depth, "enum { %s = %d };", n, v)
		case 1:
			w.line(depth, "struct %s { char size[%d]; } of_%s_%d;", n, v, n, v)
		case 2:
			w.line(depth, "static int %s = %d; int *use_%d = &%s;", n, v, v, n)
		default:
			w.line(depth, "int %s = %d;", n, v)
		}
	})
	for i, n := range w.r.Perm(len(spaceNames)) {
		if depth >= 2 || i > 1 {
			break
		}
		name, kind := spaceNames[n], "namespace"
		switch w.r.Intn(5) {
		case 0:
			kind = "inline namespace"
		case 1:
			name = ""
		}
		inner := strings.TrimPrefix(full+"::"+name, "::")
		w.line(depth, "%s %s {", kind, name)
		if name != "" {
			w.spaces = append(w.spaces, inner)
			nested := depth + 1
			if kind != "namespace" { // "namespace N" beside an inline one with an N in it extends that (CWG 2061)
				nested = 2
			}
			w.space(inner, nested)
		} else {
			w.some(func(n string) { v := w.next(); w.line(depth+1, "int %s = %d; int *use_%d = &%s;", n, v, v, n) })
		}
		w.line(depth, "}")
	}
	for _, n := range w.r.Perm(len(classNames))[:1+w.r.Intn(2)] {
		w.classIn(full, classNames[n], depth)
	}
	if len(w.spaces) > 1 && w.r.Intn(3) == 0 {
		if to := w.pick(w.spaces); to != full {
			w.line(depth, "using namespace ::%s;", to)
		}
	}
	w.function(full, depth)
}

// classIn declares a class with bases, members and functions.
func (w *nameWorld) classIn(space, name string, depth int) {
	full := strings.TrimPrefix(space+"::"+name, "::")
	var bases []string
	for _, b := range w.r.Perm(len(w.bases)) {
		if len(bases) < w.r.Intn(4) {
			virtual := ""
			if w.r.Intn(2) == 0 {
				virtual = "virtual "
			}
			bases = append(bases, virtual+"::"+w.bases[b])
		}
	}
	w.line(depth, "struct %s%s {", name, strings.TrimSuffix(" : "+strings.Join(bases, ", "), " : "))
	w.members(depth + 1)
	if w.r.Intn(3) == 0 {
		w.line(depth+1, "struct In {")
		w.members(depth + 2)
		w.line(depth+2, "void f();")
		w.line(depth+1, "};")
		w.body("void "+full+"::In::f()", full+"::In", true)
		w.calls = append(w.calls, "{ static "+full+"::In o; o.f(); }")
		w.class = append(w.class, full+"::In")
	}
	w.line(depth+1, "void f();")
	w.line(depth+1, "static void s(%s *o);", name)
	w.line(depth, "};")
	w.class, w.bases = append(w.class, full), append(w.bases, full)
	w.body("void "+full+"::f()", full, true)
	w.body("void "+full+"::s("+name+" *o)", full, false)
	w.calls = append(w.calls, "{ static "+full+" o; o.f(); o.s(&o); }")
}

func (w *nameWorld) members(depth int) {
	w.some(func(n string) {
		switch v := w.next(); w.r.Intn(7) {
		case 0:
			w.line(depth, "enum { %s = %d };", n, v)
		case 1:
			w.line(depth, "struct %s { char size[%d]; }; %s of_%s;", n, v, n, n)
		case 2:
			w.line(depth, "inline static int %s = %d;", n, v)
		case 3:
			w.line(depth, "union { int %s = %d; char as_%d; };", n, v, v)
		default:
			w.line(depth, "int %s = %d;", n, v)
		}
	})
}

func (w *nameWorld) function(space string, depth int) {
	name := fmt.Sprintf("f%d", w.next())
	w.line(depth, "void %s(int p);", name)
	full := strings.TrimPrefix(space+"::"+name, "::")
	w.body("void ::"+full+"(int p)", "", false)
	w.calls = append(w.calls, full+"(1);")
}

// body makes a function with checks in nested blocks, local classes and lambdas.
func (w *nameWorld) body(head, class string, object bool) {
	var b strings.Builder
	if !strings.Contains(head, "::") {
		head = strings.TrimPrefix(head, "::")
	}
	fmt.Fprintf(&b, "%s {\n", strings.Replace(head, "void ::", "void ", 1))
	w.checks(&b, class, object, 3)
	w.some(func(n string) { fmt.Fprintf(&b, "int %s = %d;\n", n, w.next()) })
	w.checks(&b, class, object, 3)
	b.WriteString("{\n")
	kind := w.r.Intn(4)
	switch kind {
	case 0:
		fmt.Fprintf(&b, "using namespace ::%s;\n", w.space1())
	case 1:
		n := w.pick(sharedNames)
		fmt.Fprintf(&b, "enum { %s = %d }; ", n, w.next())
		fmt.Fprintf(&b, "show(0, %s);\n", n)
	case 2:
		fmt.Fprintf(&b, "int %s = %d;\n", w.pick(sharedNames), w.next())
	}
	w.checks(&b, class, object, 4)
	// The using-directives of a block do not show in the lambdas in it: compilers put
	// these at the top of the function.
	if kind != 0 && w.r.Intn(2) == 0 {
		b.WriteString("auto lambda = [=]() {\n")
		w.checks(&b, class, object, 3)
		b.WriteString("};\nlambda();\n")
	}
	if kind != 0 && w.r.Intn(3) == 0 {
		fmt.Fprintf(&b, "struct Local { int %s = %d; void g() {\n", w.pick(sharedNames), w.next())
		w.checks(&b, "", false, 3)
		b.WriteString("} } local;\nlocal.g();\n")
	}
	b.WriteString("}\n}\n")
	w.bodies = append(w.bodies, b.String())
}

func (w *nameWorld) space1() string {
	if len(w.spaces) == 0 {
		return "Always"
	}
	return w.pick(w.spaces)
}

// checks writes some expressions.
func (w *nameWorld) checks(b *strings.Builder, class string, object bool, n int) {
	for range n {
		name := w.pick(sharedNames)
		x := name
		switch k := w.r.Intn(12); {
		case k == 0:
			x = "::" + name
		case k == 1:
			x = w.space1() + "::" + name
		case k == 2:
			x = "::" + w.space1() + "::" + name
		case k == 3 && len(w.class) > 0:
			x = w.pick(w.class) + "::" + name
		case k == 4 && object:
			x = "this->" + name
		case k == 5 && object && len(w.class) > 0:
			x = "this->" + w.pick(w.class) + "::" + name
		case k == 6 && object && len(w.class) > 0:
			x = "((::" + w.pick(w.class) + " *)this)->" + name
			if !strings.HasSuffix(class, "::In") { // a cast between unrelated classes is rejected
				x = "static_cast<::" + w.pick(w.class) + " *>(this)->" + name
			}
		case k == 7 && object && len(w.class) > 0:
			x = "static_cast<::" + w.pick(w.class) + " *>(this)"
		case k == 8:
			x = "sizeof(" + name + ")"
		case k == 9:
			x = "sizeof(struct " + w.space1() + "::" + name + ")"
		case k == 10:
			x = w.pick(classNames) + "::" + name
		}
		fmt.Fprintf(b, "%s%s);\n", checkHere, x)
	}
}

// checkHere begins a check in a random program: errors in a macro have no line.
const checkHere = "show(__LINE__, "

const nameProlog = `extern "C" int printf(const char *, ...);
template <class T> long long number(const T &v) { return (long long)v; }
template <class T> long long number(T *const &v) { return (long long)(const volatile void *)v; }
template <class... T> __attribute__((noinline)) void show(int line, const T &...v) {
	if (line == 0) return;
	printf("= %d", line);
	(printf(" %lld", number(v)), ...);
	printf("\n");
}
namespace Always { int always = 1; }
`

func randomNames(seed int64) string {
	w := &nameWorld{r: rand.New(rand.NewSource(seed)), value: 10}
	w.space("", 0)
	return nameProlog + w.decls.String() + strings.Join(w.bodies, "") + "int main() {\n" + strings.Join(w.calls, "\n") + "\n}\n"
}

var compilerError = regexp.MustCompile(`(?m)^[^\n:]*:(\d+):\d+: error: (.*)$`)

// settle removes the lines that the compiler rejects from a source; it returns the compiler's message for
// each line, with the expression.
func settle(t *testing.T, cc []string, src, prog string) (refused map[int][2]string) {
	refused = map[int][2]string{}
	for range 12 {
		args := append(append([]string{}, cc[1:]...), "-std=c++17", "-w", "-ferror-limit=0", "-o", prog, src)
		if cc[0] == "g++" {
			args = append(append([]string{}, cc[1:]...), "-std=c++17", "-w", "-fmax-errors=0", "-o", prog, src)
		}
		out, err := exec.Command(cc[0], args...).CombinedOutput()
		if err == nil {
			return refused
		}
		text, _ := os.ReadFile(src)
		lines := strings.Split(string(text), "\n")
		progress := false
		for _, m := range compilerError.FindAllStringSubmatch(string(out), -1) {
			n, _ := strconv.Atoi(m[1])
			l := lines[n-1]
			switch x, ok := strings.CutPrefix(l, checkHere); {
			case ok:
				refused[n] = [2]string{strings.TrimSuffix(x, ");"), m[2]}
			case l == "" || l == ";" || l == "show(0, 0);":
				continue
			case strings.HasSuffix(l, "{"): // a scope that the rules forbid: another program
				return nil
			}
			progress = true
			lines[n-1] = ";"
			if refused[n][0] != "" {
				lines[n-1] = "show(0, 0);" // code, so that a site can be there
			}
		}
		if !progress {
			return nil
		}
		if err := os.WriteFile(src, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return nil
}

// TestRandomNames compares jalon's resolution of names with the compiler's.
func TestRandomNames(t *testing.T) {
	need(t, "g++", "clang++")
	seed, n := testkit.Seed(t, 400), 3
	if full {
		n = 60
	}
	right, nothing, unavailable := 0, 0, 0
	for i, tried := 0, 0; i < n && tried < 20*n; tried++ {
		ok := false
		all := nameBuilds()
		for _, b := range append(all[:2:2], all[2+2*(i%2)]) { // the last one is g++ -O2 or with type units
			s := seed + int64(tried)
			t.Run(fmt.Sprintf("%s %d", strings.Join(b, " "), s), func(t *testing.T) {
				dir := t.TempDir()
				src, prog := filepath.Join(dir, "names.cc"), filepath.Join(dir, "names")
				if err := os.WriteFile(src, []byte(randomNames(s)), 0o600); err != nil {
					t.Fatal(err)
				}
				refused := settle(t, append(append([]string{}, b...), "-fno-eliminate-unused-debug-types"), src, prog)
				if refused == nil {
					return // the declarations contradict each other: try another seed
				}
				if exec.Command(prog).Run() != nil {
					return // a cast to a class that the object is not, and a virtual base of it
				}
				ok = true
				t.Cleanup(func() {
					if keep := os.Getenv("JALON_KEEP"); keep != "" && t.Failed() {
						text, _ := os.ReadFile(src)
						_ = os.WriteFile(keep, text, 0o600)
					}
				})
				r := &namesRun{t: t, prog: prog, src: src, checks: checksOf(t, src), unknown: undecided}
				r.run()
				for line, x := range refused {
					if b[0] == "clang++" && (strings.Contains(x[1], "ambiguous") || strings.Contains(x[1], "multiple base classes")) {
						delete(refused, line) // it omits unused entities, such as the other meaning
					}
				}
				nothing += refusedToo(t, prog, src, refused)
				right, unavailable = right+r.right, unavailable+r.unavailable
			})
		}
		if ok {
			i++
		}
	}
	if right+nothing < 50*n {
		t.Errorf("too few expressions were compared")
	}
	t.Logf("%d values right, %d refused by both, %d without a value", right, nothing, unavailable)
}

// refusedToo: jalon rejects the expressions that the compiler rejects.
func refusedToo(t *testing.T, prog, src string, refused map[int][2]string) (n int) {
	m, err := dwarf.Open(prog, dwarf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for line, x := range refused {
		sites, err := m.LineSites(filepath.Base(src), line)
		if err != nil || len(sites) == 0 {
			continue
		}
		if sites[0].ActualLine > 0 && sites[0].ActualLine != line {
			continue
		}
		if err := compileAt(m, sites, wrapped(x[0])); err == nil && !declaredBelow(src, line, x[0]) {
			if strings.Contains(x[1], "ambiguous") && clangAccepts(src, line, x[0]) {
				continue // gcc looks for members behind virtual bases that another class hides
			}
			t.Errorf("line %d: %s has a value; the compiler: %s", line, x[0], x[1])
			continue
		}
		n++
	}
	return n
}

// clangAccepts compiles the program with one refused expression put back.
func clangAccepts(src string, line int, x string) bool {
	text, _ := os.ReadFile(src)
	lines := strings.Split(string(text), "\n")
	lines[line-1] = checkHere + x + ");"
	cmd := exec.Command("clang++", "-std=c++17", "-w", "-fsyntax-only", "-x", "c++", "-")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	return cmd.Run() == nil
}

// undecided lists cases that debug information does not decide. Compilers omit inner blocks without
// variables, and put local classes at the top of the function, so the context of a lambda is not known. An
// object of several base classes has a size, but no value. gcc finds one of several injected class names.
var undecided = regexp.MustCompile(`a constant of an inner block|in several base classes|which of its blocks is around|` +
	`is no base class of|"[PQRS]" is ambiguous|no variable "\w+" in (operator\(\)|g)\n|there is no object of it here`)

// declaredBelow: a local variable that is declared after the place is shown if nothing else has its name,
// as in GDB.
func declaredBelow(src string, line int, x string) bool {
	name := strings.TrimSuffix(strings.TrimPrefix(x, "sizeof("), ")")
	text, _ := os.ReadFile(src)
	for _, l := range strings.Split(string(text), "\n")[line:] {
		if strings.HasPrefix(l, "int "+name+" = ") || strings.Contains(l, "{ "+name+" = ") {
			return true
		}
		if l != "" && strings.HasPrefix(l, "void ") {
			break
		}
	}
	return false
}

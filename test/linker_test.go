package test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// linkerLibs are libraries that define the same names, by letter and kind.
type linkerLibs map[string]string

func compileLinker(t *testing.T) linkerLibs {
	t.Helper()
	libs := linkerLibs{}
	for i, kind := range []string{"A", "B", "P", "Q -DQUIET", "As -Wl,-Bsymbolic", "Ap -fvisibility=protected", "Af -Wl,-Bsymbolic-functions", "C"} {
		words := strings.Fields(kind)
		flags := append([]string{"-g", "-O1", "-shared", "-fPIC", "-DNAME=" + kind[:1], fmt.Sprintf("-DVALUE=%d", 100*(i+1))}, words[1:]...)
		libs[words[0]] = compile(t, "gcc", "linker.c", flags...)
	}
	return libs
}

// program compiles a program that is linked with A and B, with definitions of its own or without.
func (l linkerLibs) program(t *testing.T, flags ...string) string {
	t.Helper()
	flags = append([]string{"-g", "-O1", "-DPROGRAM", "-DLINKED", "-DNAME=M", "-DVALUE=1"}, flags...)
	return compile(t, "gcc", "linker.c", append(flags, "-Wl,--no-as-needed", l["A"], l["B"])...)
}

// TestLinkerOrder: a variable or function of a library whose name others have too is the one that the library's own
// code uses, or it has no value: never the library's own one where the dynamic linker has found another first.
func TestLinkerOrder(t *testing.T) {
	l := compileLinker(t)
	own, bare := l.program(t), l.program(t, "-DOTHERS")
	fixed := l.program(t, "-DOTHERS", "-no-pie", "-fno-pic")
	equal := 0
	for _, c := range []struct {
		name, preload, libs string
		args                []string
		values              string // the symbols that have a value
		kernel              bool   // in the kernel engine too
	}{
		{"the program has its own", "", "A B", []string{own}, "v f", true},
		{"the first library's", "", "A", []string{bare}, "v f t", false},
		{"the first library's in the second", "", "B", []string{bare}, "v f", true},
		{"the program has copies and stubs", "", "A B", []string{fixed}, "v f", true},
		{"preloaded", l["P"], "A B P", []string{own}, "v f", false},
		{"the library does not use them", "", "Q", []string{own, "l", "Q_use", l["Q"]}, "", true},
		{"opened", "", "C", []string{own, "l", "C_use", l["C"]}, "v f", false},
		{"opened, before others", "", "C", []string{own, "d", "C_use", l["C"]}, "v f", false},
		{"symbolic", "", "As", []string{own, "l", "A_use", l["As"]}, "v f", false},
		{"symbolic functions", "", "Af", []string{own, "l", "A_use", l["Af"]}, "v", false},
		{"protected", "", "Ap", []string{own, "l", "A_use", l["Ap"]}, "v f", false},
		{"namespaces", "", "A C", []string{own, "n", "A_use", l["A"], "n", "C_use", l["C"]}, "v f", true},
	} {
		t.Setenv("LD_PRELOAD", c.preload)
		for _, engine := range []string{"process", "kernel"} {
			if engine == "kernel" && !c.kernel {
				continue
			}
			for _, symbol := range []string{"v", "f", "t"} {
				if symbol == "t" && engine == "kernel" { // it has no thread-local values
					continue
				}
				shown, used := "&"+symbol, "p"+symbol
				file := filepath.Join(t.TempDir(), "events")
				args := []string{"trace", "-f", "json", "-o", file, "--engine=" + engine, "--pending", "-c", shown + ", " + used}
				for _, kind := range strings.Fields(c.libs) {
					args = append(args, "uprobe:"+l[kind]+":"+kind[:1]+"_report")
				}
				r := jalon(t, append(append(args, "--"), c.args...)...)
				var events []event
				if r.status == 0 {
					events = readEvents(t, file)
				}
				events = slices.DeleteFunc(events, func(e event) bool { return strings.Contains(fmt.Sprint(e.Errors[shown]), "in its place") })
				for _, e := range events {
					got, want := address(e.Values[shown]), address(e.Values[used])
					if equal++; got != want || got == "" {
						t.Errorf("%s, %s, %s: %s is %s (%s), the program uses %s", c.name, engine, e.Place, shown, got, e.Errors[shown], want)
					}
				}
				if strings.Contains(c.values, symbol) && len(events) == 0 { // where not, one of the places may have it
					t.Errorf("%s, %s: %d events with %s: %s", c.name, engine, len(events), shown, tail(r.stderr))
				}
			}
		}
	}
	t.Logf("%d addresses are those that the program uses", equal)
}

// address is a pointer's address without its name.
func address(v any) string {
	s, _ := v.(string)
	s, _, _ = strings.Cut(s, " ")
	return s
}

// TestLoadedTwice: a library that is loaded once more, in another namespace (dlmopen), is traced there too, with its own
// data. Every call counts once, also where the kernel serves the site, and where the program maps the file to read it.
func TestLoadedTwice(t *testing.T) {
	l := compileLinker(t)
	prog := l.program(t)
	for _, c := range []struct {
		name string
		args []string
		want int
	}{
		{"two namespaces", []string{"n", "A_use", l["A"], "nc", "A_use", l["A"], "l", "A_use", l["A"]}, 1 + 3 + 3 + 3},
		{"mapped to be read", []string{"m", "A_use", l["A"], "m", "Q_use", l["Q"], "l", "A_use", l["A"]}, 1 + 3 + 3},
	} {
		for _, x := range []struct{ flag, function string }{
			{"--engine=auto", "A_use"}, {"--engine=auto", "A_report"}, {"--engine=kernel", "A_report"}, {"--avoid=7", "A_report"}, // jump, uprobes, int3
		} {
			args := append([]string{x.flag, "uprobe:" + l["A"] + ":" + x.function, "-c", "v, &v", "--", prog}, c.args...)
			r := trace(t, args...)
			if len(r.events) != c.want || int(r.sum.Hits) != c.want || r.status != 0 {
				t.Errorf("%s, %v: %d events of %d, %d hits, status %d: %s", c.name, x, len(r.events), c.want, r.sum.Hits, r.status, tail(r.stderr))
			}
			last := map[string]int64{} // of each v
			for _, e := range r.events {
				at, n := address(e.Values["&v"]), e.Num(t, "v")
				if was, known := last[at]; known && n <= was {
					t.Errorf("%s, %v: v is %d after %d", c.name, x, n, was)
				}
				last[at] = n
			}
		}
	}
}

// TestSeveralLibraries: of several libraries that have a function, the place means the one that the program uses, and
// the others are printed. Where it cannot be known which one a file uses, the place is refused.
func TestSeveralLibraries(t *testing.T) {
	l := compileLinker(t)
	bare := l.program(t, "-DOTHERS")
	for _, engine := range []string{"process", "kernel"} {
		r := trace(t, "--engine="+engine, "uprobe:"+bare+":f", "f", "--", bare)
		if !strings.Contains(r.stderr, "imports it from "+l["A"]) && engine == "process" || !strings.Contains(r.stderr, l["A"]) || r.sum.Hits != 6 {
			t.Errorf("%s: %d hits: %s", engine, r.sum.Hits, r.stderr)
		}
		if !strings.Contains(r.stderr, l["B"]+", which is not traced") {
			t.Errorf("%s: the other library is not named: %s", engine, r.stderr)
		}
	}
}

package test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCxxTypes: types, enumerators and pointers to members of C++ are shown as in GDB.
func TestCxxTypes(t *testing.T) {
	need(t, "g++", "clang++", "gdb")
	src, err := os.ReadFile("programs/cxxtypes.cc")
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(src), "// stop here")
	place := fmt.Sprintf("cxxtypes.cc:%d", 1+strings.Count(before, "\n"))
	exprs := []string{
		"t", "*t", "t->b", "*t->b", "t->fn", "c", "d", "r.next", "r.u", "p", "h", "f", "k", "u", "*u", "o", "*o",
		"members.own", "members.none", "members.inherited", "members.array", "members.first", "members.nothing", "members.own/x",
	}
	// GDB adds the parameters to the function's name, and knows the name of a virtual function.
	ours := map[string]string{
		"members.get":      "(int (Both::*)(Both *, int)) 0x <Both::get>",
		"members.adjusted": "(int (Both::*)(const Both *, double)) 0x <Second::plain>, this adjustment 32",
		"members.over":     "&virtual table offset ",
	}
	number := regexp.MustCompile(`0x[0-9a-f]+`)
	for _, cc := range []string{"g++", "clang++"} {
		prog := compile(t, cc, "cxxtypes.cc", "-g", "-O0")
		var list []string
		gdb := []string{"gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set may-call-functions off", "-ex", "break " + place, "-ex", "run"}
		for i, x := range exprs {
			list = append(list, x)
			gdb = append(gdb, "-ex", fmt.Sprintf(`echo \n%d=`, i), "-ex", "output"+gdbFormat(x))
		}
		for x := range ours {
			list = append(list, x)
		}
		theirs := run(t, append(gdb, prog)...).stdout
		out := run(t, jalonBin, "trace", place, "-c", strings.Join(list, ", "), "--", prog)
		for x, want := range ours {
			if got := number.ReplaceAllString(out.stdout, "0x"); !strings.Contains(got, " "+x+"="+want) {
				t.Errorf("%s: %s is not %s: %s", cc, x, want, got)
			}
		}
		for i, x := range exprs {
			_, v, ok := strings.Cut(theirs, fmt.Sprintf("\n%d=", i))
			v, _, _ = strings.Cut(v, "\n")
			want := " " + x + "=" + number.ReplaceAllString(v, "0x")
			if got := number.ReplaceAllString(out.stdout, "0x") + " "; !ok || !strings.Contains(strings.ReplaceAll(got, "\n", " "), want+" ") {
				t.Errorf("%s: GDB has%s\njalon %s%s", cc, want, got, out.stderr)
			}
		}
	}
}

// gdbFormat is "/x expr" for "expr/x".
func gdbFormat(x string) string {
	if y, ok := strings.CutSuffix(x, "/x"); ok {
		return "/x " + y
	}
	return " " + x
}

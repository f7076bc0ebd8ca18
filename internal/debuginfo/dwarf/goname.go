package dwarf

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// isGo reports whether the unit was written in Go, where a package's variables have the package's path in their
// name: "main.count", "example.com/prog/sub.Count".
func (r *unitRoot) isGo() bool { return r.head().lang == langGo }

// goName finds the full name of a package's variable that is meant by x in one of
// that package's functions, or by sub.x; "" when none is, or several are.
func (s *scope) goName(name string) (full string) {
	if s.u == nil || !s.u.isGo() || strings.Contains(name, "::") {
		return ""
	}
	pkg, local, qualified := strings.Cut(name, ".")
	if !qualified {
		return goPackage(s.name) + "." + name
	}
	if pkg == "" || local == "" || strings.Contains(name, "/") {
		return ""
	}
	several := false
	s.m.names().each(isVarTag, func(d die) {
		if n := d.nameBytes(); len(n) > len(name) && strings.HasSuffix(string(n), "/"+name) {
			several = several || full != "" && full != string(n)
			full = string(n)
		}
	})
	if several {
		return ""
	}
	return full
}

// PackageVariable finds pkg.name, a variable of a package of Go.
func (s *scope) PackageVariable(pkg, name string) (v *debuginfo.Variable) {
	defer s.m.guard(nil)()
	if s.u == nil || !s.u.isGo() {
		return nil
	}
	return s.find(pkg + "." + name)
}

// goPackage is the package of a function: that of "a.b/c.(*T).M" is "a.b/c".
func goPackage(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	dot := strings.IndexByte(function[slash:], '.')
	if dot < 0 {
		return function
	}
	return function[:slash+dot]
}

package dwarf

import (
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// noFunction is the error for a name that no function has. The names that are near are looked for when the error is shown.
func (ps *places) noFunction(name string) error {
	e := &debuginfo.NotFoundError{What: "function", Name: name}
	e.Explain = func(e *debuginfo.NotFoundError) {
		defer func() { _ = recover() }() // malformed debug information: there are no suggestions
		if e.Nearest = ps.related(name); e.Nearest == nil {
			e.Nearest = nearest(name, ps.functionNames(), maxNames)
		}
		if ps.d == nil && len(e.Nearest) == 0 {
			e.Hint = ps.path + " has no debug information and no such symbol"
		}
	}
	return e
}

// maxNames is how many names are suggested.
const maxNames = 5

// functionNames lists all function names, for suggestions.
func (ps *places) functionNames() []string {
	var out []string
	ps.names().each(isFuncTag, func(d die) { out = append(out, d.name()) })
	for _, s := range ps.allFuncSymbols(nil) {
		out = append(out, s.Name)
	}
	return out
}

// related lists functions with the own name of what was looked for, in other scopes or with other parameters and type
// arguments: shortest first.
func (ps *places) related(name string) []string {
	own := ownName(name)
	if own == "" || own == name && !strings.ContainsAny(name, "(<[.:") && len(own) < 2 {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	take := func(n string) {
		if !seen[n] && ownName(n) == own {
			out = append(out, n)
		}
		seen[n] = true
	}
	if strings.Contains(name, "(") && strings.Contains(name, "::") { // of overloaded functions the parameters are meant
		for _, s := range ps.allFuncSymbols(nil) {
			if strings.Contains(s.Name, own) {
				take(withoutResult(ps.demangle(s.Name)))
			}
		}
	}
	if len(out) == 0 {
		for _, f := range ps.Functions("*") {
			take(f.Name)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i] == name || out[j] == name { // it has no entry: all calls are inlined
			return out[i] == name && out[j] != name
		}
		if len(out[i]) != len(out[j]) {
			return len(out[i]) < len(out[j])
		}
		return out[i] < out[j]
	})
	return out[:min(len(out), maxNames)]
}

// ownName is the name of a function without scopes, parameters and type arguments: f of ns::C::f<int>(char), (*T).f in Go is f.
func ownName(s string) string {
	if i := strings.LastIndex(s, ")."); i >= 0 && !strings.Contains(s, "::") { // a method in Go
		s = s[i+2:]
	}
	parts := splitName(s)
	s = parts[len(parts)-1]
	if !strings.HasPrefix(s, "operator") {
		s, _, _ = strings.Cut(s, "(")
		s, _, _ = strings.Cut(s, "<")
	}
	if !strings.HasPrefix(s, "[") {
		s, _, _ = strings.Cut(s, "[")
	}
	if i := strings.LastIndexByte(s, '.'); i >= 0 {
		s = s[i+1:]
	}
	return strings.TrimSpace(s)
}

// goInstances lists the instances of a generic function of Go. Each serves all type arguments of one shape, and has the name of
// that: main.F[go.shape.int]. main.F means all of them, main.F[int] this one.
func (ps *places) goInstances(name string) (out []string) {
	if !strings.Contains(name, ".") || strings.Contains(name, "::") {
		return nil
	}
	bare := strings.ReplaceAll(name, "[...]", "")
	seen := map[string]bool{}
	take := func(n string) {
		if seen[n] || n == name || !strings.Contains(n, goShape) {
			return
		}
		seen[n] = true
		if withoutShapes(n) == bare || strings.ReplaceAll(n, goShape, "") == name {
			out = append(out, n)
		}
	}
	ps.names().each(isFuncTag, func(d die) { take(d.name()) })
	if ps.d == nil { // a stripped program
		for _, s := range ps.allFuncSymbols(nil) {
			take(s.Name)
		}
	}
	return out
}

const goShape = "go.shape."

// withoutShapes removes the lists of shapes from a name.
func withoutShapes(name string) string {
	var b strings.Builder
	for {
		i := strings.Index(name, "["+goShape)
		if i < 0 {
			break
		}
		b.WriteString(name[:i])
		depth, end := 0, len(name)
		for k := i; k < len(name); k++ {
			if name[k] == '[' {
				depth++
			} else if name[k] == ']' {
				if depth--; depth == 0 {
					end = k + 1
					break
				}
			}
		}
		name = name[end:]
	}
	b.WriteString(name)
	return b.String()
}

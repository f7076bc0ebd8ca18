package probe

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf"
)

// Site is one address of a place; Addr is a vaddr of the module.
type Site = dwarf.Site

// Module is the module in which a place is resolved.
type Module interface {
	FuncSites(name string) ([]dwarf.Site, error)
	FuncEntry(name string) ([]dwarf.Site, error)
	GlobSites(glob string, entry bool, check func() error) ([]dwarf.Site, error)
	LineSites(file string, line int) ([]dwarf.Site, error)
	Functions(glob string) []*dwarf.Function
	FunctionAt(vaddr uint64) (*dwarf.Function, bool)
	Symbolize(vaddr uint64) (fn string, off uint64, file string, line int, inl []string)
	IsCode(vaddr uint64) bool
}

// Resolve finds the addresses of a place in one module. If there are none, the error is a
// *debuginfo.NotFoundError. Resolve calls check from time to time during long work, and returns
// its error. check may be nil.
func Resolve(p *Place, m Module, check func() error) ([]Site, error) {
	if p.Kind.Sites == nil {
		return nil, fmt.Errorf("BUG: %s is no place of a module", p.Text)
	}
	return p.Kind.Sites(p, m, check)
}

// functions returns the sites in all functions that match the place's name or glob. find returns the sites of
// one function; entry means that they are entries.
func (p *Place) functions(m Module, find func(string) ([]dwarf.Site, error), entry bool, check func() error) ([]Site, error) {
	sites, err := p.found(m, find, entry, check)
	if err != nil {
		return nil, err
	}
	var out []Site
	seen := map[uint64]bool{}
	for _, s := range sites {
		if p.File != "" && !sameSource(p.File, s.File) {
			continue
		}
		if p.Off != 0 {
			entry := s.Entry
			if s, err = at(m, entry+p.Off); err != nil {
				return nil, beyond(m, entry, err)
			}
		}
		if !seen[s.Addr] {
			seen[s.Addr] = true
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		nf := &debuginfo.NotFoundError{What: "function", Name: p.Func}
		if p.File != "" {
			nf.Hint = "no function of that name in " + p.File
		}
		return nil, nf
	}
	return out, nil
}

// beyond adds to the error of an offset how large the function is.
func beyond(m Module, entry uint64, err error) error {
	f, ok := m.FunctionAt(entry)
	if !ok || f.Hi <= f.Lo {
		return err
	}
	return fmt.Errorf("%w; %s has %d bytes", err, f.Name, f.Hi-f.Lo)
}

func (p *Place) found(m Module, find func(string) ([]dwarf.Site, error), entry bool, check func() error) ([]Site, error) {
	var unnamed error
	if p.maybeName() {
		sites, err := find(p.Func)
		if err == nil {
			return sites, nil
		}
		unnamed = p.orInlined(m, err)
	}
	if p.Glob() {
		sites, err := m.GlobSites(p.Func, entry, check)
		if err == nil && len(sites) == 0 {
			if err = unnamed; strings.ContainsAny(p.Func, "*?") || err == nil {
				err = noMatch(m, p.Func)
			}
		}
		return sites, err
	}
	sites, err := find(p.Func)
	if err != nil {
		return nil, p.orInlined(m, err)
	}
	return sites, nil
}

// noMatch is the error for a pattern that no function matches. Whether the file has names at all is looked up when the error is shown.
func noMatch(m Module, pattern string) error {
	return &debuginfo.NotFoundError{What: "function", Name: pattern, Explain: func(e *debuginfo.NotFoundError) {
		e.Hint = "the pattern matches nothing"
		if !slices.ContainsFunc(m.Functions("*"), func(f *dwarf.Function) bool { return f.Name != "" }) {
			e.Hint = "the file has no names of functions (it is stripped); addresses are places too, as *0x401136"
		}
	}}
}

// NamesOne reports whether a pattern is the name of one function: main.F[int] in Go, whose brackets are those of a pattern too.
func (p *Place) NamesOne() bool { return hasGoArguments(p.Func) }

// maybeName reports whether a pattern may also be the name of one function: f<int (*)(char *)>, f(char *), operator* in C++,
// main.(*T).f, main.f[go.shape.int] in Go. Then the name counts.
func (p *Place) maybeName() bool {
	return p.Glob() && (strings.ContainsAny(p.Func, "<(") || strings.Contains(p.Func, "operator") || strings.Contains(p.Func, "[go.shape.") || hasGoArguments(p.Func))
}

// hasGoArguments reports whether a name ends with the type arguments of a function or type in Go: main.F[int], main.(*T[[]int]).f,
// example.com/a-b.F[int].
func hasGoArguments(name string) bool {
	first, last := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if first < 0 || last < first+2 || !strings.Contains(name[:first], ".") || strings.Contains(name, "::") {
		return false
	}
	only := func(s, more string) bool {
		return strings.IndexFunc(s, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.,* ()", r) && !strings.ContainsRune(more, r)
		}) < 0
	}
	rest := name[last+1:]
	return only(name[:first], "/-~") && only(name[first+1:last], "/[]") && only(rest, "") && (rest == "" || strings.HasPrefix(rest, ")."))
}

// ResolveAddress returns the site of an address in the module.
func ResolveAddress(m Module, vaddr uint64) (Site, error) { return at(m, vaddr) }

func at(m Module, vaddr uint64) (Site, error) {
	if !m.IsCode(vaddr) {
		return Site{}, fmt.Errorf("address %#x is not code", vaddr)
	}
	fn, _, file, line, inl := m.Symbolize(vaddr)
	if len(inl) > 0 {
		fn = inl[0]
	}
	return Site{Addr: vaddr, Func: fn, File: file, Line: line}, nil
}

// sameSource reports whether the user's file name means the file in the debug information: the last components
// are equal.
func sameSource(want, have string) bool {
	return have == want || strings.HasSuffix(have, "/"+strings.TrimPrefix(want, "./")) || filepath.Base(have) == want
}

// DidYouMean returns a hint with similar names and further help.
func DidYouMean(nearest []string, more string) string {
	q := make([]string, len(nearest))
	for i, n := range nearest {
		q[i] = "\"" + n + "\""
	}
	hint := "did you mean " + strings.Join(q, ", ") + "?"
	if more != "" {
		hint += " " + more
	}
	return hint
}

// orInlined improves the error for a function without an entry whose name is in the debug information: it was
// inlined.
func (p *Place) orInlined(m Module, err error) error {
	var nf *debuginfo.NotFoundError
	if !errors.As(err, &nf) || !slices.Contains(nf.Why().Nearest, p.Func) {
		return err
	}
	hint := "all calls are inlined; without uprobe: the place means every inlined copy"
	if _, err := m.FuncSites(p.Func); err != nil {
		return &debuginfo.NotFoundError{What: "code of function", Name: p.Func, Hint: "all calls are inlined, and the compiler has left no instruction of them"}
	}
	if p.Kind.Returns {
		hint = "all calls are inlined, and inlined copies have no returns"
	}
	return &debuginfo.NotFoundError{What: "entry of function", Name: p.Func, Hint: hint}
}

package dwarf

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// GlobSites returns the sites of all functions whose name or linkage name matches a glob, like FuncSites
// (after the prologue, inlined copies too) or, with entry, like FuncEntry. Each function is placed by its
// own entry or symbol, because looking up its name again needs a search for each, and demangled names are
// not found. check is called between functions; its error ends the work.
func (ps *places) GlobSites(glob string, entry bool, check func() error) (sites []Site, err error) {
	defer ps.guard(&err)()
	w := globWork{m: ps, glob: glob, check: check, set: siteSet{m: ps}, place: ps.funcStart, wanted: map[copyKey]bool{}}
	if entry {
		w.place = ps.entryLine
	}
	ps.names().each(isFuncTag, w.function)
	if !entry && len(w.wanted) > 0 && w.err == nil {
		ps.eachCopy(func(k copyKey, c inlinedCopy) {
			if w.wanted[k] && !w.stopped() {
				if r := c.d.pcRanges(); r != nil {
					w.set.add(w.place(r[0].Lo), Site{Entry: r[0].Lo, meant: c.d.off})
				}
			}
		})
	}
	if w.err == nil {
		for _, s := range ps.allFuncSymbols(w.stopped) {
			if w.stopped() {
				break
			}
			w.symbol(s)
		}
	}
	if w.err != nil {
		return nil, w.err
	}
	return w.set.sorted(), nil
}

// globWork is one GlobSites.
type globWork struct {
	m      *places
	glob   string
	set    siteSet
	place  func(uint64) line.Place
	wanted map[copyKey]bool // functions without code of their own: their copies are wanted
	check  func() error
	n      int
	err    error // of check
}

// stopped calls check periodically.
func (w *globWork) stopped() bool {
	if w.n++; w.n%256 == 0 && w.err == nil && w.check != nil {
		w.err = w.check()
	}
	return w.err != nil
}

// function takes an entry of the index.
func (w *globWork) function(d die) {
	if w.stopped() {
		return
	}
	if !globMatch(w.glob, d.funcName()) {
		if l := d.linkage(); l == "" || !globMatch(w.glob, l) {
			return
		}
	}
	if f := d.u.functions().byDie(d.off); f != nil {
		w.set.add(w.place(f.entry()), Site{Entry: f.entry(), meant: f.d.off})
		return
	}
	w.wanted[copyKey{d.u.d, d.off}] = true
}

// symbol takes a code symbol.
func (w *globWork) symbol(s elf.Symbol) {
	if !globMatch(w.glob, s.Name) && !globMatch(w.glob, w.m.demangle(s.Name)) {
		return
	}
	m := w.m
	if u := m.unitFor(s.Value); u != nil {
		if f := u.functions().at(s.Value); f != nil && inRanges(f.ranges[1:], s.Value) {
			return // a cold part of a function that DWARF knows
		}
	}
	w.set.addSymbol(s, w.place)
}

// addSymbol adds the site of a function that has a symbol.
func (s *siteSet) addSymbol(sym elf.Symbol, place func(uint64) line.Place) {
	if sym.IFunc { // GDB cannot resolve it before the program runs either
		place = s.m.entryLine
	}
	s.add(place(sym.Value), Site{Entry: sym.Value, IFunc: sym.IFunc, meant: s.m.startsAt(sym.Value)})
}

// entryLine is the entry itself, after Go's check.
func (ps *places) entryLine(addr uint64) line.Place {
	addr = ps.behindGoCheck(addr)
	s := ps.lineAt(addr)
	s.PC = addr
	return s
}

// demangledSymbols finds the functions among the symbols whose demangled name has scopes (ns::Class::f),
// with or without its parameters: without debug information such names are only in the symbols.
func (ps *places) demangledSymbols(name string) (out []elf.Symbol) {
	if !strings.Contains(name, "::") && !strings.ContainsAny(name, "(<") {
		return nil
	}
	parts := splitName(name)
	last, _, _ := strings.Cut(parts[len(parts)-1], "<")
	last, _, _ = strings.Cut(last, "(")
	last = strings.TrimLeft(last, "~")
	if strings.HasPrefix(last, "operator") {
		last = ""
	}
	for _, s := range ps.allFuncSymbols(nil) {
		if !strings.Contains(s.Name, last) { // mangled names hold identifiers as they are
			continue
		}
		if d := ps.demangle(s.Name); d != s.Name && (isNamed(d, name) || isNamed(withoutResult(d), name)) {
			out = append(out, s)
		}
	}
	return out
}

// isNamed reports whether a demangled name is that name, with or without parameters, which can be spelled in several ways.
func isNamed(demangled, name string) bool {
	rest, ok := strings.CutPrefix(demangled, name)
	if !ok && strings.IndexByte(name, '(') > 0 {
		_, ok = strings.CutPrefix(plainSpelling(standardNames.Replace(demangled)), plainSpelling(standardNames.Replace(name)))
		return ok
	}
	return ok && (rest == "" || rest[0] == '(' || strings.HasPrefix(rest, "[abi:"))
}

// standardNames replaces typedefs of the standard library that parameters have in programs by what the symbols have.
var standardNames = strings.NewReplacer(
	"std::string_view", "std::basic_string_view<char, std::char_traits<char>>",
	"std::string", "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char>>",
)

// withoutResult removes the type of the result, which is before the names of the
// instances of function templates: "long ns::big<long>(long, long)".
func withoutResult(demangled string) string {
	depth := 0
	for i := range len(demangled) {
		switch demangled[i] {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 {
				return demangled
			}
		case ' ':
			if depth == 0 {
				return demangled[i+1:]
			}
		}
	}
	return demangled
}

// SitesOf returns the sites of one function that Functions listed, as GlobSites has
// them for its name.
func (ps *places) SitesOf(f *Function) (sites []Site, err error) {
	if len(f.Ranges) == 0 || f.Inlined > 0 {
		return ps.FuncSites(f.Name)
	}
	defer ps.guard(&err)()
	set := siteSet{m: ps}
	set.addSymbol(elf.Symbol{Value: f.Lo, IFunc: ps.isIFunc(f.Lo)}, ps.funcStart)
	return set.sites, nil
}

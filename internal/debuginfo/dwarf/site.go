package dwarf

import (
	"sort"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/line"
)

// places finds the sites that a user's place means.
type places struct {
	*object
	*info
	*prologues
	*functions
}

// Site is one address that a place resolves to.
type Site struct {
	Addr uint64
	// Entry is the entry instruction of the function or inlined copy that the place means; function
	// places have it.
	Entry uint64
	// Func is the function that the place means: the one that was named, otherwise
	// the innermost inlined one at Addr. ScopeForSite has the names of the same.
	Func string
	// File and Line are the source line of Addr. Where Addr belongs to a function
	// inlined into Func they are the line of the call.
	File string
	Line int
	// ActualLine is the line that a line place resolved to: the requested one, or the next line that has
	// code. 0 for function places.
	ActualLine int
	// Asked is the line that was requested where it has no code; 0 if it has. Begins is where between it and
	// ActualLine the function Beginning is declared, which has the site: the requested line is not in that one. 0 if there
	// is no such function.
	Asked, Begins int
	Beginning     string
	// Inlined: Func is an inlined copy there.
	Inlined bool
	// Symbol: only the symbol table has this function.
	Symbol bool
	// IFunc: the symbol is an indirect function. Addr is the resolver, which runs once when the program
	// starts, not the function it chooses.
	IFunc bool

	place string // line places: the full path of the file that was meant
	// meant is the offset of the entry of the function or inlined copy that a function place means, or a line place at the
	// beginning of a function.
	meant uint64
}

// Moved returns the line of a site whose requested line has no code; 0 if it has.
func (s *Site) Moved() int {
	if s.Asked == 0 {
		return 0
	}
	return s.ActualLine
}

// FuncSites returns the addresses where GDB's `break name` would stop: after the prologue of every function
// of that name and at every inlined copy. name may be qualified (ns::Class::f) or a raw linkage name. The
// error is a *debuginfo.NotFoundError if there is no such function.
func (ps *places) FuncSites(name string) (sites []Site, err error) {
	defer ps.guard(&err)()
	return ps.funcSites(name, true, ps.funcStart)
}

// FuncEntry returns the entry of every function of that name, without inlined copies: its first instruction
// or, in Go, the first one that each call runs once, after the check of the stack.
func (ps *places) FuncEntry(name string) (sites []Site, err error) {
	defer ps.guard(&err)()
	return ps.funcSites(name, false, ps.entryLine)
}

func (ps *places) funcSites(name string, inlined bool, place func(uint64) line.Place) ([]Site, error) {
	set := siteSet{m: ps}
	if base, version, ok := strings.Cut(name, "@"); ok && base != "" {
		return ps.versionSites(base, version, place)
	}
	concrete, copies := ps.findFuncs(name, inlined)
	for _, f := range concrete {
		set.add(place(f.entry()), Site{Entry: f.entry(), meant: f.d.off})
	}
	for _, c := range copies {
		if r := c.pcRanges(); r != nil {
			set.add(place(r[0].Lo), Site{Entry: r[0].Lo, meant: c.off})
		}
	}
	for _, s := range ps.lookupSymbols(name) {
		if ps.syms.IsFunc(s) {
			set.addSymbol(s, place)
		}
	}
	if len(set.sites) == 0 {
		for _, s := range ps.demangledSymbols(name) {
			set.addSymbol(s, place)
		}
	}
	if len(set.sites) == 0 {
		return ps.instanceSites(name, inlined, place)
	}
	return set.sorted(), nil
}

// instanceSites are the sites of all instances of a generic function of Go.
func (ps *places) instanceSites(name string, inlined bool, place func(uint64) line.Place) (all []Site, err error) {
	for _, n := range ps.goInstances(name) {
		sites, err := ps.funcSites(n, inlined, place)
		if err != nil {
			return nil, err
		}
		all = append(all, sites...)
	}
	if len(all) == 0 {
		return nil, ps.noFunction(name)
	}
	return all, nil
}

// versionSites places the function with that version of its symbol: f@VERSION, or f@@VERSION if it must be the
// default one.
func (ps *places) versionSites(base, version string, place func(uint64) line.Place) ([]Site, error) {
	set := siteSet{m: ps}
	list, err := ps.file.Versions(base)
	if err != nil {
		return nil, err
	}
	want, onlyDefault := strings.CutPrefix(version, "@")
	var known []string
	for _, v := range list {
		if v.Version == want && (v.Default || !onlyDefault) {
			set.addSymbol(v.Symbol, place)
		}
		known = append(known, base+"@"+map[bool]string{true: "@"}[v.Default]+v.Version)
	}
	if len(set.sites) == 0 {
		e := &debuginfo.NotFoundError{What: "function", Name: base + "@" + version}
		if len(known) > 0 {
			e.Hint = "its versions here are " + strings.Join(known, ", ")
		}
		return nil, e
	}
	return set.sorted(), nil
}

// findFuncs finds the concrete functions and inlined copies of a name.
func (ps *places) findFuncs(name string, inlined bool) (fns []*fn, copies []die) {
	fns, abstract := ps.namedFuncs(name)
	if inlined {
		for _, a := range abstract {
			copies = append(copies, ps.inlinedCopies(a)...)
		}
	}
	return fns, copies
}

// namedFuncs finds the entries of functions of a name: those with code, and those
// without, which inlined copies refer to.
func (ps *places) namedFuncs(name string) (fns []*fn, abstract []die) {
	parts := splitName(name)
	last := parts[len(parts)-1]
	seen := map[dieKey]bool{}
	ps.names().find(last, isFuncTag, func(d die) bool {
		if seen[d.key()] || !d.context().endIn(parts[:len(parts)-1]) {
			return true
		}
		seen[d.key()] = true
		if f := d.u.functions().byDie(d.off); f != nil {
			fns = append(fns, f)
		} else {
			abstract = append(abstract, d)
		}
		return true
	})
	return fns, abstract
}

// inlinedOnly finds the functions of a name that have no code of their own.
func (ps *places) inlinedOnly(name string) (out []die) {
	fns, abstract := ps.namedFuncs(name)
	emitted := map[dieKey]bool{}
	for _, f := range fns {
		emitted[f.d.source().key()] = true
	}
	for _, a := range abstract {
		if key := a.source().key(); !emitted[key] {
			emitted[key] = true
			out = append(out, a.source())
		}
	}
	return out
}

func (b *unitBody) byDie(off uint64) *fn {
	i := sort.Search(len(b.fns), func(i int) bool { return b.fns[i].d.off >= off })
	if i < len(b.fns) && b.fns[i].d.off == off {
		return b.fns[i]
	}
	return nil
}

// inlinedCopies finds where an abstract function was inlined.
func (ps *places) inlinedCopies(a die) []die {
	var out []die
	take := func(u *unit) {
		for _, c := range u.functions().copies {
			if c.fn >= 0 && c.origin == a.off && (c.alt && u.d.alt == a.u.d || !c.alt && u.d == a.u.d) {
				out = append(out, c.d)
			}
		}
	}
	take(a.u)
	for _, w := range ps.names().inlineOthers() {
		if w != a.u {
			take(w)
		}
	}
	return out
}

// siteSet collects sites, each address once.
type siteSet struct {
	m     *places
	sites []Site
	seen  map[uint64]bool
}

func (s *siteSet) add(l line.Place, site Site) {
	if s.seen == nil {
		s.seen = map[uint64]bool{}
	}
	if s.seen[l.PC] {
		return
	}
	s.seen[l.PC] = true
	site.Addr = l.PC
	s.m.describe(&site)
	if site.ActualLine > 0 && site.meant != 0 && site.File == site.place { // the body may begin with a call that is inlined
		site.ActualLine = site.Line
	}
	s.sites = append(s.sites, site)
}

func (s *siteSet) sorted() []Site {
	sort.Slice(s.sites, func(i, j int) bool { return s.sites[i].Addr < s.sites[j].Addr })
	return s.sites
}

// describe fills in the information about the site's address.
func (ps *places) describe(s *Site) {
	if l := ps.sourceAt(s.Addr); l.File != nil {
		s.File, s.Line = l.File.Full, l.Line
	}
	if b := ps.blockAt(s.Addr, false); b != nil {
		meant, call := ps.meantBy(s, b)
		if call != nil {
			s.File, s.Line = call.callSite()
		}
		o := meant.owner()
		s.Func, s.Inlined = o.d.funcName(), o.inlined
		s.beginsBehind(b)
		return
	}
	s.Symbol = true
	if sym, _, ok := ps.symbolAt(s.Addr); ok {
		s.Func = ps.demangle(sym.Name)
	}
}

// startsAt returns the offset of the entry of the concrete function that starts at addr, 0 if there is
// none.
func (ps *places) startsAt(addr uint64) uint64 {
	if u := ps.unitFor(addr); u != nil {
		if f := u.functions().at(addr); f != nil && f.entry() == addr {
			return f.d.off
		}
	}
	return 0
}

// meantBy finds the block whose names a site's expressions use. b is the innermost block at the site's
// address, which may belong to a function inlined there. A place with a function name means that function,
// and a line place where a line starts with an inlined call means the caller's line. call is the outermost
// inlined copy that was skipped for that, or nil.
func (ps *places) meantBy(s *Site, b *block) (meant, call *block) {
	if s.meant != 0 {
		for x := b; x != nil; x = x.parent {
			if x.d.off == s.meant {
				return b.within(x.owner())
			}
		}
		return b, nil // behind the prologue, an inlined copy may have ended already
	}
	for s.ActualLine > 0 {
		o := b.owner()
		if !o.inlined || o.parent == nil || !o.calledFrom(s.place, s.ActualLine) {
			break
		}
		b, call = o.parent, o
	}
	return b, call
}

// within goes from b outwards to the innermost block that belongs to function.
func (b *block) within(function *block) (in, call *block) {
	for o := b.owner(); o != function && o.parent != nil; o = b.owner() {
		b, call = o.parent, o
	}
	return b, call
}

// funcName is the name to show for a function's entry.
func (d die) funcName() string {
	if d.sourceUnit().isC() {
		if n := d.name(); n != "" {
			return n
		}
	}
	if n := d.context().qualified(); n != "" && n != "::" {
		return n
	}
	return demangled(d.linkage())
}

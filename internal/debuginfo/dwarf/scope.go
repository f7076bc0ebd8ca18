package dwarf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// scopes makes the scope of names at an address.
type scopes struct {
	*object
	*info
	*callFrames
	*types
	*places
	*callValues
}

// position is an address in the code, as debug information has it.
type position struct {
	m   *scopes
	pc  uint64
	u   *unit // of the source file; nil without debug information here
	f   *fn
	b   *block // innermost, nil outside any function that DWARF knows
	cfa []debuginfo.Op

	// ending: the function has released its frame and pops registers; the stack pointer is so far below the frame pointer.
	ending bool
	below  int64
}

// scope is debuginfo.Scope at one pc. Its parts use only those before them: position,
// locations (where values are), finder (what names mean beside a function's blocks).
type scope struct {
	*position
	*locations
	*finder
	name string
	// outwards: Lookup continues beyond inlined functions.
	outwards bool
	// atFile and atLine are where pc is in the scope's text, once known.
	atFile string
	atLine int
}

func newScope(p *position) *scope {
	lo := &locations{position: p}
	return &scope{position: p, locations: lo, finder: &finder{position: p, locations: lo}}
}

// ScopeAt returns the scope at vaddr. Without debug information it has only the function's name and the
// call frame. The error means that vaddr is not code, or that the information is damaged.
func (ss *scopes) ScopeAt(vaddr uint64) (s debuginfo.Scope, err error) {
	defer ss.guard(&err)()
	if !ss.file.IsCode(vaddr) {
		return nil, fmt.Errorf("address %#x of %s is not in its code", vaddr, ss.path)
	}
	return ss.scopeAt(vaddr), nil
}

// ScopeForSite is ScopeAt for a site that LineSites, FuncSites or FuncEntry
// returned: its names are those of the function that the place means, Site.Func.
func (ss *scopes) ScopeForSite(site Site) (s debuginfo.Scope, err error) {
	defer ss.guard(&err)()
	if !ss.file.IsCode(site.Addr) {
		return nil, fmt.Errorf("address %#x of %s is not in its code", site.Addr, ss.path)
	}
	sc := ss.scopeAt(site.Addr)
	if sc.b != nil {
		meant, _ := ss.meantBy(&site, sc.b)
		sc.enter(meant)
	}
	return sc, nil
}

// ScopeAround is ScopeAt for code that belongs to an inlined copy of one of the
// named functions but is meant as its caller's: a static tracepoint's,
// trace_EVENT. The
// scope is that of the function that has the call in its text; where that was
// inlined too, Lookup also finds the variables of the functions around it, from
// the inside out.
func (ss *scopes) ScopeAround(vaddr uint64, inlined ...string) (s debuginfo.Scope, err error) {
	defer ss.guard(&err)()
	if !ss.file.IsCode(vaddr) {
		return nil, fmt.Errorf("address %#x of %s is not in its code", vaddr, ss.path)
	}
	sc := ss.scopeAt(vaddr)
	sc.outwards = true
	for b := sc.b; b != nil; b = b.parent {
		if b.inlined && b.parent != nil && slices.ContainsFunc(inlined, b.named1) {
			sc.enter(b.parent)
		}
	}
	return sc, nil
}

// callSite is the source line of an inlined copy's call.
func (b *block) callSite() (file string, line int) {
	callLine, _ := b.d.attr(atCallLine)
	callFile, _ := b.d.attr(atCallFile)
	return b.d.u.fileName(callFile.N), int(min(callLine.N, 1<<31-1))
}

// calledFrom reports whether an inlined copy's call is at that line.
func (b *block) calledFrom(file string, line int) bool {
	f, n := b.callSite()
	return n == line && f == file
}

func (ss *scopes) scopeAt(vaddr uint64) *scope {
	sc := newScope(&position{m: ss, pc: vaddr, u: ss.unitFor(vaddr)})
	if r, err := ss.unwind(vaddr); err == nil {
		sc.cfa = r.CFA
		if sc.below, sc.ending = ss.popping(vaddr, r.CFA); sc.ending {
			sc.cfa = fromStack(r.CFA, sc.below)
		}
	}
	if sc.u != nil {
		if sc.f = sc.u.functions().at(vaddr); sc.f != nil {
			sc.b = sc.f.tree().find(vaddr, false)
		}
	}
	if sc.b != nil {
		sc.enter(sc.b)
	} else if sym, _, ok := ss.symbolAt(vaddr); ok {
		sc.name = demangled(sym.Name)
	}
	return sc
}

// enter makes the names those that block b sees.
func (s *scope) enter(b *block) {
	o := b.owner().d
	s.b, s.u, s.name = b, o.sourceUnit(), o.funcName()
}

func (s *scope) PC() uint64          { return s.pc }
func (s *scope) FuncName() string    { return s.name }
func (s *scope) CFA() []debuginfo.Op { return s.cfa }
func (s *scope) HasDebugInfo() bool  { return s.u != nil }

// chain lists the blocks from the innermost out to the function or inlined copy
// that owns them: C does not see the caller's names from an inlined function.
func (po *position) chain() []*block {
	var out []*block
	for b := po.b; b != nil; b = b.parent {
		out = append(out, b)
		if b.inlined || b.function {
			break
		}
	}
	return out
}

// Lookup finds a variable, or a function as a value.
func (s *scope) Lookup(name string) (v *debuginfo.Variable, err error) {
	defer s.m.guard(&err)()
	if s.ruled() {
		e, err := s.resolve(name, false)
		if err != nil {
			return nil, err
		}
		if e.Var != nil {
			return e.Var, nil
		}
	} else if v := s.find(name); v != nil {
		return v, nil
	}
	return nil, s.notFound("variable", name, s.visible())
}

// ruled: resolve has the rules of the unit's language.
func (s *scope) ruled() bool { return s.u != nil && (s.u.isC() || s.u.isCxx()) }

// find is Lookup where the rules of the language are not known.
func (s *scope) find(name string) *debuginfo.Variable {
	for _, b := range s.chain() {
		if v := s.named(b, name); v != nil {
			return v
		}
	}
	if v := s.further(name); v != nil {
		return v
	}
	if s.u != nil && s.u.isFortran() {
		if v := s.ofModules(name); v != nil {
			return v
		}
	}
	v := s.global(name)
	if full := s.goName(name); v == nil && full != "" {
		v = s.global(full)
	}
	return v
}

// further finds a name of the functions that the scope's own is inlined into,
// where these count.
func (s *scope) further(name string) *debuginfo.Variable {
	if !s.outwards || s.b == nil {
		return nil
	}
	for b := s.b.owner().parent; b != nil; b = b.parent {
		if d, ok := b.declares(name); ok {
			return s.local(d, b)
		}
	}
	return nil
}

// declares finds a name among the block's own.
func (b *block) declares(name string) (die, bool) {
	for i := len(b.vars) - 1; i >= 0; i-- {
		if string(b.vars[i].nameBytes()) == name {
			return b.vars[i], true
		}
	}
	return die{}, false
}

// local makes the Variable of a block's entry. `extern int x;` in a block means
// the global.
func (s *scope) local(d die, b *block) *debuginfo.Variable {
	if d.deepFlag(atDeclaration) && !d.located() {
		if v := s.global(d.name()); v != nil {
			return v
		}
	}
	if b != nil {
		if e, ok := s.m.emitted(d, b.owner().d); ok {
			d = e
		}
	}
	v := s.variable(d)
	if d.isParam() {
		v.Kind = debuginfo.Param
	} else if d.fixed() {
		v.Kind = debuginfo.Static
		s.m.perCPU(v)
		s.m.elsewhere(v)
	}
	return v
}

func (d die) located() bool {
	_, a := d.deep(atLocation)
	_, b := d.deep(atConstValue)
	return a || b
}

// fixed reports whether a variable has one address for the whole run.
func (d die) fixed() bool {
	v, ok := d.deep(atLocation)
	if !ok || !v.IsBlock() || len(v.B) == 0 {
		return false
	}
	switch v.B[0] {
	case 0x03, 0xa1, 0xfb: // addr, addrx, GNU_addr_index
		return true
	}
	return tlsExpr(v.B)
}

func tlsExpr(b []byte) bool {
	last := b[len(b)-1]
	return last == 0x9b || last == 0xe0
}

// LookupIn finds 'file.c'::name, function::name or namespace::name.
func (s *scope) LookupIn(where, name string) (v *debuginfo.Variable, err error) {
	defer s.m.guard(&err)()
	where = strings.Trim(where, "'\"")
	for b := s.b; b != nil; b = b.parent { // a function that pc is in: its names as they are here
		if (b.inlined || b.function) && b.named1(where) {
			if d, ok := s.within(b, name); ok {
				return s.local(d, b), nil
			}
		}
	}
	if v := s.inFile(where, name); v != nil {
		return v, nil
	}
	if v := s.inFunction(where, name); v != nil {
		return v, nil
	}
	if s.ruled() {
		if e, err := s.resolve(where+"::"+name, false); err == nil && e.Var != nil {
			return e.Var, nil
		}
		return nil, s.notFound("variable", where+"::"+name, nil)
	}
	if v := s.inNamespace(where, name); v != nil {
		return v, nil
	}
	return nil, s.notFound("variable", where+"::"+name, nil)
}

func (b *block) named1(name string) bool {
	return b.d.name() == name || b.d.funcName() == name
}

// within finds a name in function b as seen from pc: blocks around pc first.
func (s *scope) within(fnBlock *block, name string) (die, bool) {
	for b := s.b; b != nil; b = b.parent {
		if d, ok := b.declares(name); ok && b.owner() == fnBlock {
			return d, true
		}
		if b == fnBlock {
			break
		}
	}
	return fnBlock.anywhere(name)
}

// anywhere finds a name in any block of the function, inlined ones left out.
func (b *block) anywhere(name string) (out die, ok bool) {
	if d, ok := b.declares(name); ok {
		return d, true
	}
	for _, k := range b.kids {
		if k.inlined {
			continue
		}
		if d, ok := k.anywhere(name); ok {
			return d, true
		}
	}
	return die{}, false
}

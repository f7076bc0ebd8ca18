package dwarf

import (
	"slices"
	"sort"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
)

// functions finds functions by address and by name.
type functions struct {
	*object
	*info
	*callFrames
	plain map[string]string // cache of demangled names
	named recent[codeName]  // of Symbolize
}

// Function is a function of the module, known from DWARF, from a symbol or, in
// stripped code, only from its call frame information.
type Function struct {
	Name    string // source or demangled name; "" for stripped code
	Linkage string // raw linkage name
	Lo, Hi  uint64 // the part that holds the entry
	// Ranges are all parts, the one with the entry first; the others are cold
	// code that the compiler moved away.
	Ranges      []debuginfo.Range
	File        string
	Line        int
	FromSymbols bool // DWARF does not know it
	Assembler   bool // written by hand: it may do what no compiler does
	Inlined     int  // inlined copies elsewhere; counted by Functions only
}

func demangled(s string) string {
	if strings.HasPrefix(s, "_Z") || strings.HasPrefix(s, "_R") || strings.HasPrefix(s, "__Z") {
		return demangle.Filter(s, demangle.NoClones)
	}
	return s
}

func (fs *functions) function(f *fn) *Function {
	d := f.d
	out := &Function{
		Name: d.funcName(), Linkage: d.linkage(), Lo: f.ranges[0].Lo, Hi: f.ranges[0].Hi,
		Ranges: append([]debuginfo.Range(nil), f.ranges...), Assembler: d.u.head().lang == langAssembler,
	}
	if out.Linkage == "" {
		out.Linkage = d.name()
	}
	out.File, out.Line = d.declared()
	return out
}

// declared is where an entry was declared.
func (d die) declared() (file string, line int) {
	n, _ := d.num(atDeclLine)
	v, ok := d.deep(atDeclFile)
	if !ok {
		return "", int(min(n, 1<<31-1))
	}
	return v.u.fileName(v.N), int(min(n, 1<<31-1))
}

// fileName is the path of a file register value.
func (l *unitLines) fileName(reg uint64) string {
	if h, _ := l.u.lineUnit().lineHeader(); h != nil && reg < uint64(len(h.Files)) {
		return h.Files[reg].Full
	}
	return ""
}

// FunctionAt finds the function whose code holds vaddr: in DWARF, then in the
// symbol table, then in the call frame information.
func (fs *functions) FunctionAt(vaddr uint64) (f *Function, ok bool) {
	defer fs.guard(nil)()
	if u := fs.unitFor(vaddr); u != nil {
		if f := u.functions().at(vaddr); f != nil {
			return fs.function(f), true
		}
	}
	if s, end, ok := fs.symbolAt(vaddr); ok {
		return fs.fromSymbol(s, end), true
	}
	if r := fs.frames().Find(vaddr); r != nil {
		return &Function{Lo: r.Lo, Hi: r.Hi, FromSymbols: true, Ranges: []debuginfo.Range{{Lo: r.Lo, Hi: r.Hi}}}, true
	}
	return nil, false
}

// demangle is demangled with a cache, because a symbol is needed several times when many functions are traced.
func (fs *functions) demangle(name string) string {
	if !strings.HasPrefix(name, "_") {
		return name
	}
	if d, ok := fs.plain[name]; ok {
		return d
	}
	const most = 1 << 18
	if fs.plain == nil || len(fs.plain) >= most {
		fs.plain = map[string]string{}
	}
	d := demangled(name)
	fs.plain[name] = d
	return d
}

func (fs *functions) fromSymbol(s elf.Symbol, end uint64) *Function {
	f := &Function{
		Name: fs.demangle(s.Name), Linkage: s.Name, Lo: s.Value, Hi: end, FromSymbols: true,
		Ranges: []debuginfo.Range{{Lo: s.Value, Hi: end}},
	}
	f.File, f.Line = fs.golang.declared(s.Value)
	return f
}

// Functions lists the functions whose name or linkage name matches the glob (*,
// ?, [a-z]), sorted by name and address. Inlined counts their inlined copies;
// functions that exist only as such have no Ranges.
func (fs *functions) Functions(glob string) (out []*Function) {
	defer fs.guard(nil)()
	seen := map[uint64]bool{}
	copies := fs.countCopies()
	done := map[dieKey]bool{}
	fs.names().each(isFuncTag, func(d die) {
		if f := fs.listed(d, glob, copies); f != nil && !done[d.key()] {
			done[d.key()] = true
			if f.Ranges != nil {
				seen[f.Lo] = true
			}
			out = append(out, f)
		}
	})
	for _, s := range fs.allFuncSymbols(nil) {
		if seen[s.Value] {
			continue
		}
		if n := fs.demangle(s.Name); globMatch(glob, n) || globMatch(glob, s.Name) {
			if u := fs.unitFor(s.Value); u != nil {
				if f := u.functions().at(s.Value); f != nil && inRanges(f.ranges[1:], s.Value) {
					continue // a cold part of a function that DWARF knows
				}
			}
			end := s.Value + s.Size
			if s.Size == 0 {
				end = fs.syms.NextFunc(s.Value)
			}
			out = append(out, fs.fromSymbol(s, end))
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Name != out[j].Name {
			return out[i].Name < out[j].Name
		}
		return out[i].Lo < out[j].Lo
	})
	return out
}

// listed makes the Function of an index entry that matches.
func (fs *functions) listed(d die, glob string, copies map[copyKey]int) *Function {
	name := d.funcName()
	if !globMatch(glob, name) {
		if l := d.linkage(); l == "" || !globMatch(glob, l) {
			return nil
		}
	}
	if f := d.u.functions().byDie(d.off); f != nil {
		out := fs.function(f)
		if o, ok := d.attr(atAbstractOrigin); ok {
			if od, ok := o.die(); ok {
				out.Inlined = copies[copyKey{od.u.d, od.off}]
			}
		}
		return out
	}
	n := copies[copyKey{d.u.d, d.off}]
	if n == 0 || d.u.functions().origins[d.off] {
		return nil
	}
	out := &Function{Name: name, Linkage: d.linkage(), Inlined: n}
	out.File, out.Line = d.declared()
	return out
}

// copyKey is an abstract function: where its entry is.
type copyKey struct {
	d   *data
	off uint64
}

// countCopies counts the inlined copies of every abstract function.
func (fs *functions) countCopies() map[copyKey]int {
	n := map[copyKey]int{}
	fs.eachCopy(func(k copyKey, _ inlinedCopy) { n[k]++ })
	return n
}

// eachCopy calls visit for every inlined copy in the module. It has to walk all units;
// those that were not walked before are read aside, so that what they hold does not
// stay in memory.
func (fs *functions) eachCopy(visit func(of copyKey, c inlinedCopy)) {
	if fs.d == nil {
		return
	}
	x := fs.names()
	aside, _ := unitsOf(fs.d.fresh())
	for id := range x.main {
		if !x.hasCode(id) {
			continue
		}
		u := x.units[id].whole()
		walk := u
		if u.body == nil && !u.d.dwo && len(aside) == len(x.units) {
			walk, aside[id] = aside[id], nil
		}
		if id%256 == 255 {
			fs.release()
		}
		for _, c := range walk.functions().copies {
			switch {
			case c.fn < 0:
			case c.alt:
				visit(copyKey{u.d.alt, c.origin}, c)
			default:
				visit(copyKey{u.d, c.origin}, c)
			}
		}
	}
}

// allFuncSymbols lists the code symbols of the module and its debug file, until stopped, which may be nil, reports true.
func (fs *functions) allFuncSymbols(stopped func() bool) []elf.Symbol {
	var out []elf.Symbol
	seen := map[uint64]string{}
	take := func(f *elf.File) {
		f.Each(func(s elf.Symbol) bool {
			if f.IsFunc(s) && s.Name != "" && seen[s.Value] != s.Name && s.Value != 0 {
				seen[s.Value] = s.Name
				out = append(out, s)
			}
			return stopped == nil || !stopped()
		})
	}
	take(fs.syms)
	if fs.syms != fs.file {
		take(fs.file)
	}
	return out
}

// Symbolize describes vaddr: the function (the concrete one), the offset from its entry, the source line,
// and the inlined functions there, innermost first. Unknown parts are empty.
func (fs *functions) Symbolize(vaddr uint64) (name string, off uint64, file string, line int, inl []string) {
	defer fs.guard(nil)()
	c, ok := fs.named.get(vaddr)
	if !ok {
		c = fs.codeName(vaddr)
		fs.named.put(vaddr, c)
	}
	return c.fn, c.off, c.file, c.line, slices.Clone(c.inlined)
}

// codeName is the result of Symbolize.
type codeName struct {
	fn      string
	off     uint64
	file    string
	line    int
	inlined []string
	calls   []debuginfo.SourceLine // of inlined
}

// Calls returns the lines of the calls of the inlined functions that Symbolize returns.
func (fs *functions) Calls(vaddr uint64) []debuginfo.SourceLine {
	defer fs.guard(nil)()
	c, ok := fs.named.get(vaddr)
	if !ok {
		c = fs.codeName(vaddr)
		fs.named.put(vaddr, c)
	}
	return slices.Clone(c.calls)
}

func (fs *functions) codeName(vaddr uint64) (c codeName) {
	if l := fs.sourceAt(vaddr); l.File != nil {
		c.file, c.line = l.File.Full, l.Line
	}
	if b := fs.blockAt(vaddr, false); b != nil {
		for x := b; x != nil; x = x.parent {
			if x.inlined {
				file, line := x.callSite()
				c.inlined, c.calls = append(c.inlined, x.d.funcName()), append(c.calls, debuginfo.SourceLine{File: file, Line: line})
			}
		}
		o := b.outermost()
		c.fn, c.off = o.d.funcName(), vaddr-o.ranges[0].Lo
		return c
	}
	if s, _, ok := fs.symbolAt(vaddr); ok {
		c.fn, c.off = fs.demangle(s.Name), vaddr-s.Value
	}
	return c
}

// DataSymbol names the object with a symbol that contains vaddr, and the offset of vaddr in it; "" if there
// is none.
func (fs *functions) DataSymbol(vaddr uint64) (name string, off uint64) {
	defer fs.guard(nil)()
	s, ok := fs.syms.DataAt(vaddr)
	if !ok && fs.syms != fs.file {
		s, ok = fs.file.DataAt(vaddr)
	}
	if !ok {
		return "", 0
	}
	return demangled(s.Name), vaddr - s.Value
}

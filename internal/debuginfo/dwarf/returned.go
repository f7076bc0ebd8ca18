package dwarf

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// Returned is what debug information says about the result of a function.
type Returned struct {
	// Results are none for a function that returns nothing, one in C, any number in Go. Without debug
	// information the result is what the register for integers has.
	Results []Result
	Go      bool // Go's calling convention for registers, not C's
	// Memory: the result is an object of a C++ class that is always returned in memory.
	Memory bool
	// Rust: by rustc's convention, as far as the type and the callers show it.
	Rust bool
	// Unproved: the compiler may have removed results that no caller uses, and does not say so.
	Unproved bool
	// Why, if not "", is why it is not certain where the result is.
	Why string
}

// Result is one of them. Go has names for them: its own for results without a name.
type Result struct {
	Name string
	Type *ctype.Type
}

// Returned describes the result of the function whose code contains vaddr.
func (ss *scopes) Returned(vaddr uint64) (r Returned) {
	defer ss.guard(nil)()
	return ss.returned(vaddr)
}

func (ss *scopes) returned(vaddr uint64) (r Returned) {
	var f *fn
	u := ss.unitFor(vaddr)
	if u != nil {
		f = u.functions().at(vaddr)
	}
	switch {
	case f == nil && ss.ofGo():
		return Returned{Why: "there is no debug information about the function"}
	case f == nil:
		return Returned{Results: []Result{{Type: ctype.ULongT}}}
	}
	u = u.whole() // the skeleton of a split unit has no language
	if u.isGo() {
		return ss.goReturned(f)
	}
	if u.isRust() {
		return ss.rustReturned(f)
	}
	why, unproved := ss.ownConvention(f)
	if why != "" {
		return Returned{Why: why}
	}
	t := ss.typeOf(f.d)
	if t.Strip().Kind == ctype.Void {
		return Returned{}
	}
	r = Returned{Results: []Result{{Type: t}}, Unproved: unproved}
	switch k := t.Strip().Kind; {
	case u.isC():
	case u.isCxx():
		if k == ctype.Struct || k == ctype.Union {
			r.Memory, r.Why = ss.classInMemory(f.d)
		}
	case f.d.sourceUnit().isFortran() && (k == ctype.Int || k == ctype.Float || k == ctype.Bool):
	default:
		r.Why = "the calling convention of the function's language is not known"
	}
	return r
}

// ownConvention returns why a function may be called otherwise than its type says: compilers change functions
// that only they call. unproved: it is not known whether they have removed the result.
func (ss *scopes) ownConvention(f *fn) (why string, unproved bool) {
	if v, ok := f.d.deep(atCallingConvention); ok && v.N != ccNormal {
		return changedConvention, false
	}
	if ss.exported(f) {
		return "", false
	}
	if sym, _, ok := ss.symbolAt(f.entry()); ok && sym.Value == f.entry() {
		for _, suffix := range []string{".isra.", ".part."} {
			if strings.Contains(sym.Name, suffix) {
				return "the compiler has made the function from another (" + sym.Name + "), perhaps without its result", false
			}
		}
	}
	producer := f.d.u.head().producer // before version 15 clang does not say it
	return "", strings.Contains(producer, "clang") && clangMajor(producer) < 15
}

const changedConvention = "the compiler has given the function a calling convention of its own"

// exported reports whether other modules may call the function.
func (ss *scopes) exported(f *fn) bool {
	for _, name := range []string{f.d.linkage(), f.d.name()} {
		for _, sym := range ss.lookupSymbols(name) {
			if sym.Value == f.entry() && !sym.Local {
				return true
			}
		}
	}
	return false
}

func clangMajor(producer string) int {
	_, after, _ := strings.Cut(producer, "clang version ")
	major, _, _ := strings.Cut(after, ".")
	n, _ := strconv.Atoi(major)
	return n
}

// The values of DW_AT_calling_convention of a class.
const (
	ccByReference = 4
	ccByValue     = 5
)

// classInMemory reports whether a C++ class, the type of d, has a constructor or destructor for which it is
// always returned in memory.
func (ss *scopes) classInMemory(d die) (bool, string) {
	t, ok := d.ref(atType)
	for n := 0; ok && n < 16; n++ {
		switch t.ab.tag {
		case tagTypedef, tagConstType, tagVolatileType:
			t, ok = t.ref(atType)
			continue
		}
		switch v, has := t.deep(atCallingConvention); {
		case has && v.N == ccByReference:
			return true, ""
		case has && v.N == ccByValue, ss.plain(t, 0):
			return false, ""
		}
		break
	}
	return false, "the debug information does not say whether objects of the class are returned in registers"
}

// plain reports whether a class declares no function at all and neither do its members: then C++ copies it as C does.
func (ss *scopes) plain(d die, depth int) bool {
	def := ss.definition(d)
	if depth > 16 || def.flag(atDeclaration) {
		return false
	}
	for c := range def.children() {
		switch c.ab.tag {
		case tagSubprogram, tagInheritance:
			return false
		case tagMember:
			t, ok := c.ref(atType)
			for n := 0; ok && n < 16 && slices.Contains([]uint16{tagTypedef, tagConstType, tagVolatileType, tagArrayType}, t.ab.tag); n++ {
				t, ok = t.ref(atType)
			}
			switch {
			case !ok:
				return false
			case sameTag(t.ab.tag, tagStructType) || t.ab.tag == tagUnionType:
				if !ss.plain(t, depth+1) {
					return false
				}
			}
		}
	}
	return true
}

// goReturned lists the results of a function of Go. A result that a deferred function sets (an open-coded defer) is
// listed twice by the compiler; it is one result, in the registers of one.
func (ss *scopes) goReturned(f *fn) Returned {
	if !strings.Contains(f.d.u.head().producer, "regabi") {
		return Returned{Why: "the calling convention of this version of Go is not known"}
	}
	if sym, _, ok := ss.symbolAt(f.entry()); ok && strings.HasSuffix(sym.Name, ".abi0") || strings.HasSuffix(f.d.name(), ".abi0") {
		return Returned{Why: "the function returns its results in memory (ABI0)"}
	}
	r := Returned{Go: true}
	seen := map[string]bool{}
	for c := range f.d.children() {
		if c.ab.tag != tagFormalParameter || !c.deepFlag(atVariableParam) {
			continue
		}
		name := c.name()
		if seen[name] && strings.Trim(name, "_") != "" {
			continue
		}
		seen[name] = true
		name = strings.TrimPrefix(name, "~")
		if name == "" || name == "_" {
			name = fmt.Sprintf("r%d", len(r.Results))
		}
		r.Results = append(r.Results, Result{name, ss.typeOf(c)})
	}
	return r
}

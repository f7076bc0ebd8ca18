// Package words has the tables of the language of scripts: words and functions, functions that update maps,
// kinds of maps, settings. Each row is all that the checker and the documentation know of a word.
//
// Import rule: words imports only lang/script and script/types.
package words

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// ArgKind is what an argument may be.
type ArgKind uint8

// The kinds of arguments. Those after Format are not typed as expressions.
const (
	AnyArg ArgKind = iota
	IntArg
	IntLit
	StrArg
	StrLit
	PtrArg
	IntPtrArg // an integer or pointer
	Format    // a format, a literal; formatted values follow
	MapArg    // a map without key
	MapOrAny  // a map without key, or an expression
	KeyArg    // a key of the map before it
	VarArg    // a scratch variable that is set
	TypeArg   // a type
	NameArg   // a name of Names, or of a field if there are none
)

// Arg is an argument of a function.
type Arg struct {
	Kind  ArgKind
	Names []string // of a NameArg
}

// Word is a row: a builtin (Bare: it can be written without parentheses) or a function.
type Word struct {
	Name     string
	Forms    []string // with result and arguments, as the documentation shows them
	Bare     bool
	Min, Max int // arguments
	Args     []Arg
	// Result returns the type of a call, or reports what is wrong with it. nil means that there is none.
	Result func(*Call) *types.Type
	// Providers are the kinds of probes in which it has a meaning; nil for all.
	Providers []string
	Unsafe    bool // needs --unsafe
	Async     bool // executed by jalon when it reads the event
	Constant  bool // evaluated before the script runs
	Engines   Engines
	Doc       string
	// Missing is why jalon does not have it yet, or where; "" if it has it wherever the row says.
	Missing string
	// Internal rows are not documented: bpftrace's library uses them.
	Internal bool
}

// Engines is where a word can be evaluated at a hit.
type Engines uint8

// The engines: in the process, in the kernel, or both.
const (
	Both Engines = iota
	KernelOnly
	ProcessOnly
)

// Lit is the value of an argument that is a literal.
type Lit struct {
	Known bool
	Type  *types.Type
	Int   uint64 // two's complement if Neg
	Neg   bool
	Str   string
}

// Call is a call whose type is asked for.
type Call struct {
	Word   *Word
	Types  []*types.Type
	Lits   []Lit
	Names  []string // of NameArg
	Config *Config
	Place  *script.Place // nil in a function
	Fail   func(format string, args ...any)
	Warn   func(format string, args ...any)
}

// space is the address space of values at the place.
func (c *Call) space() types.Space {
	if c.Place == nil {
		return types.Kernel
	}
	return SpaceOf(c.Place.Provider)
}

// SpaceOf is the address space of pointers at places of a kind.
func SpaceOf(pr *script.Provider) types.Space {
	switch {
	case pr.User:
		return types.User
	case pr.Args != "" || pr.Retval || pr.Name == "iter":
		return types.Kernel
	}
	return types.Unknown
}

// Find returns the row of a word; arg0, arg1, ... have one row.
func Find(name string) *Word {
	name = strings.TrimPrefix(name, "__builtin_") // as bpftrace's own library writes them
	if w := index[name]; w != nil {
		return w
	}
	if n, ok := strings.CutPrefix(name, "arg"); ok && n != "" && strings.Trim(n, "0123456789") == "" && len(n) < 4 {
		return index["argN"]
	}
	return nil
}

// FindMapFunc returns the row of a function that updates a map.
func FindMapFunc(name string) *Word { return mapIndex[name] }

var (
	index    = byName(Words)
	mapIndex = byName(MapFuncs)
)

func byName(rows []*Word) map[string]*Word {
	m := map[string]*Word{}
	for _, w := range rows {
		if m[w.Name] != nil {
			panic("BUG: two rows of " + w.Name)
		}
		m[w.Name] = w
	}
	return m
}

// Names are the names of all words, for hints.
func Names() []string {
	var out []string
	for _, rows := range [][]*Word{Words, MapFuncs} {
		for _, w := range rows {
			if !w.Internal {
				out = append(out, w.Name)
			}
		}
	}
	return out
}

// MapKinds are the kinds of maps that can be declared, with what they do when they are full.
var MapKinds = []struct {
	Name   string
	PerCPU bool
	Doc    string
}{
	{"hash", false, "a new key is refused, counted and reported"},
	{"lruhash", false, "an element that was not used for long is removed"},
	{"percpuhash", true, "like hash, with a value for each CPU; for functions such as count"},
	{"percpulruhash", true, "like lruhash, with a value for each CPU; for functions such as count"},
}

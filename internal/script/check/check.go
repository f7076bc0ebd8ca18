// Package check types a whole script as bpftrace does: macros are expanded, constants folded, and the types of
// variables, map keys and map values are inferred from all uses, before anything is attached.
//
// Import rule: check imports lang, lang/script, ctype and the packages of script that have types, words and
// formats.
package check

import (
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// Source finds types of the kernel and of programs. Its functions return nil for what they do not know.
type Source interface {
	// Named returns struct, union, enum (tag) or typedef (tag "") name, as the place sees it; nil for no place.
	Named(pl *script.Place, tag, name string) *ctype.Type
	// Enumerator returns the enum that has the constant, or another type of a constant of C, and its value.
	Enumerator(pl *script.Place, name string) (*ctype.Type, int64)
	// Args returns the arguments at a place as a struct, or why they are not known.
	Args(*script.Place) (*ctype.Type, error)
	// Retval returns the type of what the function at a place returns.
	Retval(*script.Place) *ctype.Type
	// Variable returns the type of a program's variable that is visible at a place.
	Variable(pl *script.Place, name string) *ctype.Type
}

// Options is what a script is run with.
type Options struct {
	Params  []string          // $1, $2, ...
	Named   map[string]string // --name=value
	Unsafe  bool
	Env     []string // of the environment: BPFTRACE_NAME=VALUE is a setting
	Child   bool     // there is a process of -c
	Process bool     // there is a process of -c or -p
	Source  Source
	// Import returns the name and text of each file of an import; from is the importing file.
	Import func(from, path string) ([]Imported, error)
	// Cgroup returns the number of the cgroup (v2) of a directory. nil: cgroupid() has no value.
	Cgroup func(dir string) (uint64, error)
}

// parameters is a Source that knows which variables have no value at the first instruction of a function.
type parameters interface {
	Unavailable(pl *script.Place, name string) (why string)
}

// functions is a Source that knows the functions of the kernel.
type functions interface {
	Function(name string) bool
}

// Imported is a file of an import.
type Imported struct{ Name, Text string }

// Program is a script whose types are known.
type Program struct {
	Script    *script.Script
	Config    *words.Config
	Probes    []*Probe
	Functions []*script.Function
	Maps      []*Map // in the order of their first use
	Types     map[script.Expr]*types.Type
	Consts    map[script.Expr]*Const
	Warnings  lang.Diagnostics
	Options   []string          // the names that the script asks getopt for
	Described map[string]string // what the script says of them
	// Expanded has, of calls in the bodies of macros, where the macro was called.
	Expanded map[*script.Call]script.Expr
	// Mixed are floating-point values that are integers at some of the probe's addresses.
	Mixed map[script.Expr]bool
	// Objects has the name of the object of an iterator in its context.
	Objects map[string]string
	// Unavailable returns why a variable of the program has no value at a place, "" if it may have one. May be nil.
	Unavailable func(pl *script.Place, name string) (why string)
	// Complete returns the definition of a struct that is only declared where it was found.
	Complete func(*types.Type) *types.Type
}

// Probe is a probe with its macros expanded. Expressions that are not reached by any path are not in it.
type Probe struct {
	*script.Probe
	Places []*script.Place
	Pred   script.Expr
	Body   *script.Block
	Vars   []*Variable
}

// Map is a map of a script.
type Map struct {
	Name       string
	Scalar     bool // it has no keys
	Key, Value *types.Type
	Decl       *script.MapDecl
	keyed      bool // it is used with keys
	refused    bool // a value was assigned that no map can hold
	updated    bool // by a function such as sum()
	first      script.Node
	agg        *types.Type // of the argument of the function that updates it
}

// Variable is a scratch variable of a probe or function. Several scopes can have variables of one name.
type Variable struct {
	Name     string
	Type     *types.Type
	declared bool // with a type that has a size
	set      bool
	at       script.Node
}

// The parts of the checker by topic. All of them see the others through the checker: an expression has blocks,
// which have expressions.
type (
	statements struct {
		*checker
		loops int // around the statement
	}
	expressions struct {
		*checker
		typing int // inside of sizeof, typeof
	}
	operators struct{ *checker }
	calls     struct {
		*checker
		tail *script.Call // of a map function, as the value of a block that is assigned to a map
	}
	specials struct {
		*checker
		asked     map[string]bool   // names of getopt
		described map[string]string // descriptions
		opt       map[string]*Const // default values of getopt
	}
	constants struct {
		*checker
		consts map[script.Expr]*Const
	}
)

type checker struct {
	statements
	expressions
	operators
	calls
	specials
	constants

	opts    Options
	config  *words.Config
	env     *cenv
	macros  map[string][]*script.Macro
	funcs   map[string]*script.Function
	maps    map[string]*Map
	tests   map[string]bool      // names of test and bench probes
	labels  map[string]bool      // of attach points
	objects map[string]string    // Program.Objects
	mixed   map[script.Expr]bool // Program.Mixed
	order   []*Map

	errs, warns lang.Diagnostics
	seen        map[string]bool // diagnostics, because macros repeat them

	// The state of one pass over the script.
	final   bool // diagnostics are reported
	changed bool
	types   map[script.Expr]*types.Type
	vars    map[script.Node]*Variable // by the node that declares them

	// Where the pass is.
	member script.Expr // a member of this is read
	places []*script.Place
	fn     *script.Function
	scopes []map[string]*Variable
	probe  *Probe

	atPlace map[*script.Place]argsType // see argsAt
}

// maxPasses bounds the inference: each pass carries types over at least one more assignment.
const maxPasses = 200

// Check types a script. The error has diagnostics; the warnings are in the program.
func Check(s *script.Script, opts Options) (*Program, error) {
	c := &checker{
		opts: opts, config: &words.Config{}, macros: map[string][]*script.Macro{}, funcs: map[string]*script.Function{},
		maps: map[string]*Map{}, seen: map[string]bool{}, vars: map[script.Node]*Variable{},
		tests: map[string]bool{}, labels: map[string]bool{}, objects: map[string]string{}, mixed: map[script.Expr]bool{},
	}
	c.statements, c.expressions, c.operators = statements{checker: c}, expressions{checker: c}, operators{c}
	c.calls, c.constants = calls{checker: c}, constants{checker: c}
	c.specials = specials{checker: c, opt: map[string]*Const{}, asked: map[string]bool{}, described: map[string]string{}}
	c.final = true // the phases before inference report what they find
	p := &Program{Script: s, Config: c.config}
	c.settings(s)
	scripts := c.imports(s)
	c.env = c.declarations(scripts)
	c.definitions(scripts)
	c.prepare(p, scripts)
	c.types, c.consts = map[script.Expr]*types.Type{}, map[script.Expr]*Const{}
	if c.limit(p); len(c.errs) == 0 {
		c.infer(p)
	}
	for name := range c.asked {
		p.Options = append(p.Options, name)
	}
	slices.Sort(p.Options)
	if src, ok := opts.Source.(parameters); ok {
		p.Unavailable = src.Unavailable
	}
	p.Described, p.Mixed = c.described, c.mixed
	p.Types, p.Consts, p.Warnings, p.Complete = c.types, c.consts, c.warns, c.complete
	for _, m := range c.order {
		if m.Key.Kind != types.None || m.Value.Kind != types.None {
			p.Maps = append(p.Maps, m)
		}
	}
	return p, c.errs.Err()
}

func (c *checker) placesOf(pr *script.Probe) []*script.Place {
	var out []*script.Place
	for _, pt := range pr.Points {
		pl, err := script.ParsePlace(pt, c.param)
		if d, ok := err.(*lang.Diagnostic); ok {
			c.errs = c.errs.Add(d)
			continue
		}
		if pl.Provider.Name == "kprobe" && pl.HasAddr && !c.opts.Unsafe {
			c.fail(pt, "a kprobe at an address needs --unsafe")
		}
		out = append(out, pl)
	}
	for _, pl := range out {
		if pl.Label != "" {
			c.labels[pl.Label] = true
		}
		if pl.Provider.User && pl.Target == "" && !c.opts.Process {
			c.failHint(pl.Point, "for example uprobe:/bin/bash:readline", "the program or library is missing; only with -p it can be")
		}
		if name := pl.Provider.Name + ":" + pl.Name; pl.Provider.Name == "test" || pl.Provider.Name == "bench" {
			if c.tests[name] {
				c.fail(pl.Point, "there are two probes %s", name)
			}
			c.tests[name] = true
		}
		if pl.Provider.Name == "iter" {
			c.iterator(pl, len(out))
		}
	}
	return out
}

// iterator finds the object of an iterator: the second member of its context.
func (c *checker) iterator(pl *script.Place, places int) {
	if places > 1 {
		c.fail(pl.Point, "iter cannot be combined with other attach points")
	}
	if c.opts.Source == nil {
		return
	}
	t := c.opts.Source.Named(pl, "struct", "bpf_iter__"+pl.Name)
	if t == nil || len(t.Fields()) < 2 {
		c.fail(pl.Point, "the kernel has no iterator %q", pl.Name)
		return
	}
	f := t.Fields()[1]
	if in := f.Type.Strip(); f.Name == "" && len(in.Fields()) > 0 {
		f = in.Fields()[0]
	}
	c.objects[pl.Name] = f.Name
}

// param returns a positional parameter.
func (c *checker) param(n int) string {
	if n > len(c.opts.Params) {
		return ""
	}
	return c.opts.Params[n-1]
}

func (c *checker) fail(n script.Node, format string, args ...any) { c.failHint(n, "", format, args...) }

func (c *checker) failHint(n script.Node, hint, format string, args ...any) {
	if c.final && c.first(n, format, args) {
		c.errs = c.errs.Add(n.File().At(n.Span(), fmt.Sprintf(format, args...), hint))
	}
}

func (c *checker) warn(n script.Node, format string, args ...any) {
	if c.final && c.first(n, format, args) {
		c.warns = c.warns.Add(n.File().At(n.Span(), fmt.Sprintf(format, args...), ""))
	}
}

// first reports whether a diagnostic is new.
func (c *checker) first(n script.Node, format string, args []any) bool {
	key := fmt.Sprint(n.File().Name, n.Span(), fmt.Sprintf(format, args...))
	if c.seen[key] {
		return false
	}
	c.seen[key] = true
	return true
}

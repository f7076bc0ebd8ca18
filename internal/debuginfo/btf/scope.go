package btf

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// scope is what names mean at a site in the kernel: the variables that the site
// gives, then what the kernel has everywhere: curtask (a pointer to the running
// thread's struct task_struct) and per-CPU variables.
type scope struct {
	k     *Kernel // nil: no BTF
	units []*unit // where types are looked for: the kernel, then the site's module
	fn    string
	args  []*debuginfo.Variable
	vars  map[string]*debuginfo.Variable // the site's, args among them
	hint  string                         // why there are not more
}

// newScope makes a scope without variables, with the types of the kernel and of
// the modules given.
func (k *Kernel) newScope(fn string, modules ...*unit) *scope {
	s := &scope{k: k, fn: fn, vars: map[string]*debuginfo.Variable{}}
	if k != nil {
		s.units = []*unit{k.base}
		for _, u := range modules {
			if u != nil && u != k.base {
				s.units = append(s.units, u)
			}
		}
	}
	return s
}

// set adds a variable that is not an argument. The first of a name counts.
func (s *scope) set(name string, t *ctype.Type, loc debuginfo.Location) {
	if _, ok := s.vars[name]; !ok && name != "" {
		s.vars[name] = &debuginfo.Variable{Name: name, Type: t, Kind: debuginfo.Local, Loc: loc}
	}
}

// setArgs adds the arguments, each by its bare name.
func (s *scope) setArgs(params []Param, at []debuginfo.Location) {
	for i, p := range params {
		v := &debuginfo.Variable{Name: p.Name, Type: p.Type, Kind: debuginfo.Param, Loc: at[i]}
		s.args = append(s.args, v)
		if _, ok := s.vars[p.Name]; !ok && p.Name != "" {
			s.vars[p.Name] = v
		}
	}
}

// GlobalScope is what names mean where there are no arguments (timers, counters,
// instructions inside functions). k may be nil: then nothing is known.
func (k *Kernel) GlobalScope() debuginfo.Scope { return k.newScope("") }

// TracepointScope is what names mean at a raw tracepoint: its arguments, one to a
// word of the context, by their names and as members of the struct args. An error
// of a name is a *debuginfo.NotFoundError.
func (k *Kernel) TracepointScope(name string) (debuginfo.Scope, error) {
	tp, err := k.Tracepoint(name)
	if err != nil {
		return nil, err
	}
	s := k.newScope(name, tp.unit)
	s.setArgs(tp.Params, contextPlaces(tp.Params))
	s.set("args", argsType(tp.Params), inContext(0))
	return s, nil
}

// IteratorScope is what names mean at a BPF iterator: the members of struct bpf_iter__NAME, each a word of the context, by their
// names and as members of the struct args.
func (k *Kernel) IteratorScope(name string) (debuginfo.Scope, error) {
	t, err := k.Type(ctype.Struct, iterPrefix+name)
	if err != nil {
		return nil, &debuginfo.NotFoundError{What: "iterator", Name: name, Hint: "the kernel has, for example, task, task_file, task_vma and bpf_map"}
	}
	params := IteratorMembers(t)
	s := k.newScope(name)
	s.setArgs(params, contextPlaces(params))
	s.set("args", argsType(params), inContext(0))
	return s, nil
}

// IteratorMembers are the members of the context of an iterator. The second one is the object; NULL: there are no more. Each is
// in a union that makes it a word.
func IteratorMembers(t *ctype.Type) (list []Param) {
	for _, f := range t.Fields() {
		if in := f.Type.Strip(); f.Name == "" && in.Kind == ctype.Union && len(in.Fields()) > 0 {
			f = in.Fields()[0]
		}
		list = append(list, Param{f.Name, f.Type})
	}
	return list
}

const iterPrefix = "bpf_iter__"

// RecordScope is what names mean in a tracepoint's record: the members of rec, a
// struct of its fields, by their names and as members of the struct args. The
// kernel overwrites the first 8 bytes of a record (common_type, common_pid, ...)
// before a program sees it. k may be nil: the record then is all that is known.
func (k *Kernel) RecordScope(name string, rec *ctype.Type) debuginfo.Scope {
	s := k.newScope(name)
	s.set("args", rec, inContext(0)) // before a field of that name, which is args->args
	for _, f := range rec.Fields() {
		loc := debuginfo.Location{Pieces: []debuginfo.Piece{{
			Kind: debuginfo.InContext, Ctx: f.BitOffset / 8, BitOffset: f.BitOffset % 8, BitSize: f.BitSize,
		}}}
		if f.BitOffset < recordLost*8 {
			loc = debuginfo.Location{Unavailable: "the kernel overwrites the first 8 bytes of the record"}
		}
		s.setArgs([]Param{{f.Name, f.Type}}, []debuginfo.Location{loc})
	}
	return s
}

const recordLost = 8

// PC is not known: the names mean the same wherever the site's function is.
func (s *scope) PC() uint64       { return 0 }
func (s *scope) FuncName() string { return s.fn }

func (s *scope) Args() []*debuginfo.Variable   { return s.args }
func (s *scope) Locals() []*debuginfo.Variable { return nil }
func (s *scope) CFA() []debuginfo.Op           { return nil }
func (s *scope) HasDebugInfo() bool            { return s.k != nil || len(s.args) > 0 }

func (s *scope) Lookup(name string) (*debuginfo.Variable, error) {
	if v := s.variable(name); v != nil {
		return v, nil
	}
	return nil, s.missing(name)
}

// Has reports whether Lookup would succeed. It is faster, because explaining a failure takes long.
func (s *scope) Has(name string) bool { return s.variable(name) != nil }

func (s *scope) variable(name string) *debuginfo.Variable {
	if v, ok := s.vars[name]; ok {
		return v
	}
	if s.k == nil {
		return nil
	}
	if name == "curtask" {
		if t, err := s.k.Type(ctype.Struct, "task_struct"); err == nil {
			return currentTask(t)
		}
	}
	for _, u := range s.units {
		if v := s.k.perCPUVariable(u, name); v != nil {
			return v
		}
	}
	return nil
}

func currentTask(t *ctype.Type) *debuginfo.Variable {
	return &debuginfo.Variable{
		Name: "curtask", Type: ctype.PointerTo(t), Kind: debuginfo.Global,
		Loc: debuginfo.Location{Pieces: []debuginfo.Piece{{
			Kind: debuginfo.IsValue,
			Expr: []debuginfo.Op{{Code: debuginfo.OpEnv, Arg: debuginfo.EnvTask}},
		}}},
	}
}

// missing is the error for a variable.
func (s *scope) missing(name string) error {
	e := &debuginfo.NotFoundError{What: "variable", Name: name, Hint: s.hint}
	if s.k != nil {
		e.Explain = func(e *debuginfo.NotFoundError) { s.explain(name, e) }
	}
	return e
}

// explain finds similar names. Enumerators are looked up as variables first, so nothing more is looked up
// for them.
func (s *scope) explain(name string, e *debuginfo.NotFoundError) {
	if _, _, ok := s.k.enumeratorIn(s.units, name); ok {
		return
	}
	var names []string
	for n := range s.vars {
		names = append(names, n)
	}
	for _, u := range s.units {
		if x, err := u.open(); err == nil {
			for n := range x.PerCPUs() {
				names = append(names, n)
			}
		}
	}
	e.Nearest = debuginfo.Nearest(name, names, 5)
	if h := s.k.untyped(name); h != "" {
		e.Hint = h
	}
}

// LookupIn finds function::name only for the site's own function: BTF has neither files nor the variables
// of functions.
func (s *scope) LookupIn(where, name string) (*debuginfo.Variable, error) {
	if where == s.fn && where != "" {
		return s.Lookup(name)
	}
	return nil, &debuginfo.NotFoundError{
		What: "variable", Name: where + "::" + name,
		Hint: "the kernel's BTF knows no variables of files and functions; debug information (--vmlinux) does",
	}
}

func (s *scope) Type(kind ctype.Kind, name string) (*ctype.Type, error) {
	if s.k == nil {
		if t := builtin[baseName(name)]; t != nil && kind == ctype.Typedef {
			return t, nil
		}
		return nil, &debuginfo.NotFoundError{What: kindWords[kind], Name: name, Hint: "this kernel carries no type information (BTF)"}
	}
	return s.k.typeIn(s.units, kind, name)
}

func (s *scope) Enumerator(name string) (*ctype.Type, int64, bool) {
	if s.k == nil {
		return nil, 0, false
	}
	return s.k.enumeratorIn(s.units, name)
}

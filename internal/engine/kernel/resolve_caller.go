package kernel

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracesite"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/sema"
)

// A static tracepoint whose expressions name variables of the functions that call it (gdb-kgtp paper 3.3):
// instead of the tracepoint a kprobe is used at each call, at the beginning of the code that runs while the
// tracepoint has a listener. So there must be one: see listener.

// areVariables reports whether all names are such that a function may have variables of.
func areVariables(names []sema.Name) bool {
	return !slices.ContainsFunc(names, func(n sema.Name) bool { return n.Form == sema.WithSign || n.Form == sema.OfArgs })
}

// callSites returns the calls of a tracepoint in the kernel's image as candidates. The error is the missing
// information.
func (e *calls) of(c *candidate) ([]candidate, error) {
	const need = "variables of the functions that call the tracepoint need "
	if e.opt.Vmlinux == "" {
		return nil, errors.New(need + "the kernel's debug information: --vmlinux PATH")
	}
	if e.k != nil {
		if f := e.k.Features().Kprobe; !f.OK {
			return nil, fmt.Errorf("%skprobes: %s", need, f.Text)
		}
	}
	img, err := e.facts.kernel.File()
	if err != nil {
		return nil, fmt.Errorf("%sits debug information: %w", need, err)
	}
	all, err := e.sites.get(func() (*tracesite.Sites, error) { return tracesite.Find(img.Info.File()) })
	if err != nil {
		return nil, fmt.Errorf("%sthe places of its calls: %w", need, err)
	}
	found := all.Of(c.tracepoint)
	if len(found) == 0 {
		return nil, fmt.Errorf("%sits calls, and %s has none of %s: they are in a module", need, e.opt.Vmlinux, c.tracepoint)
	}
	var out []candidate
	var refused []string
	for _, s := range found {
		if s.NoProbe != "" {
			refused = append(refused, s.Function+": "+s.NoProbe)
			continue
		}
		call, err := e.callSite(c, img, &s)
		if err != nil {
			return nil, err
		}
		out = append(out, call)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%sa kprobe at a call, and the kernel takes none: %s", need, strings.Join(refused, "; "))
	}
	if len(refused) > 0 {
		e.warn(fmt.Sprintf("%s: %d of %d calls of the tracepoint cannot be probed: %s", c.place, len(refused), len(found), strings.Join(refused, "; ")))
	}
	return out, nil
}

// callSite is one call of a tracepoint.
func (e *calls) callSite(c *candidate, img *image.KernelFile, s *tracesite.Site) (candidate, error) {
	around, err := img.Info.ScopeAround(s.Branch, s.Inlined()...)
	if err != nil {
		return candidate{}, err
	}
	inner, err := img.Info.ScopeAt(s.Branch)
	if err != nil {
		return candidate{}, err
	}
	v, err := e.facts.kprobeAt(s.Branch + img.Slide)
	if err != nil {
		return candidate{}, err
	}
	function := around.FuncName()
	if function == "" {
		function = s.Function
	}
	v.how, v.bias, v.lineOf = "kprobe at the call in "+function, img.Slide, img.LineOf
	v.scope = &callScope{around, inner, argumentNames(c)}
	return candidate{place: c.place, function: function, variants: []variant{v}}, nil
}

// argumentNames are the names of a tracepoint's raw arguments.
func argumentNames(c *candidate) []string {
	var names []string
	for i := range c.variants {
		if c.variants[i].event != nil { // the record's fields are handled elsewhere
			continue
		}
		for _, v := range c.variants[i].scope.Args() {
			names = append(names, v.Name)
		}
	}
	return names
}

// callScope is what names mean at the call of a tracepoint: its arguments, by the
// inlined copy of trace_EVENT, before the variables of the function around.
type callScope struct {
	debuginfo.Scope // of the function that calls
	inner           debuginfo.Scope
	arguments       []string
}

// Lookup finds an argument of the tracepoint where it still has a value, else a
// variable of the caller's.
func (s *callScope) Lookup(name string) (*debuginfo.Variable, error) {
	if v := s.argument(name); v != nil {
		return v, nil
	}
	return s.Scope.Lookup(name)
}

func (s *callScope) argument(name string) *debuginfo.Variable {
	if slices.Contains(s.arguments, name) {
		if v, err := s.inner.Lookup(name); err == nil && v.Kind == debuginfo.Param && v.Loc.Unavailable == "" {
			return v
		}
	}
	return nil
}

// Resolve is Lookup by the rules of the language.
func (s *callScope) Resolve(name string, types bool) (*debuginfo.Entity, error) {
	if v := s.argument(name); v != nil && !types {
		return &debuginfo.Entity{Var: v}, nil
	}
	return debuginfo.Resolve(s.Scope, name, types)
}

func (s *callScope) Member(class *ctype.Type, name string) (*debuginfo.Entity, error) {
	return debuginfo.Member(s.Scope, class, name)
}

// own is the collect list where the user gave none: what there is of the
// tracepoint's arguments, since the kernel has not made its record yet.
func (s *callScope) own() string {
	var list []string
	for _, name := range s.arguments {
		if v, err := s.Lookup(name); err == nil && v.Loc.Unavailable == "" {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}

// hinted adds to the hints of diagnostics.
func hinted(err error, hint string) error {
	add := func(d *lang.Diagnostic) *lang.Diagnostic {
		with := *d
		if with.Hint != "" {
			with.Hint += "; "
		}
		with.Hint += hint
		return &with
	}
	switch d := err.(type) {
	case *lang.Diagnostic:
		return add(d)
	case lang.Diagnostics:
		out := make(lang.Diagnostics, len(d))
		for i := range d {
			out[i] = add(d[i])
		}
		return out
	}
	return err
}

// functionsOf names the functions of some candidates.
func functionsOf(list []candidate) string {
	var names []string
	seen := map[string]bool{}
	for i := range list {
		if f := list[i].function; !seen[f] {
			seen[f] = true
			names = append(names, f)
		}
	}
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and others"
	}
	return strings.Join(names, ", ")
}

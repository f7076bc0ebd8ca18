package kernel

import (
	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// returned is the scope of a function that has returned: it has globals, but no variables of the function.
type returned struct{ debuginfo.Scope }

// gone returns why a variable of the function cannot be read.
const gone = "the function has returned, and its frame is gone"

func (r *returned) Lookup(name string) (*debuginfo.Variable, error) {
	v, err := r.Scope.Lookup(name)
	return dead(v), err
}

func (r *returned) LookupIn(scope, name string) (*debuginfo.Variable, error) {
	v, err := r.Scope.LookupIn(scope, name)
	return dead(v), err
}

// Resolve finds what a name means by the rules of the language. A member of the object
// is found by way of this, which is gone.
func (r *returned) Resolve(name string, types bool) (*debuginfo.Entity, error) {
	e, err := debuginfo.Resolve(r.Scope, name, types)
	if err != nil || e.Var == nil {
		return e, err
	}
	return &debuginfo.Entity{Var: dead(e.Var)}, nil
}

func (r *returned) Member(class *ctype.Type, name string) (*debuginfo.Entity, error) {
	return debuginfo.Member(r.Scope, class, name)
}

func (r *returned) PackageVariable(pkg, name string) *debuginfo.Variable {
	return debuginfo.PackageVariable(r.Scope, pkg, name)
}

func (r *returned) Args() []*debuginfo.Variable   { return allDead(r.Scope.Args()) }
func (r *returned) Locals() []*debuginfo.Variable { return allDead(r.Scope.Locals()) }
func (r *returned) CFA() []debuginfo.Op           { return nil }

func dead(v *debuginfo.Variable) *debuginfo.Variable {
	if v == nil || v.Kind != debuginfo.Local && v.Kind != debuginfo.Param {
		return v
	}
	d := *v
	d.Loc = debuginfo.Location{Unavailable: gone}
	return &d
}

func allDead(list []*debuginfo.Variable) []*debuginfo.Variable {
	out := make([]*debuginfo.Variable, len(list))
	for i, v := range list {
		out[i] = dead(v)
	}
	return out
}

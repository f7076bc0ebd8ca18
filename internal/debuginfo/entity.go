package debuginfo

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// Entity is what a name means at a place. Exactly one of Var, Enum, Type and
// Class is set.
type Entity struct {
	Var *Variable

	Enum  *ctype.Type // an enumerator of this enumeration
	Value int64

	Type *ctype.Type

	// Class: the name is a data member of this class, of the object that `this`
	// points to, or of a base class of its class. Found is where.
	Class *ctype.Type
	Found ctype.Found
}

// Resolver is a Scope that resolves any name by the rules of its language:
// variables, functions, enumerators, types and members of `this` hide one another
// as they do for the compiler.
type Resolver interface {
	// Resolve looks up a name, which may be qualified: "a::b", "::x". With types
	// only types count, as behind "struct". The error is a *NotFoundError, an
	// *AmbiguousError or a *MisusedError.
	Resolve(name string, types bool) (*Entity, error)
	// Member looks a name up in a class, as behind "->".
	Member(class *ctype.Type, name string) (*Entity, error)
}

// Packager is a Scope with variables of packages, whose names have a dot, as in Go.
type Packager interface {
	// PackageVariable finds pkg.name, nil when there is no such variable.
	PackageVariable(pkg, name string) *Variable
}

// PackageVariable finds pkg.name in any scope.
func PackageVariable(s Scope, pkg, name string) *Variable {
	if p, ok := s.(Packager); ok {
		return p.PackageVariable(pkg, name)
	}
	return nil
}

// AmbiguousError says that a name means several things.
type AmbiguousError struct {
	Name       string
	Candidates []string // with their scopes
}

func (e *AmbiguousError) Error() string {
	return quote(e.Name) + " is ambiguous here: " + strings.Join(e.Candidates, ", ")
}

// MisusedError says that a name is known but means nothing that has a value here.
type MisusedError struct {
	Name string
	Why  string
}

func (e *MisusedError) Error() string { return e.Why }

// Resolve resolves a name in any scope; in one that is no Resolver variables hide
// enumerators and types.
func Resolve(s Scope, name string, types bool) (*Entity, error) {
	if r, ok := s.(Resolver); ok {
		return r.Resolve(name, types)
	}
	var err error
	if !types {
		var v *Variable
		if v, err = s.Lookup(name); err == nil {
			return &Entity{Var: v}, nil
		}
		if t, n, ok := s.Enumerator(name); ok {
			return &Entity{Enum: t, Value: n}, nil
		}
	}
	t, typeErr := s.Type(ctype.Typedef, name)
	if typeErr == nil {
		return &Entity{Type: t}, nil
	}
	if err == nil {
		err = typeErr
	}
	return nil, err
}

// Member looks a name up in a class as seen from any scope.
func Member(s Scope, class *ctype.Type, name string) (*Entity, error) {
	if r, ok := s.(Resolver); ok && class.Strip().Ref != nil {
		return r.Member(class, name)
	}
	f, res, _ := class.Member(name, false, nil)
	switch {
	case res == ctype.Ambiguous:
		return nil, &AmbiguousError{Name: name, Candidates: []string{"several base classes have it"}}
	case res == ctype.Absent || f.Name != nil:
		return nil, &NotFoundError{What: "member", Name: name}
	}
	return &Entity{Class: class.Strip(), Found: f}, nil
}

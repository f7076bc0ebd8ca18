package report

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/lang"
)

// unknownNames are the names in an expression that mean a field; those that are no fields of any of the scopes are an error.
func unknownNames(x lang.Expr, from lang.Text, scopes []*scope) error {
	var bad lang.Diagnostics
	for _, leaf := range leaves(x, scopes) {
		known := slices.ContainsFunc(scopes, func(sc *scope) bool { return sc.knows(leaf.name) })
		if known {
			continue
		}
		var all []string
		var vars []*debuginfo.Variable
		seen := map[string]bool{}
		for _, sc := range scopes {
			for _, v := range sc.order {
				if !seen[v.Name] {
					seen[v.Name] = true
					all, vars = append(all, v.Name), append(vars, v)
				}
			}
		}
		for _, w := range words {
			all = append(all, "$"+w.name)
		}
		all = append(all, "$place", "$function")
		hint := lang.DidYouMean(lang.Nearest(leaf.name, all, 3))
		if hint == "" {
			hint = recordedHint(vars)
		}
		bad = bad.Add(from.At(leaf.span, fmt.Sprintf("no field %q was recorded", leaf.name), hint))
	}
	return bad.Err()
}

type leaf struct {
	name string
	span lang.Span
}

// leaves are the names in an expression that are not parts of a field of a scope.
func leaves(x lang.Expr, scopes []*scope) (list []leaf) {
	isType := func(name string) bool {
		return slices.ContainsFunc(scopes, func(sc *scope) bool { return sc.isType(name) })
	}
	x, d := lang.Decide(x, isType)
	if d != nil {
		return nil
	}
	lang.Replace(x, func(y lang.Expr) lang.Expr {
		form := lang.String(y)
		for _, sc := range scopes {
			if _, ok := sc.forms[form]; ok {
				return y
			}
		}
		for _, sc := range scopes {
			if of, i := sc.element(y); of != nil {
				if i != nil {
					list = append(list, leaves(i, scopes)...)
				}
				return y
			}
		}
		switch y := y.(type) {
		case *lang.Ident:
			list = append(list, leaf{y.Name, y.Span()})
		case *lang.Reg:
			list = append(list, leaf{"$" + y.Name, y.Span()})
		case *lang.Call:
			for _, a := range y.Args {
				list = append(list, leaves(a, scopes)...)
			}
			return y
		case *lang.Member:
			if y.Arrow {
				for _, sc := range scopes {
					if _, ok := sc.forms["(*"+lang.String(y.X)+")"]; ok {
						return y
					}
				}
			}
		}
		return nil
	})
	return list
}

func (sc *scope) knows(name string) bool {
	if sc.vars[name] != nil || slices.Contains([]string{"true", "false", "NULL", "nullptr"}, name) {
		return true
	}
	_, _, ok := sc.Enumerator(name)
	return ok || sc.isType(name)
}

// isUsers reports whether an error is one of the text of the user.
func isUsers(err error) bool {
	var d *lang.Diagnostic
	return errors.As(err, &d)
}

// reason is what an error of the user says, without the text that it points into.
func reason(err error) string {
	var list lang.Diagnostics
	if errors.As(err, &list) && len(list) > 0 {
		return list[0].Msg
	}
	var d *lang.Diagnostic
	if errors.As(err, &d) {
		return d.Msg
	}
	return err.Error()
}

// union has what the scopes of a trace have, of which there can be thousands.
type union struct {
	scopes []*scope
	forms  map[string]string
	elems  map[string]string
	types  map[string]bool // what isType has found
}

func newUnion(scopes []*scope) *union {
	u := &union{scopes: scopes, forms: map[string]string{}, elems: map[string]string{}, types: map[string]bool{}}
	for _, sc := range scopes {
		maps.Copy(u.forms, sc.forms)
		maps.Copy(u.elems, sc.elems)
	}
	return u
}

func (u *union) isType(name string) bool {
	is, ok := u.types[name]
	if !ok {
		is = slices.ContainsFunc(u.scopes, func(sc *scope) bool { return sc.isType(name) })
		u.types[name] = is
	}
	return is
}

// lacks are the fields in an expression that other scopes have, and this one has not, as they are written.
func (sc *scope) lacks(x lang.Expr, all *union) (list []string) {
	add := func(name string) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	unknown := func(y lang.Expr) bool {
		return slices.ContainsFunc(leaves(y, []*scope{sc}), func(l leaf) bool { return !sc.knows(l.name) })
	}
	x, d := lang.Decide(x, all.isType)
	if d != nil || !unknown(x) {
		return nil
	}
	lang.Replace(x, func(y lang.Expr) lang.Expr {
		if !unknown(y) {
			return y
		}
		forms := []string{lang.String(y)}
		if m, ok := y.(*lang.Member); ok && m.Arrow {
			forms = append(forms, "(*"+lang.String(m.X)+")")
		}
		for _, form := range forms {
			if name, ok := all.forms[form]; ok {
				add(name)
				return y
			}
		}
		if p, _ := pointed(y); p != nil {
			if name, ok := all.elems[lang.String(p)]; ok {
				add(name)
				return y
			}
		}
		switch y := y.(type) {
		case *lang.Ident:
			add(y.Name)
		case *lang.Reg:
			add("$" + y.Name)
		case *lang.Call:
			for _, a := range y.Args {
				for _, name := range sc.lacks(a, all) {
					add(name)
				}
			}
			return y
		}
		return nil
	})
	return list
}

// lackText says which fields a place lacks; "": none.
func lackText(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "no field " + strconv.Quote(names[0]) + " was recorded there"
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	return "no fields " + strings.Join(quoted, ", ") + " were recorded there"
}

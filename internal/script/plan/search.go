package plan

import (
	"fmt"
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
)

// mapOf is the map, and the key, of has_key(@m, key) and find(@m, key, $v).
func mapOf(x *script.Call) (*script.Map, script.Expr) {
	m, _ := x.Args[0].(*script.Map)
	return m, x.Args[1]
}

// findsAtSite reports whether has_key() and find() look into a map of numbers that may be at the sites.
func (w *translator) findsAtSite(x *script.Call) bool {
	m, _ := mapOf(x)
	return w.at != nil && m != nil && w.at.number(m.Name) != nil
}

// search collects what has_key() or find() has for a result.
func search(w *planner, x *script.Call, name string) {
	m, key := mapOf(x)
	has, ok := w.value(x)
	if !ok {
		w.drop(m)
		w.expr(key)
		if name == "find" {
			found(w, x)
		}
		return
	}
	if name == "has_key" {
		w.read(x, has, w.typeOf(x))
		return
	}
	v, isVar := x.Args[2].(*script.Var)
	k := w.at.number(m.Name)
	value, ok := w.mapRead(x, m, key)
	if !isVar || !ok {
		w.drop(m)
		found(w, x)
		return
	}
	w.read(v, has, w.typeOf(x))
	w.read(m, value, k.Value)
	now := known{}
	if c, ok := w.value(v); ok && len(c)+len(has)+len(value) <= maxText {
		if value = fitted(value, w.typeOf(v)); value != "" {
			now.c = "(" + has + " != 0 ? " + value + " : " + c + ")"
		}
	}
	setVariable(w, v.Name, w.typeOf(v), now, x)
}

// found notes that find() may set its variable.
func found(w *planner, x *script.Call) {
	w.expr(x.Args[1])
	if v, ok := x.Args[2].(*script.Var); ok {
		w.vars.set(v.Name, known{})
	}
}

// hasKey is whether a map at the sites has a key.
func (w *translator) hasKey(x script.Expr, _ string, _ []script.Expr) (string, bool) {
	call, ok := x.(*script.Call)
	if !ok || !w.findsAtSite(call) {
		return "", false
	}
	m, key := mapOf(call)
	k := atThisSite(w, m.Name)
	if k == nil {
		return "", false
	}
	parts, ok := w.key(k, key)
	if !ok {
		return "", false
	}
	return w.looked("@has", x, m, parts), true
}

// looked is what a site reads of a map: @map or @has. Other than in the condition of the hit, it is kept: the statements behind may
// change it.
func (w *translator) looked(read string, x script.Expr, m *script.Map, parts []string) string {
	k := w.at.maps[m.Name]
	c := strings.Join(append([]string{fmt.Sprintf("%s(%q", read, m.Name)}, parts...), ", ") + ")"
	if k.used = true; w.at.direct {
		w.at.pred[m.Name] = true
		return "(unsigned long)(" + c + ")"
	}
	return "(unsigned long)(" + w.keep(c, m.Name, x) + ")"
}

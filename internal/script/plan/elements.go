package plan

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

// A map that jalon has is not known at the site, except for what the same hit has put into it: jalon executes the hits one after the
// other, so between @m[key] = p and @m[key]->x of a hit nothing else changes the element. Of each map one element is known, the
// last one that was assigned: others may have the same key.

// assignElement notes what a hit puts into an element of a map.
func assignElement(w *planner, s *script.Assign, m *script.Map, key script.Expr) {
	k := known{}
	if text, ok := keyOf(w.translator, key); ok && s.Op == "" && len(text) <= maxText {
		if k = w.copied(s.Value, w.typeOf(s.Target)); k != (known{}) {
			k.key = text
		}
	}
	if key == nil && k == (known{}) {
		w.vars.forget(m.Name)
		return
	}
	w.vars.set(m.Name, k)
}

// elementValue is the value of an element: at the site, or what the hit has put there if that is a pointer. (All else jalon
// computes from the map.)
func (w *translator) elementValue(x script.Expr, m *script.Map, key script.Expr) (string, bool) {
	if c, ok := w.mapRead(x, m, key); ok {
		return c, true
	}
	if w.typeOf(x).Kind != types.Pointer {
		return "", false
	}
	k := w.vars.get(m.Name)
	text, ok := keyOf(w, key)
	return k.c, ok && k.c != "" && k.key == text
}

// keyOf is a key as C, to compare it with others.
func keyOf(w *translator, x script.Expr) (string, bool) {
	if x == nil {
		return "", true
	}
	if k := w.p.Consts[x]; k != nil && k.Kind == types.String {
		return "\"" + k.Str, true
	}
	if tuple, ok := x.(*script.Tuple); ok {
		var parts []string
		for _, e := range tuple.Elems {
			c, ok := keyOf(w, e)
			if !ok {
				return "", false
			}
			parts = append(parts, c)
		}
		return strings.Join(parts, "\x00"), true
	}
	c, ok := w.value(x)
	return c, ok
}

// forgetMaps makes what is known of elements of maps unknown.
func (s scopes) forgetMaps() {
	for _, scope := range s {
		for name := range scope {
			if strings.HasPrefix(name, "@") {
				scope[name] = known{}
			}
		}
	}
}

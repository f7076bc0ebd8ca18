package plan

import "maps"

// known is what is known of a variable: the C of its value, or of the object of which it has a copy. The zero value
// means that the value is not known as an expression of the site.
type known struct {
	c   string
	at  place
	key string // of the element of a map whose value it is
	// cell is the local of the variable, in a probe that is planned in parts.
	cell *cell
}

func (k known) size() int { return len(k.c) + len(k.at.name) + len(k.at.addr) }

// scopes are the variables of a probe, and the maps whose last change was an assignment to a known key, by their names. The innermost
// scope is the last.
type scopes []map[string]known

func (s *scopes) push() { *s = append(*s, map[string]known{}) }
func (s *scopes) pop()  { *s = (*s)[:len(*s)-1] }

func (s scopes) get(name string) known {
	for i := len(s) - 1; i >= 0; i-- {
		if k, ok := s[i][name]; ok {
			return k
		}
	}
	return known{}
}

// declare makes a variable in the innermost scope.
func (s scopes) declare(name string, k known) { s[len(s)-1][name] = k }

// set assigns to a variable; in the innermost scope if it is new.
func (s scopes) set(name string, k known) {
	for i := len(s) - 1; i >= 0; i-- {
		if _, ok := s[i][name]; ok {
			s[i][name] = k
			return
		}
	}
	s.declare(name, k)
}

// forget makes a variable's value unknown.
func (s scopes) forget(name string) {
	for i := len(s) - 1; i >= 0; i-- {
		if _, ok := s[i][name]; ok {
			s[i][name] = known{}
			return
		}
	}
}

func (s scopes) clone() scopes {
	out := make(scopes, len(s))
	for i, m := range s {
		out[i] = maps.Clone(m)
	}
	return out
}

// merge makes s what is known after one of two paths. cond is the C of the condition of the path s; "" if it is not
// known.
func (s scopes) merge(other scopes, cond string) {
	for i, m := range s {
		for name, a := range m {
			b, ok := other[i][name]
			switch {
			case a == b && ok:
			case !ok || a.key != b.key || a.c == "" || b.c == "" || cond == "" || a.size()+b.size()+len(cond) > maxText:
				m[name] = known{}
			default:
				m[name] = known{c: "(" + cond + " ? " + a.c + " : " + b.c + ")", key: a.key}
			}
		}
		for name := range other[i] { // assigned on the other path only
			if _, ok := m[name]; !ok {
				m[name] = known{}
			}
		}
	}
}

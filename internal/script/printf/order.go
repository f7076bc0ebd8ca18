package printf

import "cmp"

// Less orders values of one type: numbers by value, texts by their bytes, tuples by their elements.
func (v Value) Less(w Value) bool { return v.compare(w) < 0 }

func (v Value) compare(w Value) int {
	if v.kind == w.kind && (v.kind == symbolValue || v.kind == namedValue) && v.num == w.num {
		return cmp.Compare(v.str, w.str)
	}
	a, signed, ok1 := v.Number()
	b, _, ok2 := w.Number()
	switch {
	case v.kind == floatValue && w.kind == floatValue:
		return cmp.Compare(v.flt, w.flt)
	case ok1 && ok2 && signed:
		return cmp.Compare(int64(a), int64(b))
	case ok1 && ok2:
		return cmp.Compare(a, b)
	case len(v.list) > 0 || len(w.list) > 0:
		for i := range min(len(v.list), len(w.list)) {
			if c := v.list[i].compare(w.list[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(v.list), len(w.list))
	}
	return cmp.Compare(v.str, w.str)
}

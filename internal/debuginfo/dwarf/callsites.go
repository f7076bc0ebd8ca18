package dwarf

import "slices"

// callsIn are the calls in a function.
func (cs *calls) callsIn(f *fn) []call {
	if list, ok := cs.in[f.entry()]; ok {
		return list
	}
	list := callsBelow(f.d, f)
	if origin, ok := f.d.ref(atAbstractOrigin); ok {
		// gcc describes some calls of a function that it has also inlined in the function without an address.
		for _, c := range callsBelow(origin, f) {
			if inRanges(f.ranges, c.at) && !slices.ContainsFunc(list, func(own call) bool { return own.at == c.at }) {
				list = append(list, c)
			}
		}
	}
	if cs.in == nil {
		cs.in = map[uint64][]call{}
	}
	cs.in[f.entry()] = list
	return list
}

// callsBelow are the calls that an entry describes, as those in f.
func callsBelow(d die, f *fn) (list []call) {
	d.walk(func(e die, _ int) bool {
		switch e.ab.tag {
		case tagSubprogram:
			return false
		case tagCallSite, tagGNUCallSite:
			if c, ok := callOf(e, f); ok {
				list = append(list, c)
			}
			return false
		}
		return true
	})
	return list
}

func callOf(e die, f *fn) (c call, ok bool) {
	c = call{d: e, f: f, tail: e.flag(atCallTailCall) || e.flag(atGNUTailCall)}
	v, ok := e.attr(atCallReturnPC)
	if !ok {
		v, ok = e.attr(atLowPC)
	}
	if ok {
		c.pc, ok = v.addr()
		c.at = c.pc - 1
	} else if v, ok = e.attr(atCallPC); ok {
		c.at, ok = v.addr()
		ok = ok && c.tail // without a return address
	}
	return c, ok && plausible(c.at)
}

package dwarf

// Link-time optimisation. gcc -flto puts all machine code into units of its own,
// called <artificial>, one a partition. Entries there only complete those of the
// source files' units, which have the names, the types and the scopes but no
// addresses:
//
//	unit a.c                        unit <artificial>
//	  f                    <------    f: addresses
//	    static calls       <------      variable: location
//	  static counter       <------    variable: location
//
// A function that is inlined everywhere has an entry without addresses in
// <artificial>, with its static variables below it.

// source is the entry that d completes, in the end: the one in the source file's unit.
func (d die) source() die {
	for range 8 {
		o, ok := d.origin()
		if !ok {
			break
		}
		d = o
	}
	return d
}

// sourceUnit is the unit of the source file that the entry was written in: where
// its file-level names mean something. Units that only hold what others share
// (partial and type units) are not.
func (d die) sourceUnit() *unit {
	u := d.u
	for range 8 {
		o, ok := d.origin()
		if !ok {
			break
		}
		if d = o; d.u.head().tag == tagCompileUnit {
			u = d.u
		}
	}
	return u
}

// bare reports whether the unit has no code: with link-time optimisation the code is in another unit.
func (u *unit) bare() bool {
	root, ok := u.rootDie()
	return ok && root.ab.tag == tagCompileUnit && !root.ab.has(atLowPC) && !root.ab.has(atRanges)
}

// emitted finds the entry that gives the variable d of a bare unit its place.
// function is the entry of the function that d is declared in, if any.
func (in *info) emitted(d, function die) (out die, ok bool) {
	if d.located() || !d.u.bare() {
		return d, false
	}
	want := d.source().key()
	take := func(e die) bool {
		if e.ab.tag == tagVariable && e.located() && e.source().key() == want {
			out, ok = e, true
		}
		return !ok
	}
	if function.ab == nil {
		in.names().find(d.name(), isVarTag, take)
		return out, ok
	}
	home := function.source().key()
	in.names().find(function.name(), isFuncTag, func(f die) bool {
		if f.source().key() == home {
			f.walk(func(e die, _ int) bool { return take(e) && e.ab.tag == tagLexicalBlock })
		}
		return !ok
	})
	return out, ok
}

package dwarf

import (
	"slices"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// block is a function, an inlined copy or a lexical block: a region of code with
// the names declared in it.
type block struct {
	d        die
	inlined  bool
	function bool
	named    bool // declares something: GDB makes a block of it
	ranges   []debuginfo.Range
	parent   *block
	kids     []*block
	vars     []die // parameters and variables in declaration order
	types    []die
	imports  []die // using-directives and -declarations, namespace aliases
}

// maxBlockDepth bounds the nesting of blocks; deeper ones merge into their parent.
const maxBlockDepth = 200

// tree reads the function's blocks.
func (f *fn) tree() *block {
	if f.block == nil {
		root := &block{d: f.d, function: true, named: true, ranges: f.ranges}
		root.fill()
		f.block = root
	}
	return f.block
}

func (b *block) fill() {
	type open struct {
		b     *block
		depth int
	}
	stack := []open{{b, 0}}
	b.d.walk(func(e die, depth int) bool {
		for stack[len(stack)-1].depth >= depth {
			stack = stack[:len(stack)-1]
		}
		cur := stack[len(stack)-1].b
		kid, into := cur.add(e)
		if kid != nil {
			if len(stack) >= maxBlockDepth {
				return false
			}
			cur.kids = append(cur.kids, kid)
			stack = append(stack, open{kid, depth})
		}
		return into
	})
	b.inherit(0)
}

// add takes one entry into b. It returns the new block when the entry is one,
// and whether to read its children.
func (b *block) add(e die) (kid *block, into bool) {
	switch e.ab.tag {
	case tagCommonBlock: // Fortran: its variables are the routine's
		return nil, true
	case tagFormalParameter, tagVariable, tagConstant:
		b.vars = append(b.vars, e)
		b.named = b.named || len(e.nameBytes()) > 0
	case tagLexicalBlock, tagTryBlock, tagCatchBlock, tagInlinedSubroutine:
		r := e.pcRanges()
		if r == nil {
			// Without addresses at all its names belong to the outer block.
			return nil, e.ab.tag == tagLexicalBlock && !e.ab.has(atLowPC) && !e.ab.has(atRanges)
		}
		kid = &block{d: e, parent: b, ranges: r}
		if e.ab.tag == tagInlinedSubroutine && e.ab.has(atCallLine) && e.ab.has(atCallFile) {
			kid.inlined, kid.named = true, true
		}
		return kid, true
	case tagStructType, tagClassType, tagUnionType, tagEnumerationType, tagTypedef, tagBaseType:
		b.types = append(b.types, e)
		b.named = b.named || e.ab.has(atName)
	case tagTemplateType, tagTemplateValue:
		b.types = append(b.types, e)
	case tagImportedModule, tagImportedDecl:
		b.imports = append(b.imports, e)
	case tagLabel:
		b.named = b.named || len(e.nameBytes()) > 0
	}
	return nil, false
}

// trackingOf ranks the entries that GCC sometimes makes twice for one parameter (interprocedural
// optimisation): the one with a location list follows the value through the function, the other describes
// how it was passed.
func trackingOf(d die) int {
	switch {
	case hasLocList(d):
		return 2
	case d.ab.has(atLocation):
		return 1
	}
	return 0
}

// isParam reports whether a variable is a parameter, in the source at least.
func (d die) isParam() bool {
	for n := 0; n < 4; n++ {
		if d.ab.tag == tagFormalParameter {
			return true
		}
		o, ok := d.origin()
		if !ok {
			break
		}
		d = o
	}
	return false
}

type dieKey struct {
	u   *unit
	off uint64
}

func (d die) key() dieKey { return dieKey{d.u, d.off} }

// inherit adds to a concrete block the names that only its abstract origin declares (optimised out here), in
// the order of the origin.
func (b *block) inherit(depth int) {
	if depth > maxBlockDepth {
		return
	}
	for _, k := range b.kids {
		k.inherit(depth + 1)
	}
	v, ok := b.d.attr(atAbstractOrigin)
	if !ok {
		return
	}
	origin, ok := v.die()
	if !ok {
		return
	}
	concrete := b.vars
	own, rest := b.byOrigin()
	covered := b.coveredBlocks()
	b.vars = nil
	var open []int // entries of the origin that no concrete entry completes
	plain := 0     // lexical blocks of the concrete tree that name no origin
	for _, k := range b.kids {
		if k.d.ab.tag == tagLexicalBlock && !k.d.ab.has(atAbstractOrigin) {
			plain++
		}
	}
	origin.walk(func(e die, _ int) bool {
		switch e.ab.tag {
		case tagCommonBlock:
			return true
		case tagFormalParameter, tagVariable, tagConstant:
			key := e.source().key()
			if c, ok := own[key]; ok {
				delete(own, key)
				e = c
			} else {
				open = append(open, len(b.vars))
			}
			b.vars = append(b.vars, e)
			b.named = b.named || len(e.nameBytes()) > 0
		case tagLexicalBlock:
			if covered[e.key()] {
				return false
			}
			if plain > 0 {
				plain--
				return false
			}
			return true
		case tagStructType, tagClassType, tagUnionType, tagEnumerationType, tagTypedef:
			b.types = append(b.types, e)
			b.named = b.named || e.ab.has(atName)
		case tagTemplateType, tagTemplateValue:
			b.types = append(b.types, e)
		case tagImportedModule, tagImportedDecl:
			b.imports = append(b.imports, e)
		case tagLabel:
			b.named = b.named || len(e.nameBytes()) > 0
		}
		return false
	})
	b.vars = append(b.vars, rest...)
	for _, e := range concrete {
		if c, ok := own[e.source().key()]; ok && c.key() == e.key() {
			open = b.complete(e, open)
		}
	}
}

// complete adds a concrete entry whose origin is no child of the block's. With link-time optimisation an
// inlined copy may name one unit's entry of a function that several have, and its variables those of another:
// then e takes the place of the variable of its name.
func (b *block) complete(e die, open []int) []int {
	for i, k := range open {
		if v := b.vars[k]; v.isParam() == e.isParam() && v.name() == e.name() {
			b.vars[k] = e
			return slices.Delete(open, i, i+1)
		}
	}
	b.vars = append(b.vars, e)
	return open
}

// byOrigin maps the source's variables to their concrete entries; rest are the entries without an abstract
// origin. With link-time optimisation some entries of an inlined copy refer to the function's entry in the
// artificial unit and others to that in the source file's: both mean the same variable.
func (b *block) byOrigin() (own map[dieKey]die, rest []die) {
	own = map[dieKey]die{}
	for _, e := range b.vars {
		if o, ok := e.attr(atAbstractOrigin); ok {
			if _, ok := o.die(); ok {
				key := e.source().key()
				if first, dup := own[key]; !dup || trackingOf(e) > trackingOf(first) {
					own[key] = e
				}
				continue
			}
		}
		rest = append(rest, e)
	}
	return own, rest
}

// coveredBlocks are the abstract origins of the concrete blocks below b.
func (b *block) coveredBlocks() map[dieKey]bool {
	m := map[dieKey]bool{}
	var mark func(b *block, depth int)
	mark = func(b *block, depth int) {
		for _, k := range b.kids {
			if v, ok := k.d.attr(atAbstractOrigin); ok && !k.inlined {
				if o, ok := v.die(); ok {
					m[o.key()] = true
				}
			}
			if !k.inlined && depth < maxBlockDepth {
				mark(k, depth+1)
			}
		}
	}
	mark(b, 0)
	return m
}

// find is the innermost block whose ranges hold pc. Blocks that declare nothing
// are passed over when gdb is set, as GDB makes none of them.
func (b *block) find(pc uint64, gdb bool) *block {
	for _, k := range b.kids {
		if r := k.find(pc, gdb); r != nil {
			return r
		}
	}
	if (b.named || !gdb) && inRanges(b.ranges, pc) {
		return b
	}
	return nil
}

// owner is the function or inlined copy that b belongs to.
func (b *block) owner() *block {
	for b.parent != nil && !b.inlined && !b.function {
		b = b.parent
	}
	return b
}

// outermost is the concrete function around b.
func (b *block) outermost() *block {
	for b.parent != nil {
		b = b.parent
	}
	return b
}

package ir

// narrowPass removes extensions that do not change a value of known size, and extensions whose high bytes are
// not used.
func narrowPass(p *Program) bool {
	n := &narrower{folder: folder{newRewriter(p)}, uses: countUses(p)}
	return n.run(n.instr, nil)
}

type narrower struct {
	folder
	uses []int
}

func (n *narrower) instr(i Instr) {
	before := i
	if i.Op.IsCompare() {
		n.compare(&i)
	}
	a, b := seen(&i)
	i.A, i.B = n.strip(i.A, a), n.strip(i.B, b)
	if i.A != before.A {
		n.uses[i.A]++
	}
	if i.B != before.B {
		n.uses[i.B]++
	}
	switch i.Op {
	case ZExt:
		if n.facts[i.A].u <= 8*i.W {
			n.drop(i)
			return
		}
	case SExt:
		if n.facts[i.A].s <= 8*i.W {
			n.drop(i)
			return
		}
		if n.intoLoad(i) {
			return
		}
	}
	if i != before {
		n.changed = true
	}
	n.keep(i)
}

// drop replaces the result of i by A.
func (n *narrower) drop(i Instr) {
	n.uses[i.A] += n.uses[i.Dst] - 1
	n.replace(i.Dst, i.A)
}

// seen is how many low bytes of A and B the operation looks at; 8 when all.
func seen(i *Instr) (a, b uint8) {
	info := i.Op.Info()
	return info.AReads.of(i.W), info.BReads.of(i.W)
}

// strip looks through operations that only change bytes from w on.
func (n *narrower) strip(v Value, w uint8) Value {
	if v == None || w >= 8 {
		return v
	}
	for {
		d := n.def(v)
		switch {
		case (d.Op == SExt || d.Op == ZExt) && d.W >= w:
			v = d.A
		case d.Op == And && d.W >= w && n.is(d.B, w, -1):
			v = d.A
		default:
			return v
		}
	}
}

// compare compares 4 bytes instead of 8 when both operands are extensions of
// their low 4 alike. (Sign extension keeps the order of unsigned numbers too.)
func (n *narrower) compare(i *Instr) {
	if i.W != 8 {
		return
	}
	a, b := n.facts[i.A], n.facts[i.B]
	signs := a.s <= 32 && b.s <= 32
	zeros := a.u <= 32 && b.u <= 32 && i.Op != SLt && i.Op != SLe
	if signs || zeros {
		i.W = 4
	}
}

// intoLoad lets a load do the sign extension if the extension is its only use.
func (n *narrower) intoLoad(i Instr) bool {
	d := n.def(i.A)
	if d.Op != Load || d.W != i.W || n.uses[i.A] != 1 {
		return false
	}
	for k := range n.out {
		if n.out[k].Dst == i.A {
			n.out[k].Signed = true
			n.defs[i.A] = n.out[k]
			n.facts[i.A] = n.factOf(&n.out[k])
			n.drop(i)
			return true
		}
	}
	return false // in another block
}

package ir

// csePass merges equal operations: the later one takes the result of an earlier
// one that is defined on every way to it. Reads of the traced program's
// memory are among them. We never write there, and where the first result is
// defined the first read succeeded, so the second cannot fault. (A thread
// that writes between the two is as if the second read had come earlier.)
func csePass(p *Program) bool {
	c := &cse{rewriter: newRewriter(p), found: map[cseKey][]Value{}}
	c.scope = newScope(p)
	return c.run(c.instr, nil)
}

type cse struct {
	*rewriter
	found map[cseKey][]Value // definitions, in order; not all dominate the present point
}

// cseKey is what makes operations equal. Where a fault leads is not part of it.
type cseKey struct {
	op     Op
	w      uint8
	signed bool
	class  Class // of the result
	a, b   Value
	imm    int64
	data   string
}

func (c *cse) instr(i Instr) {
	info := i.Op.Info()
	if i.Dst == None || !info.Pure && !info.Reads {
		c.keep(i)
		return
	}
	key := cseKey{i.Op, i.W, i.Signed, c.p.Classes[i.Dst], i.A, i.B, i.Imm, i.Data}
	if info.Commutes && key.a > key.b {
		key.a, key.b = key.b, key.a
	}
	if v := c.lookup(key); v != None {
		c.replace(i.Dst, v)
		return
	}
	if i.Op == Load && i.W < 8 {
		// The same bytes extended the other way: a register operation instead.
		other := key
		other.signed = !key.signed
		if v := c.lookup(other); v != None {
			op := ZExt
			if i.Signed {
				op = SExt
			}
			c.changed = true
			c.instr(Instr{Op: op, W: i.W, Dst: i.Dst, A: v, B: None, Fault: NoBlock})
			return
		}
	}
	c.found[key] = append(c.found[key], i.Dst)
	c.keep(i)
}

// lookup finds an equal operation that dominates the present point.
func (c *cse) lookup(key cseKey) Value {
	for _, v := range c.found[key] {
		if c.scope.has(v) {
			return v
		}
	}
	return None
}

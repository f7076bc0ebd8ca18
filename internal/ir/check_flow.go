package ir

// recordState is the set of states in which the record can be at a point, one
// bit each, with the smallest room that can be reserved there.
type recordState struct {
	none, reserved, committed bool
	room                      int64 // when reserved
}

func (s recordState) only() string {
	switch s {
	case recordState{none: true}:
		return "none"
	case recordState{committed: true}:
		return "committed"
	}
	if s.reserved && !s.none && !s.committed {
		return "reserved"
	}
	return "mixed"
}

func (s *recordState) join(t recordState) {
	if t.reserved && (!s.reserved || t.room < s.room) {
		s.room = t.room
	}
	s.none = s.none || t.none
	s.reserved = s.reserved || t.reserved
	s.committed = s.committed || t.committed
}

// flow checks what depends on the ways through the program: dominance and the
// state of the record. It runs after shape, so all indices are good.
func (c *checker) flow() {
	sc := newScope(c.p)
	records := make([]recordState, len(c.p.Blocks))
	records[0].none = true
	for id, b := range c.p.Blocks {
		c.block = BlockID(id)
		sc.enter(c.block)
		rec := records[id]
		leave := func(to BlockID) {
			sc.leave(to)
			if sc.reached {
				records[to].join(rec)
			}
		}
		for n := range b.Instrs {
			i := &b.Instrs[n]
			c.where = ""
			if c.uses(sc, i); c.err != nil {
				return
			}
			if i.Fault != NoBlock {
				leave(i.Fault)
			}
			if sc.reached {
				c.record(&rec, i)
			}
			if i.Dst != None {
				sc.define(i.Dst)
			}
		}
		c.where = ""
		b.Term.Uses(func(v *Value) { c.available(sc, *v) })
		b.Term.edges(func(e *Edge) { leave(e.To) })
		if b.Term.Kind == Exit && rec.reserved { // never in a block not reached
			c.fail("exit with a record that is not committed")
		}
		if c.err != nil {
			return
		}
	}
}

func (c *checker) uses(sc *scope, i *Instr) {
	i.Uses(func(v *Value) {
		if !sc.has(*v) {
			c.where = c.p.InstrString(i)
			c.available(sc, *v)
		}
	})
}

func (c *checker) available(sc *scope, v Value) {
	if sc.has(v) {
		return
	}
	if !c.defs.has(int(v)) {
		c.fail("v%d is never defined", v)
		return
	}
	c.fail("v%d is used where its definition does not dominate", v)
}

// record moves the state of the record over i.
func (c *checker) record(s *recordState, i *Instr) {
	info := i.Op.Info()
	if i.Op != Reserve && !info.Record {
		return
	}
	state := s.only()
	bad := func(format string, args ...any) {
		c.where = c.p.InstrString(i)
		c.fail(format, args...)
	}
	if i.Op == Reserve {
		if state != "none" {
			bad("a record may be reserved already (%s)", state)
		}
		*s = recordState{reserved: true, room: i.Imm}
		return
	}
	switch {
	case state != "reserved":
		bad("there must be a reserved, uncommitted record on every path (%s)", state)
	case i.Op == Commit:
		*s = recordState{committed: true}
	case i.Imm+c.p.Slot(i) > s.room:
		bad("the slot ends at %d, behind the %d reserved bytes", i.Imm+c.p.Slot(i), s.room)
	}
}

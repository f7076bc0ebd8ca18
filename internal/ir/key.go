package ir

import encoding "encoding/binary"

// Unnamed is a copy of the program without its name and the notes of its blocks, which have no effect at a hit.
func (p *Program) Unnamed() *Program {
	c := *p
	c.Name, c.Blocks = "", make([]*Block, len(p.Blocks))
	for i, blk := range p.Blocks {
		b := *blk
		b.Note = ""
		c.Blocks[i] = &b
	}
	return &c
}

// Key is the same for two programs exactly if they are the same, with all names and notes.
func (p *Program) Key() string {
	b := make([]byte, 0, 1024)
	number := func(list ...int64) {
		for _, v := range list {
			b = encoding.AppendVarint(b, v)
		}
	}
	text := func(s string) {
		number(int64(len(s)))
		b = append(b, s...)
	}
	values := func(list []Value) {
		number(int64(len(list)))
		for _, v := range list {
			number(int64(v))
		}
	}
	edge := func(e *Edge) {
		number(int64(e.To))
		values(e.Args)
	}
	text(p.Name)
	number(int64(len(p.Classes)))
	for _, c := range p.Classes {
		b = append(b, byte(c))
	}
	number(int64(len(p.Maps)))
	for _, m := range p.Maps {
		text(m.Name)
		number(int64(m.Words), int64(m.Slots), int64(m.Limit), int64(m.More))
		b = append(b, bit(m.Single), bit(m.Cells), bit(m.Deletes), bit(m.Shared))
	}
	for _, blk := range p.Blocks {
		text(blk.Note)
		values(blk.Params)
		number(int64(len(blk.Instrs)))
		for i := range blk.Instrs {
			in := &blk.Instrs[i]
			b = append(b, byte(in.Op), in.W, bit(in.Signed))
			number(int64(in.Dst), int64(in.A), int64(in.B), in.Imm, in.Aux, int64(in.Fault))
			text(in.Data)
		}
		t := &blk.Term
		b = append(b, byte(t.Kind), bit(t.Unlikely))
		number(int64(t.Cond))
		edge(&t.Then)
		edge(&t.Else)
	}
	return string(b)
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

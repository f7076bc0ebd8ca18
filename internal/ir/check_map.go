package ir

import (
	"fmt"
)

// maps checks the declarations of maps.
func (c *checker) maps() {
	if len(c.p.Maps) > MaxMaps {
		c.err = fmt.Errorf("%d maps are more than %d", len(c.p.Maps), MaxMaps)
	}
	for n, m := range c.p.Maps {
		switch {
		case m.Words < 0 || m.Words > MaxMapWords && !m.Cells || m.Words > MaxCellWords:
			c.err = fmt.Errorf("map %d: %d words of value", n, m.Words)
		case m.More < 0 || m.More > MaxKeyWords-2 || m.More > 0 && m.Single:
			c.err = fmt.Errorf("map %d: %d more words of a key", n, m.More)
		case m.Limit < 0 || m.Limit > 0 && m.Single:
			c.err = fmt.Errorf("map %d: a limit of %d keys", n, m.Limit)
		case m.Slots < 1 || m.Slots > MaxMapSlots || m.Slots&(m.Slots-1) != 0:
			c.err = fmt.Errorf("map %d: %d slots are no power of two up to %d", n, m.Slots, MaxMapSlots)
		}
	}
}

// onMap checks the number of the map, and of the word.
func (c *checker) onMap(i *Instr) {
	if i.Aux < 0 || i.Aux >= int64(len(c.p.Maps)) {
		c.fail("there is no map %d", i.Aux)
		return
	}
	m := &c.p.Maps[i.Aux]
	if i.Op.Info().has('i') && (i.Imm < 0 || i.Imm >= int64(m.Words)) {
		c.fail("a value of map %d has no word %d", i.Aux, i.Imm)
	}
	if of, ok := cellsOnly[i.Op]; ok && of != m.Cells {
		c.fail("the cells of map %d: %t", i.Aux, m.Cells)
	}
	if i.Op.Info().Result == SlotResult && c.key&m.keyWords() != m.keyWords() {
		c.fail("words of the key are not set in this block")
	}
}

// cellsOnly says of operations whether they need Map.Cells, or must not have it.
var cellsOnly = map[Op]bool{MapGet: false, MapSet: false, MapCount: true, MapMax: true}

// keyWords is the set of words that KeyWord and KeyText set.
func (m *Map) keyWords() uint64 { return (1<<m.More - 1) << 2 }

// setsKey notes the words of the key that i sets, n from Imm on.
func (c *checker) setsKey(i *Instr, n int64) {
	if n < 1 || n > MaxKeyWords || i.Imm < 2 || i.Imm > MaxKeyWords-n {
		c.fail("there are no such words of a key")
		return
	}
	c.key |= (1<<n - 1) << i.Imm
}

// isSlot reports whether v is a slot of a map.
func (c *checker) isSlot(v Value) bool {
	_, ok := c.slots[v]
	return ok
}

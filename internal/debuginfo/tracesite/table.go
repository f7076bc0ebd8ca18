package tracesite

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/patch"
)

// The jump table: section __jump_table of modules and of some images, a part of
// .rodata between two symbols in others.
const (
	tableSection = "__jump_table"
	startSymbol  = "__start___jump_table"
	stopSymbol   = "__stop___jump_table"
	// entrySize is that of struct jump_entry { s32 code, target; long key; }, all
	// three relative to the member's own address.
	entrySize = 16
	// keyFlags are the bits of the key's word that do not belong to the address: the branch's default, and
	// whether it is in start-up code.
	keyFlags = 3
	maxTable = 64 << 20
)

func word(b []byte) uint64 { return binary.LittleEndian.Uint64(b) }

// table is the jump table's content; nil if the image has none.
func (k *kernel) table() []byte {
	if s, ok := k.f.Section(tableSection); ok && s.Alloc && s.Vaddr != 0 {
		k.start, k.stop = s.Vaddr, s.Vaddr+s.Size
	}
	if k.start == 0 || k.stop <= k.start || k.stop-k.start > maxTable {
		return nil
	}
	b := k.f.ReadVaddr(k.start, int(k.stop-k.start))
	if uint64(len(b)) != k.stop-k.start {
		return nil
	}
	return b[:len(b)-len(b)%entrySize]
}

// entry is one static branch.
type entry struct{ code, target, key uint64 }

// entries decodes the table.
func (k *kernel) entries(b []byte) []entry {
	out := make([]entry, 0, len(b)/entrySize)
	for at := k.start; len(b) >= entrySize; at, b = at+entrySize, b[entrySize:] {
		rel := func(off int) uint64 {
			return at + uint64(off) + uint64(int64(int32(binary.LittleEndian.Uint32(b[off:]))))
		}
		out = append(out, entry{rel(0), rel(4), at + 8 + word(b[8:])&^keyFlags})
	}
	return out
}

// fromTable lists the branches with keys in tracepoints.
func (k *kernel) fromTable(b []byte) []Site {
	all := k.entries(b)
	for _, e := range all {
		k.nops[e.code] = true
	}
	var out []Site
	for _, e := range all {
		name, ok := k.eventAt(e.key)
		if !ok || !k.f.IsCode(e.code) || !k.f.IsCode(e.target) {
			continue
		}
		s := Site{Event: name, Nop: e.code, Branch: e.target}
		in, err := patch.Decode(k.f.ReadVaddr(e.code, 15), e.code)
		if err != nil || in.Len != 2 && in.Len != 5 || in.Class != patch.Nop && in.Class != patch.Jmp {
			continue // the kernel would not accept it either
		}
		s.NopLen = in.Len
		if in.Class == patch.Jmp { // the default is the enabled branch
			if in.Target != e.target {
				continue
			}
		}
		s.Call = k.callFrom(s.Branch, name)
		k.finish(&s)
		out = append(out, s)
	}
	return out
}

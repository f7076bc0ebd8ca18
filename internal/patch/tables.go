package patch

import (
	"encoding/binary"
	"slices"
)

// tableTargets lists the targets of jump tables of 4-byte offsets of all functions in the module. A table
// is at an address that some lea computes. It is read until an entry leads out of the code, or the next
// table begins: an address that a 64-bit lea computes and whose entry leads into the code.
//
// Compilers' tables lead into their own function. Debug information describes the parts of a function;
// without it, the cold part looks like another function.
func (t *Text) tableTargets() []uint64 {
	if t.tabled {
		return t.tables
	}
	t.tabled = true
	var all, sure []uint64
	for _, r := range t.Code {
		b := r.Bytes
		for i := 0; i+6 <= len(b); i++ {
			if b[i] != 0x8d || b[i+1]&0xc7 != 0x05 {
				continue
			}
			f, _ := fieldAt(r, i+2)
			if _, ok := t.entry(f.to, t.tableAt(f.to)); !ok {
				continue
			}
			all = append(all, f.to)
			if i > 0 && b[i-1]&0xfb == 0x48 && f.to%4 == 0 {
				sure = append(sure, f.to)
			}
		}
	}
	slices.Sort(sure)
	slices.Sort(all)
	for _, table := range slices.Compact(all) {
		b := t.tableAt(table)
		if i, _ := slices.BinarySearch(sure, table+1); i < len(sure) && sure[i]-table < uint64(len(b)) {
			b = b[:sure[i]-table]
		}
		for n := 0; n < maxEntries; n++ {
			to, ok := t.entry(table, b)
			if !ok {
				break
			}
			t.tables = append(t.tables, to)
			b = b[4:]
		}
	}
	slices.Sort(t.tables)
	t.tables = slices.Compact(t.tables)
	return t.tables
}

// entry gives where an entry of a table leads, if that is into the code.
func (t *Text) entry(table uint64, b []byte) (uint64, bool) {
	if len(b) < 4 {
		return 0, false
	}
	to := table + uint64(int64(int32(binary.LittleEndian.Uint32(b))))
	return to, len(t.slice(to, to+1).Bytes) != 0
}

// tableAt is the data, or the code, from an address on.
func (t *Text) tableAt(addr uint64) []byte {
	for _, list := range [][]Region{t.data(), t.Code} {
		for _, r := range list {
			if addr >= r.Addr && addr < r.end() {
				return r.Bytes[addr-r.Addr:]
			}
		}
	}
	return nil
}

// data is nil too where it cannot be read; then nothing is proven any more.
func (t *Text) data() []Region {
	if t.Data == nil {
		return nil
	}
	list, err := t.Data()
	t.unread = t.unread || err != nil
	return list
}

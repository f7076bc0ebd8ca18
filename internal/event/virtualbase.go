package event

import (
	"encoding/binary"
	"errors"

	"github.com/jalon-trace/jalon/internal/ctype"
)

// VirtualBase is a virtual base of a recorded object of C++, or of a part of it. It may be anywhere in memory: its
// distance from the object is in the table to which the object's first word points, so it has a slot of its own:
//
//	+0   the object's first word (if the status is Unreadable, the fault address)
//	+8   the distance, which was read from the table
//	+16  the bytes of the base, as far as members of its own reach
type VirtualBase struct {
	// In and Index name the field in the class of the object that has the base; At is this object's offset in
	// bytes from the start of the value, or of the virtual base, that has the list.
	In    *ctype.Type
	Index int
	At    int64
	// Again marks a base that is a part of the same object as an earlier one of that class: it is the same base, and
	// it is not shown again. The slot is not used.
	Again        bool
	Offset, Size int
	StatusOffset int           // as Field.StatusOffset
	Bases        []VirtualBase // of the base itself
}

// BaseHeader is the size of the words before the bytes of a virtual base.
const BaseHeader = 16

// BaseValue is a virtual base in an event, or the reason why there is none.
type BaseValue struct {
	Status   Status
	Addr     uint64 // Unreadable: the address; OK: the address of the base, if that of the object is known
	Table    uint64 // the object's first word
	Distance int64
	Data     []byte
}

// Base returns a virtual base of a value; object is the address of the object that has it, 0 if unknown.
func (v *Value) Base(b *VirtualBase, object uint64) BaseValue {
	if v.event == nil {
		return BaseValue{Status: Unsupported}
	}
	slot, ok := v.event.slot(b.Offset, b.Size)
	if !ok || len(slot) < BaseHeader || b.Again {
		return BaseValue{Status: Unsupported}
	}
	first := binary.LittleEndian.Uint64(slot)
	if s, _ := v.event.status(b.StatusOffset); s != OK {
		return BaseValue{Status: s, Addr: first}
	}
	out := BaseValue{Table: first, Distance: int64(binary.LittleEndian.Uint64(slot[8:])), Data: slot[BaseHeader:]}
	if object != 0 {
		out.Addr = object + uint64(out.Distance)
	}
	return out
}

// baseJSON is a VirtualBase in a schema file.
type baseJSON struct {
	In     int        `json:"in"`
	Index  int        `json:"index,omitempty"`
	At     int64      `json:"at,omitempty"`
	Again  bool       `json:"again,omitempty"`
	Offset int        `json:"offset,omitempty"`
	Size   int        `json:"size,omitempty"`
	Status int        `json:"status,omitempty"`
	Bases  []baseJSON `json:"bases,omitempty"`
}

func (e *encoder) bases(list []VirtualBase) (out []baseJSON) {
	for i := range list {
		b := &list[i]
		out = append(out, baseJSON{e.types.add(b.In, true), b.Index, b.At, b.Again, b.Offset, b.Size, b.StatusOffset + 1, e.bases(b.Bases)})
	}
	return out
}

// maxBases bounds the virtual bases of a field in a schema file, with those of bases.
const maxBases = 1 << 16

// bases reads a list of a file; left is the number of bases that the field may still have.
func (d *decoder) bases(list []baseJSON, left *int) (out []VirtualBase, err error) {
	if *left -= len(list); *left < 0 {
		return nil, errors.New("it has too many virtual bases")
	}
	for i := range list {
		x := &list[i]
		if !inRecord(x.Offset) || !inRecord(x.Size) || !inRecord(x.Status) {
			return nil, errors.New("a virtual base is outside the record")
		}
		b := VirtualBase{Index: x.Index, At: x.At, Again: x.Again, Offset: x.Offset, Size: x.Size, StatusOffset: x.Status - 1}
		if b.In, err = d.types.get(x.In); err != nil {
			return nil, err
		}
		if b.Bases, err = d.bases(x.Bases, left); err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

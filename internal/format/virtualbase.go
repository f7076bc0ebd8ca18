package format

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

// bases are the virtual bases of a value. The parts of the value share it; a virtual base has one of its own.
type bases struct {
	list   []event.VirtualBase
	value  *event.Value
	symbol func(addr uint64) string
}

// find returns base class number i of class s, of the object at byte offset at; nil if it was not recorded.
func (b *bases) find(s *ctype.Type, i int, at int64) *event.VirtualBase {
	if b == nil {
		return nil
	}
	for k := range b.list {
		if x := &b.list[k]; x.In == s && x.Index == i && x.At == at {
			return x
		}
	}
	return nil
}

// read returns a virtual base, of an object at address object (0 if unknown).
func (b *bases) read(x *event.VirtualBase, object uint64) (event.BaseValue, bool) {
	v := b.value.Base(x, object)
	return v, v.Status == event.OK && b.isTable(v.Table, x)
}

// isTable reports whether the object's first word points into a table of virtual functions and bases, which then has
// the distance too. In an object that is not constructed yet, or is destroyed, the word may be anything; a word that
// cannot be checked, because nothing has a name there, is not believed.
func (b *bases) isTable(word uint64, x *event.VirtualBase) bool {
	if b.symbol == nil || word%8 != 0 || x.In == nil {
		return false
	}
	fields := x.In.Fields()
	if x.Index < 0 || x.Index >= len(fields) {
		return false
	}
	// A table may end where the word points: the word before is the last of the table.
	last, _, _ := strings.Cut(b.symbol(word-8), "+")
	first, _, _ := strings.Cut(b.symbol(word+uint64(fields[x.Index].VtableOffset)), "+")
	if last != first {
		return false
	}
	for _, kind := range []string{"vtable for ", "construction vtable for ", "_ZTV", "_ZTC"} {
		if strings.HasPrefix(last, kind) {
			return true
		}
	}
	return false
}

const unavailable = "<unavailable>"

// virtualBase returns base class number i of the object it of class s, or the text of the reason why it is
// missing; again: it was shown before.
func (it item) virtualBase(s *ctype.Type, i int) (base item, again bool, missing string) {
	x := it.bases.find(s, i, it.gaps.at/8)
	if x == nil || x.Again {
		return item{}, x != nil, unavailable
	}
	object := uint64(0)
	if it.placed {
		object = it.addr
	}
	v, ok := it.bases.read(x, object)
	switch {
	case v.Status == event.Unreadable:
		return item{}, false, string(appendStatus(nil, v.Status, v.Addr, ""))
	case !ok:
		return item{}, false, unavailable
	}
	own := *it.bases
	own.list = x.Bases
	return item{data: v.Data, addr: v.Addr, placed: v.Addr != 0, up: it.up, bases: &own}, false, ""
}

// Partly returns why parts of a value are missing ("partly optimised out"), or "".
func Partly(v *event.Value, symbol func(addr uint64) string) string {
	if v.Field == nil || v.Status != event.OK {
		return ""
	}
	if len(v.Field.Gaps) > 0 {
		if v.Field.Reason != "" {
			return "partly " + v.Field.Reason
		}
		return "partly " + event.Explain(event.OptimisedOut, 0, "")
	}
	if why := (&bases{v.Field.Bases, v, symbol}).missing(v.Field.Bases); why != "" {
		return why
	}
	return (&texts{list: v.Field.Texts, value: v}).missing()
}

func (b *bases) missing(list []event.VirtualBase) string {
	for i := range list {
		x := &list[i]
		if x.Again {
			continue
		}
		v, ok := b.read(x, 0)
		if !ok {
			why := "the object does not point to a table that has it"
			if b.symbol == nil {
				why = "whether the object points to its table is not known without the program's file"
			}
			if v.Status != event.OK {
				why = event.Explain(v.Status, v.Addr, "")
			}
			return "partly unavailable: a virtual base of " + x.In.Name + ": " + why
		}
		if why := b.missing(x.Bases); why != "" {
			return why
		}
	}
	return ""
}

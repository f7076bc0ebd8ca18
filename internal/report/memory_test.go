package report

import (
	"encoding/binary"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
	"github.com/jalon-trace/jalon/internal/ring"
)

// TestContentRead: expressions read what the parts of a recorded object lead to, and nothing beside it: a string with characters of its own
// beside the pointer, a list with pointers to its begin, end and room, and a text at a pointer.
func TestContentRead(t *testing.T) {
	const text, list, chars = 0x7000_1000, 0x7000_2000, 0x7000_3000
	object := &ctype.Type{Kind: ctype.Struct, Name: "object", Size: 24}
	three := &ctype.Type{Kind: ctype.Struct, Name: "three", Size: 56}
	at := ring.RecHeader
	part := func(in *ctype.Type, from int64, of *ctype.Type, elements bool) event.MemberText {
		offset := ring.RecHeader + int(three.Size) + int(from)
		return event.MemberText{In: in, At: from, Chars: of, Content: in == object, Elements: elements, Offset: offset, Size: 24, StatusOffset: -1}
	}
	s := &event.Schema{Place: "f", RecordSize: at + 56 + 24 + 48 + 8, Fields: []event.Field{{
		Name: "x", Type: three, Kind: event.Fixed, Offset: at, Size: int(three.Size), StatusOffset: -1, StrStatusOffset: -1,
		Texts: []event.MemberText{part(object, 0, ctype.CharT, false), part(object, 24, ctype.IntT, true), part(charPtr, 48, ctype.CharT, false)},
	}}}
	raw := make([]byte, s.RecordSize)
	for i, w := range []uint64{text, 3, 0x63626100, list, list + 8, list + 16, chars} {
		binary.LittleEndian.PutUint64(raw[at+8*i:], w)
	}
	for i, content := range []string{"abc", "\x01\x00\x00\x00\x07\x00\x00\x00", "wxyz"} {
		slot := raw[at+56+24*i:]
		binary.LittleEndian.PutUint32(slot, uint32(len(content)))
		copy(slot[countedHead:], content)
	}
	m := memory{scope: newScope(s)}
	m.set(&event.Event{Schema: s, Raw: raw})
	for _, c := range []struct {
		addr uint64
		want string
	}{
		{text, "abc\x00"}, {text + 2, "c\x00"}, {text + 4, ""}, {text - 1, ""}, {list + 4, "\x07\x00\x00\x00"}, {list + 8, ""}, {list + 12, ""},
		{list + 16, ""}, {list - 1, ""}, {chars + 1, "xyz\x00"}, {chars + 5, ""}, {3, ""}, {0, ""},
	} {
		var buf [4]byte
		if got := string(buf[:m.Read(c.addr, buf[:])]); got != c.want {
			t.Errorf("%#x: %q, want %q", c.addr, got, c.want)
		}
	}
}

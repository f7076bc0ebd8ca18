package event

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/ring"
)

func counted(n, flags uint32, data string, size int) []byte {
	b := binary.LittleEndian.AppendUint32(nil, n)
	b = binary.LittleEndian.AppendUint32(b, flags)
	b = append(b, data...)
	return append(b, make([]byte, size-len(b))...)
}

func TestDecode(t *testing.T) {
	// Header 24, status bytes 24-31, then slots.
	raw := rawRecord(nil, 1, 500, 0x77, 0)
	raw = append(raw, byte(OK), byte(Unreadable), byte(Truncated), byte(BadBounds), 99, 0, 0, 0)
	raw = binary.LittleEndian.AppendUint64(raw, 42)      // 32
	raw = binary.LittleEndian.AppendUint64(raw, 0x10)    // 40
	raw = append(raw, counted(3, 0, "abc", 16)...)       // 48
	raw = append(raw, counted(1<<31, 2, "wxyz", 16)...)  // 64
	raw = append(raw, bytes.Repeat([]byte{5}, 144)...)   // 80
	raw = append(raw, counted(9, 1, "stackcopy", 24)...) // 224
	binary.LittleEndian.PutUint32(raw, uint32(len(raw)))
	s := &Schema{Place: "p", RecordSize: len(raw), Fields: []Field{
		{Name: "i", Type: ctype.IntT, Offset: 32, Size: 4, StatusOffset: -1},
		{Name: "bad", Type: ctype.IntT, Offset: 40, Size: 8, StatusOffset: 25},
		{Name: "str", Kind: Counted, Offset: 48, Size: 16, StatusOffset: 24},
		{Name: "long", Kind: Counted, Offset: 64, Size: 16, StatusOffset: 24},
		{Name: "trunc", Kind: Counted, Offset: 48, Size: 16, StatusOffset: 26},
		{Name: "regs", Kind: Regs, Offset: 80, Size: 144, StatusOffset: -1},
		{Name: "bt", Kind: Stack, Offset: 80, Size: 168, StatusOffset: -1},
		{Name: "opt", Static: OptimisedOut, Reason: "its location needs the caller", StatusOffset: -1},
		{Name: "bounds", Kind: Counted, Offset: 48, Size: 16, StatusOffset: 27},
		{Name: "odd", Offset: 48, Size: 16, StatusOffset: 28},
		{Name: "outside", Offset: 240, Size: 100, StatusOffset: -1},
		{Name: "negative", Offset: -8, Size: 8, StatusOffset: -1},
		{Name: "small", Kind: Counted, Offset: 32, Size: 4, StatusOffset: -1},
		{Name: "smallregs", Kind: Regs, Offset: 32, Size: 4, StatusOffset: -1},
		{Name: "$tid", Kind: Header},
		{Name: "p", Offset: 32, Size: 8, StatusOffset: -1, StrOffset: 48, StrSize: 16, StrStatusOffset: 24},
		{Name: "q", Offset: 32, Size: 8, StatusOffset: -1, StrOffset: 40, StrSize: 8, StrStatusOffset: 25},
		{Name: "r", Offset: 32, Size: 8, StatusOffset: -1, StrOffset: 400, StrSize: 8, StrStatusOffset: 25},
	}}
	want := []string{
		"i: 2a000000", "bad: unreadable address 0x10", "str: abc", "long: wxyz\x00\x00\x00\x00...", "trunc: abc...",
		"regs: 144", "bt: 144 stackcopy...", "opt: its location needs the caller",
		"bounds: the number of elements is negative or too large", "odd: not available", "outside: not available",
		"negative: not available", "small: not available", "smallregs: not available", "$tid: ",
		"p: 2a00000000000000 \"abc\"", "q: 2a00000000000000 <unreadable address 0x10>", "r: 2a00000000000000 <not available>",
	}
	th := NewThreads()
	th.Born(12, 0x77, "worker", 0)
	d := &Decoder{Threads: th, Pid: 11, Comm: "prog", Schemas: []*Schema{nil, s}}
	var ev Event
	if err := d.Decode(Record{CPU: 3, TSC: 500, Data: raw}, &ev); err != nil {
		t.Fatal(err)
	}
	if ev.CPU != 3 || ev.Pid != 11 || ev.Tid != 12 || ev.Comm != "worker" || ev.TSC != 500 || ev.Thread != 0x77 {
		t.Errorf("%+v", ev)
	}
	for i, w := range want {
		if got := describe(ev.Value(i)); got != w {
			t.Errorf("field %d: %q, want %q", i, got, w)
		}
	}
	for _, bad := range [][]byte{rawRecord(nil, 0, 1, 1, 0), rawRecord(nil, 9, 1, 1, 0), rawRecord(nil, 1, 1, 1, 1), rawRecord(nil, ^uint32(0), 1, 1, 1)} {
		if err := d.Decode(Record{Data: bad}, &ev); err == nil {
			t.Errorf("% x decoded", bad)
		}
	}
}

func describe(v Value) string {
	var b strings.Builder
	b.WriteString(v.Field.Name + ": ")
	switch {
	case v.Status != OK:
		b.WriteString(v.Explain())
	case v.Field.Kind == Fixed:
		for _, c := range v.Data {
			const hex = "0123456789abcdef"
			b.WriteByte(hex[c>>4])
			b.WriteByte(hex[c&15])
		}
	case v.Field.Kind == Counted:
		b.Write(v.Data)
	case v.Field.Kind == Regs:
		b.WriteString("144"[:3*len(v.Data)/regsSize])
	case v.Field.Kind == Stack:
		b.WriteString("144 ")
		b.Write(v.Stack)
	}
	if v.Truncated {
		b.WriteString("...")
	}
	if v.Str != nil {
		if v.Str.Status == OK {
			b.WriteString(" \"" + string(v.Str.Data) + "\"")
		} else {
			b.WriteString(" <" + Explain(v.Str.Status, v.Str.Addr, "") + ">")
		}
	}
	return b.String()
}

// FuzzValue: no combination of record and schema causes an access outside the record.
func FuzzValue(f *testing.F) {
	f.Add(make([]byte, 200), 24, 16, 8, uint8(1), 30, 8, 9)
	f.Fuzz(func(t *testing.T, raw []byte, off, size, status int, kind uint8, strOff, strSize, strStatus int) {
		s := &Schema{Fields: []Field{{
			Kind: FieldKind(kind), Offset: off, Size: size, StatusOffset: status,
			StrOffset: strOff, StrSize: strSize, StrStatusOffset: strStatus,
		}}}
		ev := Event{Schema: s, Raw: raw}
		v := ev.Value(0)
		v.Explain()
	})
}

// TestDecodeStack: a record with the number of its stack is decoded to the one that has the frames.
func TestDecodeStack(t *testing.T) {
	table := ring.StacksIn(make([]byte, ring.StacksSize))
	pcs := []uint64{0x401000, 0x402000, 0x7f0000001234}
	whole, deep := table.Intern(pcs, 0), table.Intern(pcs, stackDeep)
	const short, long = ring.RecHeader + 16, ring.RecHeader + 16 + 8 + 8*4
	s := &Schema{
		SiteID: 0, PC: 0x401000, RecordSize: long, ShortSize: short, StackNumber: ring.RecHeader,
		Fields: []Field{
			{Name: "$bt", Kind: UserFrames, Offset: short, Size: long - short, StatusOffset: -1},
			{Name: "n", Offset: ring.RecHeader + 8, Size: 8, StatusOffset: -1},
		},
	}
	for _, c := range []struct {
		number uint32
		stacks *ring.Stacks
		want   []uint64
		end    uint8
	}{
		{whole, table, pcs, 0},
		{deep, table, pcs, stackDeep},
		{whole + 1, table, pcs[:1], stackDamaged},
		{0, table, pcs[:1], stackDamaged},
		{whole, nil, pcs[:1], stackDamaged},
	} {
		d := &Decoder{Schemas: []*Schema{s}, Stacks: c.stacks}
		raw := make([]byte, short)
		binary.LittleEndian.PutUint32(raw[ring.RecSite:], 1)
		binary.LittleEndian.PutUint32(raw[ring.RecHeader:], c.number)
		binary.LittleEndian.PutUint64(raw[ring.RecHeader+8:], 77)
		var ev Event
		for range 2 {
			if err := d.Decode(Record{Data: raw}, &ev); err != nil {
				t.Fatal(err)
			}
			v, n := ev.Value(0), ev.Value(1)
			if !slices.Equal(v.Frames(), c.want) || v.End != c.end || v.Truncated != (c.end == stackDeep) || n.Data[0] != 77 {
				t.Errorf("%#x: %#x ends with %d (truncated %v), n is %d", c.number, v.Frames(), v.End, v.Truncated, n.Data)
			}
		}
	}
}

// TestDecodeElapsed: a slot with a time stamp becomes the time since, if the field has a value and the slot is in the record.
func TestDecodeElapsed(t *testing.T) {
	const slot, status, size = ring.RecHeader, ring.RecHeader + 8, ring.RecHeader + 16
	for _, c := range []struct {
		since, stamp  uint64
		status        byte
		offset, state int
		want          uint64
	}{
		{1000, 5000, 0, slot, status, 1600},
		{1000, 5000, 0, slot, -1, 1600},
		{5001, 5000, 0, slot, status, 0}, // the program has changed it
		{1000, 5000, byte(Unreadable), slot, status, 1000},
		{1000, 5000, 0, size - 7, status, 1000},
		{1000, 5000, 0, slot, size, 1000},
		{1000, 5000, 0, -1, status, 1000},
	} {
		raw := make([]byte, size)
		binary.LittleEndian.PutUint32(raw[ring.RecSize:], size)
		binary.LittleEndian.PutUint32(raw[ring.RecSite:], 1)
		binary.LittleEndian.PutUint64(raw[slot:], c.since)
		raw[status] = c.status
		s := &Schema{RecordSize: size, Elapsed: []Elapsed{{c.offset, c.state, 0.4}}}
		var ev Event
		if err := (&Decoder{Schemas: []*Schema{s}}).Decode(Record{TSC: c.stamp, Data: raw}, &ev); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint64(ev.Raw[slot:]); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

package format

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/event"
)

func dynamicOf(mark string, elem *ctype.Type) *ctype.Type {
	return &ctype.Type{Kind: ctype.Typedef, Name: mark, Size: 4, Elem: ctype.ArrayOf(elem, -1)}
}

// recordType is a record: nr 8, comm 16, name 24 and mask 28 and far 36
// (__data_loc), rel 32 (__rel_loc).
func recordType(first string) *ctype.Type {
	t := &ctype.Type{Kind: ctype.Struct, Name: "trace_event_raw_x", Size: 40}
	t.SetFields([]ctype.Field{
		{Name: first, Type: ctype.IntT, BitOffset: 64},
		{Name: "comm", Type: ctype.ArrayOf(ctype.CharT, 8), BitOffset: 128},
		{Name: "name", Type: dynamicOf("__data_loc", ctype.CharT), BitOffset: 192},
		{Name: "mask", Type: dynamicOf("__data_loc", ctype.UShortT), BitOffset: 224},
		{Name: "rel", Type: dynamicOf("__rel_loc", ctype.CharT), BitOffset: 256},
		{Name: "far", Type: dynamicOf("__data_loc", ctype.CharT), BitOffset: 288},
	})
	return t
}

func recordBytes() string {
	var b []byte
	b = append(b, le(4243<<32, 8)...)
	b = append(b, le(^uint64(4), 8)...)
	b = append(b, "bash\x00\x00\x00\x00"...)
	b = append(b, le(6<<16|40, 4)...)
	b = append(b, le(4<<16|46, 4)...)
	b = append(b, le(3<<16|(50-36), 4)...)
	b = append(b, le(3<<16|500, 4)...)
	b = append(b, "a\"b\tc\x00"...)
	b = append(b, 1, 0, 2, 0)
	return string(append(b, "xyz"...))
}

func kernelEvents() []*event.Event {
	frames := countedSlot(string(append(append(le(0x401139, 8), le(0xffffffff81000010, 8)...), 1, 2, 3)), 0)
	text := &event.KernelText{
		Event:  "x",
		Format: `"nr=%d name=%s at=%pS kind=%s\033\n", REC->nr, __get_str(name), (void *)0xffffffff81000010UL, REC->nr == MINUS ? "minus" : "plus"`,
		Fields: []event.TextField{
			{Name: "nr", Type: ctype.CharT, Offset: 8, Size: 1, Signed: true},
			{Name: "name", Type: dynamicOf("__data_loc", ctype.CharT), Offset: 24, Size: 4},
		},
		Constants: []event.TextConstant{{Name: "MINUS", Value: -5}},
	}

	a := newLayout("sched:sched_switch:")
	a.s.Kernel = true
	a.add(event.Field{Name: "$_sdata", Kind: event.SData, Type: recordType("nr"), Text: text}, countedSlot(recordBytes(), 0))
	a.fixed("next->prio", ctype.IntT, le(120, 4))
	a.add(event.Field{Name: "$bt", Kind: event.KernelFrames}, frames)

	b := newLayout("kprobe:vfs_read")
	b.s.Kernel = true
	b.add(event.Field{Name: "$bt", Kind: event.KernelFrames}, frames)
	b.add(event.Field{Name: "$ubt", Kind: event.UserFrames}, countedSlot(string(le(0x401139, 8)), 0))
	b.add(event.Field{Name: "$bt", Kind: event.UserFrames}, countedSlot("", 0))
	b.add(event.Field{Name: "odd", Kind: event.UserFrames}, []byte{1})
	for _, name := range []string{"pid", "tid", "cpu", "comm", "nsecs", "$time"} {
		b.s.Fields = append(b.s.Fields, event.Field{Name: name, Kind: event.Header, StatusOffset: -1})
	}

	c := newLayout("cut")
	c.add(event.Field{Name: "$_sdata", Kind: event.SData, Type: recordType("text"), Text: text}, countedSlot(recordBytes()[:30], 1))
	c.add(event.Field{Name: "$sdata", Kind: event.SData, Type: &ctype.Type{Kind: ctype.Struct, Incomplete: true}, Text: text}, countedSlot(recordBytes(), 0))
	c.add(event.Field{Name: "norender", Kind: event.SData}, countedSlot("", 0))
	bad := c.add(event.Field{Name: "bad", Kind: event.SData, Text: text}, le(0x10, 8))
	bad.StatusOffset = c.status(event.Unreadable)
	c.fixed("args", recordType("nr"), []byte(recordBytes()[:40]))
	return []*event.Event{a.event(), b.event(), c.event()}
}

func TestKernelGolden(t *testing.T) {
	for file, make := range map[string]func(*bytes.Buffer) Sink{
		"kernel.golden": func(w *bytes.Buffer) Sink {
			return NewText(w, TextOptions{Printer: Printer{Symbol: symbol}, Time: MonotoneTime})
		},
		"kernel-bt.golden": func(w *bytes.Buffer) Sink { return NewText(w, TextOptions{Unwind: unwind, Time: MonotoneTime}) },
		"kernel.jsonl":     func(w *bytes.Buffer) Sink { return NewJSON(w, JSONOptions{Symbol: symbol}) },
		"kernel-bt.jsonl":  func(w *bytes.Buffer) Sink { return NewJSON(w, JSONOptions{Unwind: unwind}) },
	} {
		var out bytes.Buffer
		s := make(&out)
		for _, ev := range kernelEvents() {
			if err := s.Event(ev); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		golden(t, file, out.Bytes())
		if strings.HasSuffix(file, ".jsonl") {
			for line := range bytes.Lines(out.Bytes()) {
				if !json.Valid(line) {
					t.Errorf("%s: not JSON: %s", file, line)
				}
			}
		}
	}
}

// FuzzSData: a record that is not what its type says is shown, whatever it is.
func FuzzSData(f *testing.F) {
	f.Add([]byte(recordBytes()))
	f.Add([]byte("short"))
	rec := recordType("nr")
	f.Fuzz(func(t *testing.T, record []byte) {
		l := newLayout("p")
		l.add(event.Field{Name: "$_sdata", Kind: event.SData, Type: rec}, countedSlot(string(record), 0))
		var out bytes.Buffer
		s := NewJSON(&out, JSONOptions{})
		if err := errors.Join(s.Event(l.event()), s.Flush()); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(out.Bytes()) {
			t.Fatalf("not JSON: %s", out.Bytes())
		}
	})
}

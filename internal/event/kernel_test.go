package event

import (
	"encoding/binary"
	"testing"
)

// TestDecodeKernel: records of the kernel engine contain time, process and thread.
func TestDecodeKernel(t *testing.T) {
	record := func(comm string) []byte {
		raw := rawRecord(nil, 0, 123456789, 4242<<32|4243, 0)
		raw = append(raw, comm...)
		raw = append(raw, make([]byte, 16-len(comm))...)
		raw = append(raw, counted(16, 0, "\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00", 32)...) // 40
		raw = append(raw, counted(5, 1, "bytes", 16)...)                                                             // 72
		binary.LittleEndian.PutUint32(raw, uint32(len(raw)))
		return raw
	}
	s := &Schema{Place: "p", Kernel: true, CommOffset: 24, RecordSize: 88, Fields: []Field{
		{Name: "$bt", Kind: KernelFrames, Offset: 40, Size: 32, StatusOffset: -1},
		{Name: "$ubt", Kind: UserFrames, Offset: 40, Size: 32, StatusOffset: -1},
		{Name: "$_sdata", Kind: SData, Offset: 72, Size: 16, StatusOffset: -1},
		{Name: "outside", Kind: SData, Offset: 72, Size: 17, StatusOffset: -1},
		{Name: "small", Kind: KernelFrames, Offset: 72, Size: 7, StatusOffset: -1},
	}}
	// Information about the traced process does not affect them.
	th := NewThreads()
	th.Born(1, 4242<<32|4243, "wrong", 0)
	d := &Decoder{Clock: &Clock{}, Threads: th, Pid: 11, Comm: "prog", Schemas: []*Schema{s}}
	var ev Event
	for _, comm := range []string{"worker", "worker", "a name of 16 by.", ""} {
		if err := d.Decode(Record{CPU: 3, TSC: 123456789, Data: record(comm)}, &ev); err != nil {
			t.Fatal(err)
		}
		if ev.Pid != 4242 || ev.Tid != 4243 || ev.Comm != comm || ev.TimeNS != 123456789 || ev.CPU != 3 || ev.TSC != 123456789 {
			t.Errorf("%q: %+v", comm, ev)
		}
	}
	for i, want := range []struct {
		data      string
		status    Status
		truncated bool
	}{
		{"\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00", OK, false},
		{"\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00", OK, false},
		{"bytes", OK, true},
		{"", Unsupported, false},
		{"", Unsupported, false},
	} {
		if v := ev.Value(i); string(v.Data) != want.data || v.Status != want.status || v.Truncated != want.truncated {
			t.Errorf("%s: %+v", v.Field.Name, v)
		}
	}
	v := ev.Value(0)
	if f := v.Frames(); len(f) != 2 || f[0] != 1 || f[1] != 2 {
		t.Errorf("frames %v", f)
	}
	v.Data = v.Data[:15]
	if f := v.Frames(); len(f) != 1 {
		t.Errorf("frames %v", f)
	}
	raw := record("x")
	if n := testing.AllocsPerRun(100, func() {
		if err := d.Decode(Record{Data: raw}, &ev); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations a record", n)
	}
	s.CommOffset = 80 // outside the record
	if err := d.Decode(Record{Data: raw}, &ev); err != nil || ev.Comm != "prog" {
		t.Errorf("%v, comm %q", err, ev.Comm)
	}
}

package pclntab

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"testing"
)

// TestIndex: a table is found by its head, at a place that it may have and with a number of functions that it can have.
func TestIndex(t *testing.T) {
	table := func(functions uint64) []byte {
		b := append(append([]byte{0xf1}, head...), 1, 8)
		b = binary.LittleEndian.AppendUint64(b, functions)
		return append(b, make([]byte, 64)...)
	}
	pad := bytes.Repeat([]byte{0xff}, 16)
	for _, c := range []struct {
		data []byte
		want int
	}{
		{nil, -1},
		{[]byte(head), -1},
		{table(3), 0},
		{append(pad[:16:16], table(3)...), 16},
		{append(pad[:3:3], table(3)...), -1},
		{append(table(0), table(2)...), len(table(0))},
		{append(table(1<<40), table(2)...), len(table(0))},
		{table(3)[:30], -1},
	} {
		if got := Index(c.data); got != c.want {
			t.Errorf("%x: %d, want %d", c.data, got, c.want)
		}
	}
}

// twoFunctions is a table of main.f and main.g.
func twoFunctions() []byte {
	const names, rows = 72, 96
	b := make([]byte, 240)
	le := binary.LittleEndian
	copy(b, "\xf1"+head+"\x01\x08")
	le.PutUint64(b[8:], 2)
	le.PutUint64(b[8*(1+wordNames):], names)
	le.PutUint64(b[8*(1+wordRows):], rows)
	copy(b[names:], "\x00main.f\x00main.g\x00")
	for i, w := range []uint32{0x10, 24, 0x30, 72, 0x50, 0, 0x10, 1} {
		le.PutUint32(b[rows+4*i:], w)
	}
	le.PutUint32(b[rows+72:], 0x30)
	le.PutUint32(b[rows+76:], 8)
	return b
}

// TestFunc: a table of two functions is read.
func TestFunc(t *testing.T) {
	table, err := Open(twoFunctions())
	if err != nil || table.Len() != 2 {
		t.Fatal(table, err)
	}
	for i, want := range []Func{{Lo: 0x10, Hi: 0x30, Name: 1}, {Lo: 0x30, Hi: 0x50, Name: 8}} {
		if f, err := table.Func(i); err != nil || f != want || table.At(want.Hi-1) != i {
			t.Errorf("%d: %+v, %v", i, f, err)
		}
	}
	if table.At(0xf) != -1 || table.At(0x50) != -1 {
		t.Error("there is a function outside of both")
	}
}

// FuzzTable: a table is a file's, and may be anything.
func FuzzTable(f *testing.F) {
	f.Add(twoFunctions())
	f.Fuzz(func(t *testing.T, b []byte) {
		table, err := Open(b)
		if err != nil {
			return
		}
		for i := range min(table.Len(), 100) {
			f, err := table.Func(i)
			if err != nil {
				continue
			}
			table.NameOf(&f)
			lo := f.Lo
			lines, _ := table.Lines(&f)
			for _, l := range lines {
				if l.Lo < lo || l.Hi <= l.Lo || l.Hi > f.Hi || l.Line <= 0 || l.File == "" {
					t.Fatalf("%+v of a function from %#x to %#x", l, f.Lo, f.Hi)
				}
				lo = l.Hi
			}
			table.Files(&f, func(string) {})
			_, _ = table.Taken(&f)
		}
		table.At(uint64(len(b)))
	})
}

// TestLines: files and lines are what debug/gosym reads, at each change of this program's own functions.
func TestLines(t *testing.T) {
	f, err := elf.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	text := f.Section(".text").Addr
	table, err := Open(data)
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := gosym.NewTable(nil, gosym.NewLineTable(data, text))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i := 0; i < table.Len(); i += 3 {
		f, err := table.Func(i)
		if err != nil {
			t.Fatal(i, err)
		}
		lines, err := table.Lines(&f)
		if err != nil {
			t.Fatal(i, err)
		}
		files := map[string]bool{}
		table.Files(&f, func(name string) { files[name] = true })
		for _, l := range lines {
			for _, off := range []uint64{l.Lo, l.Hi - 1} {
				file, line, fn := oracle.PCToLine(text + off)
				if fn == nil || file != l.File || line != l.Line || !files[file] {
					t.Fatalf("%#x: %s:%d, want %s:%d", off, l.File, l.Line, file, line)
				}
				compared++
			}
		}
	}
	if compared < 10000 {
		t.Errorf("%d addresses are compared", compared)
	}
}

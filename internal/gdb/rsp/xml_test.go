package rsp

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/arch/host"
)

// flatten is a document as its elements, attributes in order, without white space.
func flatten(t *testing.T, doc []byte) []string {
	t.Helper()
	var out []string
	d := xml.NewDecoder(bytes.NewReader(doc))
	for {
		tok, err := d.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatalf("%v in %s", err, doc)
		}
		switch tok := tok.(type) {
		case xml.StartElement:
			s := tok.Name.Local
			for _, a := range tok.Attr {
				s += fmt.Sprintf(" %s=%q", a.Name.Local, a.Value)
			}
			out = append(out, s)
		case xml.EndElement:
			out = append(out, "/"+tok.Name.Local)
		case xml.CharData:
			if text := strings.TrimSpace(string(tok)); text != "" {
				out = append(out, text)
			}
		}
	}
}

func sameDocument(t *testing.T, got, want []byte) {
	t.Helper()
	g, w := flatten(t, got), flatten(t, want)
	for i := range max(len(g), len(w)) {
		if i >= len(g) || i >= len(w) || g[i] != w[i] {
			t.Fatalf("element %d of %d and %d: got %q, want %q", i, len(g), len(w), g[min(i, len(g)-1)], w[min(i, len(w)-1)])
		}
	}
}

// machine is this machine's CPU.
func machine() CPU {
	has := host.X86()
	return CPU{AVX: has.AVX, AVX512: has.AVX512, PKeys: has.PKeys}
}

// served is a document that gdbserver served in a session: its first complete copy.
func (rec *recorder) served(object Word) []byte {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	var request Packet
	var doc []byte
	for _, m := range rec.messages {
		if m.fromGDB {
			request, _ = Parse(m.payload)
			continue
		}
		x, ok := request.(XferRead)
		if !ok || x.Object != object || m.kind != FramePacket {
			continue
		}
		p, _ := ParseReply(request, m.payload)
		d, ok := p.(XferData)
		if !ok || x.Offset != uint64(len(doc)) {
			continue
		}
		doc = append(doc, d.Data...)
		if d.Last && len(d.Data) > 0 {
			return doc
		}
	}
	return nil
}

// checkDescription: gdbserver's target description is ours of this machine.
func checkDescription(t *testing.T, rec *recorder, _, _ string) {
	want := rec.served("features")
	if want == nil {
		t.Fatal("gdbserver served no description")
	}
	target := TargetX86Linux(machine())
	sameDocument(t, target.XML(), want)
	// The registers of a g packet are as long as ours.
	long := 0
	var request Packet
	for _, m := range rec.messages {
		if m.fromGDB {
			request, _ = Parse(m.payload)
		} else if _, ok := request.(ReadRegisters); ok {
			long = len(m.payload) / 2
		}
	}
	if long != target.Size {
		t.Errorf("gdbserver's registers have %d bytes, ours %d", long, target.Size)
	}
}

// TestOracleTargetDescription: GDB reads all descriptions without a word and numbers
// and places the registers as we do.
func TestOracleTargetDescription(t *testing.T) {
	for i := range 8 {
		cpu := CPU{i&1 != 0, i&2 != 0, i&4 != 0}
		if cpu.AVX512 && !cpu.AVX {
			continue // no such machine
		}
		target := TargetX86Linux(cpu)
		path := filepath.Join(t.TempDir(), "target.xml")
		if err := os.WriteFile(path, target.XML(), 0o600); err != nil {
			t.Fatal(err)
		}
		out := drive(t, "set tdesc filename "+path+"\nmaint print xml-tdesc\nmaint print remote-registers\n")
		if strings.Contains(out, "warning") {
			t.Errorf("%+v: %.2000s", cpu, out)
		}
		sameRegisters(t, target, out)
	}
}

// sameRegisters compares with GDB's table of remote registers: name, ..., number,
// offset in g.
func sameRegisters(t *testing.T, target *Target, table string) {
	t.Helper()
	rows := map[string][]string{}
	for _, line := range strings.Split(table, "\n") {
		if f := strings.Fields(line); len(f) >= 8 {
			if _, err := strconv.Atoi(f[len(f)-1]); err == nil {
				rows[f[0]] = f
			}
		}
	}
	for _, r := range target.Registers {
		row := rows[r.Name]
		if len(row) < 8 || row[len(row)-2] != fmt.Sprint(r.Number) || row[len(row)-1] != fmt.Sprint(r.Offset) {
			t.Fatalf("register %+v, GDB: %q", r, row)
		}
		delete(rows, r.Name)
	}
	if len(rows) > 0 {
		t.Errorf("GDB has these too: %v", rows)
	}
}

// TestOracleBase: the registers that GDB assumes for an x86-64 Linux target without a description, and that
// these are the first of any target.
func TestOracleBase(t *testing.T) {
	all := TargetX86Linux(CPU{AVX: true, AVX512: true, PKeys: true})
	base := all.Base()
	sameRegisters(t, base, drive(t, "set architecture i386:x86-64\nset osabi GNU/Linux\nmaint print remote-registers\n"))
	for i, r := range base.Registers {
		if r != all.Registers[i] {
			t.Errorf("register %d: %+v, of all %+v", i, r, all.Registers[i])
		}
	}
	const gdbExpects = 560 // "Remote 'g' packet reply is too long (expected 560 bytes"
	if base.Size != gdbExpects || string(base.XML()) != string(TargetX86Linux(CPU{}).XML()) {
		t.Errorf("%d bytes", base.Size)
	}
}

// TestDocuments: what is escaped, and how names come back that XML cannot hold.
func TestDocuments(t *testing.T) {
	doc := ThreadsXML([]ThreadInfo{
		{ID: ThreadID{1, 2, true}, Core: 3, Name: "a<b>&\"c'", Handle: []byte{0x40, 0xf7}, Extra: "x<y"},
		{ID: ThreadID{1, 3, true}, Core: -1, Name: "\x01\xff]]>"},
	})
	got := strings.Join(flatten(t, doc), " ")
	want := `threads thread id="p1.2" core="3" name="a<b>&\"c'" handle="40f7" x<y /thread ` +
		"thread id=\"p1.3\" name=\"\ufffd\ufffd]]>\" /thread /threads"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	doc = MemoryMapXML([]MemoryRegion{{Kind: MemoryFlash, Start: 0x1000, Length: 0x2000, BlockSize: 0x400}})
	got = strings.Join(flatten(t, doc), " ")
	want = `memory-map memory type="flash" start="0x1000" length="0x2000" property name="blocksize" 0x400 /property /memory /memory-map`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

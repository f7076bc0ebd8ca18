package experiment

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// TestSave: parts that do not fit in GDB's lines are cut, or left out with a warning.
func TestSave(t *testing.T) {
	b := newBench(t)
	long := strings.Repeat("collect a; ", 200)
	b.talk("QTDP:2:1000:E:0:0-")
	b.talk("QTDP:-2:1000:R01X259," + strings.Repeat("220029", 200) + "27")
	b.talk(fmt.Sprintf("QTDPsrc:2:1000:cmd:0:%x:%s", len(long), hex.EncodeToString([]byte(long))))
	name := filepath.Join(t.TempDir(), "saved")
	b.talk("QTSave:" + hex.EncodeToString([]byte(name)))
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, frames, err := rsp.ParseTraceFile(data)
	if err != nil || len(frames) != 0 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	var source strings.Builder
	actions := 0
	for _, p := range f.Pieces {
		switch p := p.(type) {
		case rsp.UploadedSource:
			if int(p.Start) != source.Len() || int(p.Length) != len(long) {
				t.Errorf("a piece at %d of %d", p.Start, p.Length)
			}
			source.WriteString(string(p.Text))
		case rsp.UploadedActions:
			actions++
		}
	}
	if source.String() != long || actions != 1 {
		t.Errorf("%d actions, source %q", actions, source.String())
	}
	if !strings.Contains(b.text.String(), "left out of the trace file") {
		t.Errorf("logged: %q", b.text.String())
	}
	for _, line := range bytes.Split(data, []byte("\n")) {
		if len(line) > 999 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	// Live, it goes whole.
	for reply := b.ask("qTfP"); reply != "l"; reply = b.ask("qTsP") {
		if strings.HasPrefix(reply, "Z") && !strings.HasSuffix(reply, hex.EncodeToString([]byte(long))) {
			t.Errorf("%s", reply)
		}
	}
	b.Experiment.opt.WriteFile = func(string, func(io.Writer) error) error { return errors.New("the disk is full") }
	b.talk("QTSave:61 -> E.save the trace: the disk is full")
	b.Experiment.opt.WriteFile = nil
	b.talk("QTSave:61 -> E.this server writes no files; `tsave` without -r does")
}

// TestReadWhileItRuns: frames that come behind are read, too; when those not read
// yet are dropped the read fails.
func TestReadWhileItRuns(t *testing.T) {
	b := newBench(t)
	b.talk("QTDP:2:1000:E:0:0\nQTBuffer:size:48\nQTBuffer:circular:1\nQTStart")
	b.hits(2, 2)
	b.talk("qTBuffer:0,6 -> 020000000000")
	b.hits(2)
	b.talk("qTStatus -> T1;tframes:3;*\nqTBuffer:6,c -> 020000000000020000000000")
	b.hits(2)
	b.talk("qTStatus -> T1;tframes:3;tcreated:4;*\nqTBuffer:12,6 -> 020000000000\nqTBuffer:18,6 -> l")
	b.hits(2, 2)
	b.talk(`
		qTStatus -> T1;tframes:3;tcreated:6;*
		qTBuffer:6,6 -> E.the circular trace buffer has dropped frames while it was read; stop the trace first
		qTBuffer:0,100 -> 020000000000020000000000020000000000
		qTBuffer:12,100 -> l
	`)
}

// TestRecords: a hit is the same frame as a record and taken apart.
func TestRecords(t *testing.T) {
	b := newBench(t)
	b.talk(`
		QTDP:2:1000:E:0:0-
		QTDP:-2:1000:R010003M0,10,8X8,2c00022e00022927X8,2c00012e00012927-
		QTDP:-2:1000:XF,` + strings.ReplaceAll("22 05 22 00 22 00 34 01 00 04 25 64 21 00 27", " ", "") + `
		QTStart
	`)
	lay, rec := record(t, &b.spec(2).Program)
	b.fake.queue = []Hit{
		{Spec: b.spec(2), Time: 7000, Layout: lay, Record: rec},
		{Spec: b.spec(2), Time: 7000, Frame: lay.Frame(rec)},
		{Spec: b.spec(2), Time: 7000, Layout: lay, Record: rec[:len(rec)-8]},
	}
	// The text is made when a client looks at the frame, of the record without its head.
	b.fake.queue[0].Text = texter(func(r []byte) string {
		return fmt.Sprint(bytes.Equal(r[agentexpr.RecordHead:], rec[agentexpr.RecordHead:]), len(r) == len(rec))
	})
	b.talk("QTFrame:0 -> F0T2\nqTV:1 -> V7")
	if text, _ := b.StaticData(); string(text) != "true true" {
		t.Errorf("static data %q", text)
	}
	first, firstRegs := b.frames.view, b.FrameRegisters()
	b.talk("QTFrame:1 -> F1T2")
	if !reflect.DeepEqual(first.blocks, b.frames.view.blocks) || !reflect.DeepEqual(firstRegs, b.FrameRegisters()) {
		t.Errorf("%+v, as a frame %+v", first.blocks, b.frames.view.blocks)
	}
	if len(first.blocks) != 4 || first.blocks[0].Kind != rsp.BlockRegisters || first.blocks[1].Addr != 0x1122334455667798 {
		t.Errorf("%+v", first.blocks)
	}
	if got := b.text.String(); got != "printed \"5!\"\nprinted \"5!\"\n" {
		t.Errorf("%s", got)
	}
	if got := b.Report(); !strings.Contains(got, "2 frames of 2,") || !strings.Contains(got, "1 records are damaged and left out\n") {
		t.Errorf("%s", got)
	}
	for n, known := range map[int]bool{0: true, 1: true, 2: false, 16: true} {
		if firstRegs.Missing[b.opt.Target.Registers[n].Offset] == known {
			t.Errorf("register %s", agentexpr.Registers[n].Name)
		}
	}
}

type texter func(record []byte) string

func (f texter) StaticText(record []byte) string { return f(record) }

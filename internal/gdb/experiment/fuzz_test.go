package experiment

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/gdb/agentexpr"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// FuzzPackets hands an experiment lines: packets, and lines that begin with `!`,
// which are hits of the armed location of that number, with what the interpreter
// makes of its program. Nothing panics, and every reply to GDB can be sent.
func FuzzPackets(f *testing.F) {
	f.Add(three + "QTStart\n!0\n!1\nqTStatus\nQTFrame:0\nQTFrame:tdp:3\nqTBuffer:0,100\nqTV:2\nQTStop\nqTfP\nqTsP\nqTfV\nQTSave:61")
	f.Add("QTDP:1:2:E:0:1-\nQTDP:-1:2:R01M0,0,8X4,26000027\nQTBuffer:size:40\nQTBuffer:circular:1\nQTStart\n!0\n!0\nQTFrame:outside:0:1\nQTinit")
	f.Add("QTDP:1:2:E:0:0\nQTStart\nQTDP:1:2:E:0:0-\nQTDP:-1:2:R01\nQTDisable:1:2\nQTDP:2:2:E:0:0:S\nqTSTMat:2\nQTDPsrc:1:2:at:0:1:61\nQTDPsrc:1:2:at:1:2:62")
	f.Fuzz(func(t *testing.T, script string) {
		if len(script) > 1<<14 {
			return
		}
		b := newBench(t)
		b.Experiment.opt.WriteFile = func(_ string, content func(io.Writer) error) error { return content(io.Discard) }
		b.Experiment.opt.Now = func() time.Time { return time.Unix(5, 0) }
		for line := range strings.Lines(script) {
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "!") {
				b.fuzzHit(line[1:])
				continue
			}
			p, err := rsp.Parse([]byte(line))
			if err != nil {
				continue
			}
			reply, known := b.Handle(p)
			if !known {
				continue
			}
			text := rsp.Encode(reply)
			if back, err := rsp.ParseReply(p, text); err != nil {
				t.Errorf("%q is answered %q: %v", line, text, err)
			} else if !bytes.Equal(rsp.Encode(back), text) {
				t.Errorf("%q is answered %q, which is read as %q", line, text, rsp.Encode(back))
			}
			b.FrameRegisters()
			b.FrameInfo()
			b.FrameMemory(0, make([]byte, 8))
			b.Report()
		}
		b.Disconnected()
		b.Close()
		var file bytes.Buffer
		if err := b.Save(&file); err != nil {
			t.Error(err)
		}
		if _, frames, err := rsp.ParseTraceFile(file.Bytes()); err != nil || len(frames) != b.Experiment.buffer.count {
			t.Errorf("the trace file has %d frames of %d: %v", len(frames), b.Experiment.buffer.count, err)
		}
	})
}

// fuzzHit queues a hit of an armed location, with its steps.
func (b *bench) fuzzHit(which string) {
	if len(b.catalogue.list) == 0 || which == "" {
		return
	}
	s := &b.catalogue.list[int(which[0])%len(b.catalogue.list)].spec
	if !b.fake.armed[s] {
		return
	}
	m := &agentexpr.Machine{Mem: pattern{}, Vars: map[int]uint64{}, Limits: agentexpr.Limits{Record: 1 << 12}}
	var collected int64
	for _, a := range s.Program.Actions {
		collected += a.Len
	}
	if collected > 1<<20 { // an engine refuses those
		return
	}
	if f := s.Program.Run(m).Frame; f != nil {
		b.fake.queue = append(b.fake.queue, Hit{Spec: s, Time: b.next(), Frame: f})
		for range min(s.Steps, 4) {
			b.fake.queue = append(b.fake.queue, Hit{Spec: s, Step: true, Time: b.next()})
		}
	}
}

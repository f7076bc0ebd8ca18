package stub

import (
	"bytes"
	"testing"
)

// FuzzMachine: a text of lines, each a packet or, with a byte of its own in front, an
// event, does what TestRandom's GDB does: it gets its replies and harms nothing.
func FuzzMachine(f *testing.F) {
	for _, text := range []string{
		gdbFeatures + "\n?\nvCont;c\n\x02\n\x01\nvCont;s:p64.64;c\n\x02\n\x01\ng\nm400000,4",
		"QNonStop:1\n?\nvStopped\nvCont;c\n\x02\n\x02\n\x01\n\x01\nvStopped\nvCont;t\n\x01",
		"Z0,400010,1;X3,220127;cmds:1,X1,27\nc\n\x03\nQTDisconnected:1\nc\n\x04\n\x02\n\x01\n\x05\n?",
		"!\nD;64\nvRun;2f78\nvAttach;1388\nvKill;1388\nR00\n?",
		"QTFrame:0\ng\nP0=00\nqXfer:traceframe-info:read::0,100\nqXfer:features:read:target.xml:0,fff",
	} {
		f.Add([]byte(text), uint64(1))
		f.Add([]byte(text), uint64(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		c := newChaos(seed)
		for _, line := range bytes.Split(text, []byte("\n")) {
			if c.over || c.failure != "" {
				break
			}
			c.line(line)
		}
		if !c.over && c.failure == "" {
			c.finish()
		}
		if c.failure != "" {
			t.Fatalf("%s\n%q", c.failure, c.trace)
		}
	})
}

// line is one event of a fuzzed text.
func (c *chaos) line(line []byte) {
	kind := byte(0)
	if len(line) > 0 {
		kind = line[0]
	}
	switch {
	case kind == 1:
		select {
		case s := <-c.f.events:
			c.handle(Event{Kind: EventStop, Stop: s}, "stop")
		default:
		}
	case kind == 2:
		c.thing()
	case kind == 3 && c.connected:
		c.handle(Event{Kind: EventInterrupt}, "^C")
	case kind == 4:
		c.handle(Event{Kind: EventClosed}, "(gone)")
	case !c.connected:
		c.handle(Event{Kind: EventOpened}, "(new)")
	case kind > 5:
		c.packet(string(line))
	}
}

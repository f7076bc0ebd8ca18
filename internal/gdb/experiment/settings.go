package experiment

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// notes are what GDB has said of the experiment, and gets back.
type notes struct {
	disconnected     bool // the run goes on without GDB
	user, text, stop string
}

// settings are those of the buffer and of the run.
type settings struct {
	*base
	buffer *buffer
	notes  *notes
	runner *runner
}

// packets are those that it handles.
func (x *settings) packets() []row {
	return []row{
		done("QTDisconnected", "the run goes on without GDB", x.setDisconnected),
		done("QTBuffer:circular", "the buffer drops its oldest frames", x.setCircular),
		done("QTBuffer:size", "the size of the buffer", x.setBufferSize),
		done("QTNotes", "notes of the user", x.setNotes),
		on("qTMinFTPILen", "the shortest instruction that ftrace can displace", x.minFastLength),
	}
}

func (x *settings) setDisconnected(p rsp.SetDisconnected) error {
	x.notes.disconnected = p.On
	return nil
}

func (x *settings) setCircular(p rsp.SetCircular) error {
	if x.buffer.circular = p.On; x.runner.run.on {
		x.engine.SetRoom(x.buffer.room())
	}
	return nil
}

// MaxBufferSize bounds what GDB may ask for.
const MaxBufferSize = 16 << 30

func (x *settings) setBufferSize(p rsp.SetBufferSize) error {
	size := p.Size
	switch {
	case size == -1:
		size = x.opt.BufferSize
	case size < 0 || size > MaxBufferSize:
		return fmt.Errorf("a trace buffer of %d bytes; it can have up to %d", size, int64(MaxBufferSize))
	case x.runner.run.on:
		return fmt.Errorf("the size of the trace buffer cannot change while the trace runs")
	}
	x.buffer.resize(size)
	return nil
}

func (x *settings) setNotes(p rsp.SetNotes) error {
	for _, n := range p.Notes {
		switch n.Kind {
		case "user":
			x.notes.user = string(n.Text)
		case "notes":
			x.notes.text = string(n.Text)
		case "tstop":
			x.notes.stop = string(n.Text)
		default:
			return fmt.Errorf("there is no note of kind %q", n.Kind)
		}
	}
	return nil
}

func (x *settings) minFastLength(rsp.MinFastLength) (rsp.Packet, error) {
	return rsp.InstructionLength{Length: 1}, nil
}

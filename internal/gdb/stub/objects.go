package stub

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// objects are what qXfer reads and writes.
type objects struct {
	*core
	roster    *roster
	lister    *lister
	registers *registers
	documents map[string]document
}

func (x *objects) reset() { x.documents = map[string]document{} }

// packets are those that it handles.
func (x *objects) packets() []row {
	return []row{
		on("qXfer:OBJECT:read", "reads a piece of an object", x.xferRead),
		on("qXfer:OBJECT:write", "changes one", x.xferWrite),
	}
}

// document is what an object was when GDB began to read it, so that its pieces fit
// together.
type document struct {
	annex  string
	thread ThreadID
	data   []byte
}

// made are the objects that the stub makes itself; the others are the target's.
var made = map[string]func(x *objects, annex string) ([]byte, error){
	"features": func(x *objects, annex string) ([]byte, error) {
		if annex != "target.xml" {
			return nil, fmt.Errorf("there is no description %q", annex)
		}
		if !x.caps.Kernel && len(x.target.Processes()) == 0 {
			return nil, errors.New("there is no process to describe") // GDB's user may choose an architecture
		}
		return x.description().XML(), nil
	},
	"threads": func(x *objects, _ string) ([]byte, error) {
		return rsp.ThreadsXML(x.lister.threadInfos()), nil
	},
	"traceframe-info": func(x *objects, _ string) ([]byte, error) {
		if x.exp.SelectedFrame() < 0 {
			return nil, errors.New("no trace frame is selected")
		}
		return x.exp.FrameInfo(), nil
	},
	// GDB says statictrace, its manual sdata.
	"statictrace": staticData,
	"sdata":       staticData,
}

func staticData(x *objects, _ string) ([]byte, error) {
	data, ok := x.exp.StaticData()
	if !ok {
		return nil, errors.New("the trace frame has no static tracepoint data")
	}
	return data, nil
}

// object reads a whole object.
func (x *objects) object(name, annex string) ([]byte, error) {
	if f := made[name]; f != nil {
		return f(x, annex)
	}
	var id ThreadID
	if t := x.roster.current(); t != nil {
		id = t.id
	}
	return x.target.Object(id, name, annex)
}

func (x *objects) xferRead(p rsp.XferRead) rsp.Packet {
	name, annex := string(p.Object), string(p.Annex)
	if made[name] == nil && !slices.Contains(x.caps.Objects, name) {
		return rsp.Unsupported{}
	}
	var id ThreadID
	if t := x.roster.current(); t != nil {
		id = t.id
	}
	d, ok := x.documents[name]
	if !ok || p.Offset == 0 || d.annex != annex || d.thread != id {
		data, err := x.object(name, annex)
		if errors.Is(err, ErrUnsupported) {
			return rsp.Unsupported{}
		}
		if err != nil {
			return fail(err)
		}
		d = document{annex, id, slices.Clone(data)}
		x.documents[name] = d
	}
	return rsp.Chunk(d.data, p.Offset, p.Length, x.cfg.PacketSize)
}

func (x *objects) xferWrite(p rsp.XferWrite) rsp.Packet {
	name := string(p.Object)
	if !slices.Contains(x.caps.Writable, name) {
		return rsp.Unsupported{}
	}
	t, err := x.registers.changeable()
	if err != nil {
		return fail(err)
	}
	n, err := x.target.WriteObject(t.id, name, string(p.Annex), p.Offset, p.Data)
	switch {
	case errors.Is(err, ErrUnsupported):
		return rsp.Unsupported{}
	case err != nil:
		return fail(err)
	}
	delete(x.documents, name)
	return rsp.Written{Length: uint64(max(n, 0))}
}

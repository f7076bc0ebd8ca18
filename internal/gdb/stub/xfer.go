package stub

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

var _ = []struct{}{on((*Machine).xferRead), on((*Machine).xferWrite)}

// document is what an object was when GDB began to read it, so that its pieces fit
// together.
type document struct {
	annex  string
	thread ThreadID
	data   []byte
}

// objects are those that the stub makes itself; the others are the target's.
var objects = map[string]func(m *Machine, annex string) ([]byte, error){
	"features": func(m *Machine, annex string) ([]byte, error) {
		if annex != "target.xml" {
			return nil, fmt.Errorf("there is no description %q", annex)
		}
		if !m.caps.Kernel && len(m.target.Processes()) == 0 {
			return nil, errors.New("there is no process to describe") // GDB's user may choose an architecture
		}
		return m.description().XML(), nil
	},
	"threads": func(m *Machine, _ string) ([]byte, error) {
		return rsp.ThreadsXML(m.threadInfos()), nil
	},
	"traceframe-info": func(m *Machine, _ string) ([]byte, error) {
		if m.exp.SelectedFrame() < 0 {
			return nil, errors.New("no trace frame is selected")
		}
		return m.exp.FrameInfo(), nil
	},
	// GDB says statictrace, its manual sdata.
	"statictrace": staticData,
	"sdata":       staticData,
}

func staticData(m *Machine, _ string) ([]byte, error) {
	data, ok := m.exp.StaticData()
	if !ok {
		return nil, errors.New("the trace frame has no static tracepoint data")
	}
	return data, nil
}

// object reads a whole object.
func (m *Machine) object(name, annex string) ([]byte, error) {
	if f := objects[name]; f != nil {
		return f(m, annex)
	}
	var id ThreadID
	if t := m.current(); t != nil {
		id = t.id
	}
	return m.target.Object(id, name, annex)
}

func (m *Machine) xferRead(p rsp.XferRead) rsp.Packet {
	name, annex := string(p.Object), string(p.Annex)
	if objects[name] == nil && !slices.Contains(m.caps.Objects, name) {
		return rsp.Unsupported{}
	}
	var id ThreadID
	if t := m.current(); t != nil {
		id = t.id
	}
	d, ok := m.documents[name]
	if !ok || p.Offset == 0 || d.annex != annex || d.thread != id {
		data, err := m.object(name, annex)
		if errors.Is(err, ErrUnsupported) {
			return rsp.Unsupported{}
		}
		if err != nil {
			return fail(err)
		}
		d = document{annex, id, slices.Clone(data)}
		m.documents[name] = d
	}
	return rsp.Chunk(d.data, p.Offset, p.Length, m.cfg.PacketSize)
}

func (m *Machine) xferWrite(p rsp.XferWrite) rsp.Packet {
	name := string(p.Object)
	if !slices.Contains(m.caps.Writable, name) {
		return rsp.Unsupported{}
	}
	t, err := m.changeable()
	if err != nil {
		return fail(err)
	}
	n, err := m.target.WriteObject(t.id, name, string(p.Annex), p.Offset, p.Data)
	switch {
	case errors.Is(err, ErrUnsupported):
		return rsp.Unsupported{}
	case err != nil:
		return fail(err)
	}
	delete(m.documents, name)
	return rsp.Written{Length: uint64(max(n, 0))}
}

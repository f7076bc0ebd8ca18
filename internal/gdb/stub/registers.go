package stub

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

var _ = []struct{}{
	on((*Machine).readRegisters), on((*Machine).writeRegisters), on((*Machine).readRegister),
	on((*Machine).writeRegister), on((*Machine).saveRegisters), on((*Machine).restoreRegisters),
}

// savedRegisters is a copy that surrounds a call which GDB makes in the program.
type savedRegisters struct {
	thread ThreadID
	data   []byte
}

// maxSaved bounds the copies that are never restored.
const maxSaved = 256

var (
	errInFrame = errors.New("a trace frame is selected, and what it has cannot be changed; leave it with \"tfind none\"")
	errKernel  = errors.New("the kernel is traced and never changed")
)

// stoppedThread is the present thread, if its registers can be read.
func (m *Machine) stoppedThread() (*thread, error) {
	t := m.current()
	switch {
	case t == nil:
		return nil, errors.New("there is no thread")
	case !t.stopped:
		return nil, fmt.Errorf("thread %d is running", t.id.TID)
	}
	return t, nil
}

// registers are those of the selected trace frame or of the present thread.
func (m *Machine) registers() (rsp.Registers, error) {
	if m.exp.SelectedFrame() >= 0 {
		return m.exp.FrameRegisters(), nil
	}
	if m.died() {
		return m.unknown(), nil
	}
	t, err := m.stoppedThread()
	if err != nil {
		return rsp.Registers{}, err
	}
	v, err := m.target.Registers(t.id)
	if err != nil && m.died() {
		return m.unknown(), nil
	}
	return v, err
}

// died says that the selected thread, which GDB takes for one that stands, was killed.
// GDB 13 ends with an internal error ("Assertion `!async_event_handler_marked") if it
// gets an error for its registers.
func (m *Machine) died() bool {
	if m.general.TID == 0 || m.caps.Kernel {
		return false
	}
	m.collect()
	if m.threads[m.general] == nil {
		m.sync()
	}
	return m.threads[m.general] == nil
}

// unknown are registers none of which is known.
func (m *Machine) unknown() rsp.Registers {
	n := m.description().Size
	v := rsp.Registers{Data: make([]byte, n), Missing: make([]bool, n)}
	for i := range v.Missing {
		v.Missing[i] = true
	}
	return v
}

func (m *Machine) readRegisters(rsp.ReadRegisters) rsp.Packet {
	v, err := m.registers()
	if err != nil {
		return fail(err)
	}
	n := m.description().Size
	v.Data, v.Missing = v.Data[:min(n, len(v.Data))], v.Missing[:min(n, len(v.Missing))]
	return rsp.RegisterData{Values: v}
}

// description is that of the registers that GDB knows of.
func (m *Machine) description() *rsp.Target {
	if m.desc != nil {
		return m.desc
	}
	return m.target.Description()
}

// register is the description of one.
func (m *Machine) register(n uint64) (rsp.Register, error) {
	list := m.description().Registers
	if n >= uint64(len(list)) {
		return rsp.Register{}, fmt.Errorf("there is no register %d", n)
	}
	return list[n], nil
}

func (m *Machine) readRegister(p rsp.ReadRegister) rsp.Packet {
	r, err := m.register(p.Number)
	if err != nil {
		return badNumber
	}
	all, err := m.registers()
	if err != nil {
		return fail(err)
	}
	v := part(all, r)
	if len(v.Data) == 0 {
		n := r.Bits / 8
		v = rsp.Registers{Data: make([]byte, n), Missing: make([]bool, n)}
		for i := range v.Missing {
			v.Missing[i] = true
		}
	}
	return rsp.RegisterData{Values: v}
}

// changeable is the thread whose registers may be written now.
func (m *Machine) changeable() (*thread, error) {
	switch {
	case m.exp.SelectedFrame() >= 0:
		return nil, errInFrame
	case m.caps.Kernel:
		return nil, errKernel
	case m.denied["WriteReg"]:
		return nil, errForbidden("write registers")
	}
	return m.stoppedThread()
}

func (m *Machine) writeRegisters(p rsp.WriteRegisters) rsp.Packet {
	t, err := m.changeable()
	if err != nil {
		return fail(err)
	}
	if want := m.description().Size; len(p.Data) != want {
		return failf("%d bytes of registers instead of %d", len(p.Data), want)
	}
	data := p.Data
	if m.desc != nil { // the others stay what they are
		v, err := m.target.Registers(t.id)
		if err != nil {
			return fail(err)
		}
		data = slices.Concat(data, v.Data[min(len(data), len(v.Data)):])
	}
	return done(m.target.SetRegisters(t.id, data))
}

func (m *Machine) writeRegister(p rsp.WriteRegister) rsp.Packet {
	t, err := m.changeable()
	if err != nil {
		return fail(err)
	}
	r, err := m.register(p.Number)
	if err != nil {
		return fail(err)
	}
	if len(p.Data) != r.Bits/8 {
		return failf("%d bytes for register %s, which has %d", len(p.Data), r.Name, r.Bits/8)
	}
	return done(m.target.SetRegister(t.id, r.Number, p.Data))
}

func (m *Machine) saveRegisters(rsp.SaveRegisters) rsp.Packet {
	t, err := m.changeable()
	if err != nil {
		return fail(err)
	}
	if len(m.saved) >= maxSaved {
		return failf("%d copies of registers are kept already", maxSaved)
	}
	v, err := m.target.Registers(t.id)
	if err != nil {
		return fail(err)
	}
	m.nextSaved++
	m.saved[m.nextSaved] = savedRegisters{t.id, append([]byte(nil), v.Data...)}
	return rsp.SavedState{Number: m.nextSaved}
}

func (m *Machine) restoreRegisters(p rsp.RestoreRegisters) rsp.Packet {
	t, err := m.changeable()
	if err != nil {
		return fail(err)
	}
	s, ok := m.saved[p.Number]
	if !ok || s.thread != t.id {
		return failf("no copy %d of the registers of thread %d", p.Number, t.id.TID)
	}
	delete(m.saved, p.Number)
	return done(m.target.SetRegisters(t.id, s.data))
}

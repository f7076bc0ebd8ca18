package stub

import (
	"errors"
	"fmt"
	"slices"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// registers are those of the present thread or of the selected trace frame.
type registers struct {
	*core
	roster    *roster
	reporter  *reporter
	saved     map[uint64]savedRegisters
	nextSaved uint64
}

func (x *registers) reset() { x.saved, x.nextSaved = map[uint64]savedRegisters{}, 0 }

// packets are those that it handles.
func (x *registers) packets() []row {
	return []row{
		on("g", "reads all registers", x.readRegisters),
		on("G", "writes them", x.writeRegisters),
		on("p", "reads a register", x.readRegister),
		on("P", "writes one", x.writeRegister),
		on("QSaveRegisterState", "keeps a copy of all", x.saveRegisters),
		on("QRestoreRegisterState", "writes the copy back", x.restoreRegisters),
	}
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
func (x *registers) stoppedThread() (*thread, error) {
	t := x.roster.current()
	switch {
	case t == nil:
		return nil, errors.New("there is no thread")
	case !t.stopped:
		return nil, fmt.Errorf("thread %d is running", t.id.TID)
	}
	return t, nil
}

// values are those of the selected trace frame or of the present thread.
func (x *registers) values() (rsp.Registers, error) {
	if x.exp.SelectedFrame() >= 0 {
		return x.exp.FrameRegisters(), nil
	}
	if x.died() {
		return x.unknown(), nil
	}
	t, err := x.stoppedThread()
	if err != nil {
		return rsp.Registers{}, err
	}
	v, err := x.target.Registers(t.id)
	if err != nil && x.died() {
		return x.unknown(), nil
	}
	return v, err
}

// died reports whether the selected thread, which GDB believes stopped, was killed.
// GDB 13 ends with an internal error ("Assertion `!async_event_handler_marked") if it
// gets an error for its registers.
func (x *registers) died() bool {
	if x.roster.general.TID == 0 || x.caps.Kernel {
		return false
	}
	x.reporter.collect()
	if x.roster.threads[x.roster.general] == nil {
		x.roster.sync()
	}
	return x.roster.threads[x.roster.general] == nil
}

// unknown are registers none of which is known.
func (x *registers) unknown() rsp.Registers {
	n := x.description().Size
	v := rsp.Registers{Data: make([]byte, n), Missing: make([]bool, n)}
	for i := range v.Missing {
		v.Missing[i] = true
	}
	return v
}

func (x *registers) readRegisters(rsp.ReadRegisters) rsp.Packet {
	v, err := x.values()
	if err != nil {
		return fail(err)
	}
	n := x.description().Size
	v.Data, v.Missing = v.Data[:min(n, len(v.Data))], v.Missing[:min(n, len(v.Missing))]
	return rsp.RegisterData{Values: v}
}

// register is the description of one.
func (x *registers) register(n uint64) (rsp.Register, error) {
	list := x.description().Registers
	if n >= uint64(len(list)) {
		return rsp.Register{}, fmt.Errorf("there is no register %d", n)
	}
	return list[n], nil
}

func (x *registers) readRegister(p rsp.ReadRegister) rsp.Packet {
	r, err := x.register(p.Number)
	if err != nil {
		return badNumber
	}
	all, err := x.values()
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
func (x *registers) changeable() (*thread, error) {
	switch {
	case x.exp.SelectedFrame() >= 0:
		return nil, errInFrame
	case x.caps.Kernel:
		return nil, errKernel
	case x.denied["WriteReg"]:
		return nil, errForbidden("write registers")
	}
	return x.stoppedThread()
}

func (x *registers) writeRegisters(p rsp.WriteRegisters) rsp.Packet {
	t, err := x.changeable()
	if err != nil {
		return fail(err)
	}
	if want := x.description().Size; len(p.Data) != want {
		return failf("%d bytes of registers instead of %d", len(p.Data), want)
	}
	data := p.Data
	if x.desc != nil { // the others stay what they are
		v, err := x.target.Registers(t.id)
		if err != nil {
			return fail(err)
		}
		data = slices.Concat(data, v.Data[min(len(data), len(v.Data)):])
	}
	return done(x.target.SetRegisters(t.id, data))
}

func (x *registers) writeRegister(p rsp.WriteRegister) rsp.Packet {
	t, err := x.changeable()
	if err != nil {
		return fail(err)
	}
	r, err := x.register(p.Number)
	if err != nil {
		return fail(err)
	}
	if len(p.Data) != r.Bits/8 {
		return failf("%d bytes for register %s, which has %d", len(p.Data), r.Name, r.Bits/8)
	}
	return done(x.target.SetRegister(t.id, r.Number, p.Data))
}

func (x *registers) saveRegisters(rsp.SaveRegisters) rsp.Packet {
	t, err := x.changeable()
	if err != nil {
		return fail(err)
	}
	if len(x.saved) >= maxSaved {
		return failf("%d copies of registers are kept already", maxSaved)
	}
	v, err := x.target.Registers(t.id)
	if err != nil {
		return fail(err)
	}
	x.nextSaved++
	x.saved[x.nextSaved] = savedRegisters{t.id, append([]byte(nil), v.Data...)}
	return rsp.SavedState{Number: x.nextSaved}
}

func (x *registers) restoreRegisters(p rsp.RestoreRegisters) rsp.Packet {
	t, err := x.changeable()
	if err != nil {
		return fail(err)
	}
	s, ok := x.saved[p.Number]
	if !ok || s.thread != t.id {
		return failf("no copy %d of the registers of thread %d", p.Number, t.id.TID)
	}
	delete(x.saved, p.Number)
	return done(x.target.SetRegisters(t.id, s.data))
}

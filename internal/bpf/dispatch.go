package bpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// Dispatch is a program on a trace event whose record begins with a number, raw_syscalls:sys_enter or sys_exit. It passes each hit on
// to the program that is set for the number, which gets the same context. A hit of a system call of a 32-bit program, which has other
// numbers, is not passed on.
//
// The kernel takes tens of milliseconds to detach a program from a trace event, one after the other: a Dispatch is one event,
// whatever the number of programs. It is used from one goroutine.
type Dispatch struct {
	k        *Kernel
	target   Target
	programs *ebpf.Map
	prog     *Loaded
	link     *Link
}

// DispatchSize is the number of programs that a Dispatch can call: those of the numbers below.
const DispatchSize = 1024

// dispatchName is the name of the table of programs in the instructions.
const dispatchName = "dispatch"

// recordNumber is the offset of the number in the record.
const recordNumber = 8

// NewDispatch makes a Dispatch at an event, which is not attached yet. A system call is one of a 32-bit program if one of the bits is set
// in the word at an offset in its task_struct.
func (k *Kernel) NewDispatch(group, event string, offset int32, bits uint32) (*Dispatch, error) {
	d := &Dispatch{k: k, target: Target{Kind: Tracepoint, Group: group, Name: event}}
	var err error
	d.programs, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: dispatchName, Type: ebpf.ProgramArray, KeySize: 4, ValueSize: 4, MaxEntries: DispatchSize,
	})
	if err != nil {
		return nil, k.explain(err, &attempt{op: "make a table of programs"})
	}
	d.prog, err = k.Load(Program{Name: "jalon_dispatch", Kind: Tracepoint, Dispatch: d, Insns: dispatchInsns(offset, bits)})
	if err != nil {
		_ = d.programs.Close()
		return nil, err
	}
	return d, nil
}

func dispatchInsns(offset int32, bits uint32) asm.Instructions {
	return asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.FnGetCurrentTaskBtf.Call(),
		asm.LoadMem(asm.R1, asm.R0, int16(offset), asm.Word),
		asm.JSet.Imm(asm.R1, int32(bits), "out"),
		asm.LoadMem(asm.R3, asm.R6, recordNumber, asm.Word),
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.LoadMapPtr(asm.R2, 0).WithReference(dispatchName),
		asm.FnTailCall.Call(),
		asm.Mov.Imm(asm.R0, Tracepoint.Return()).WithSymbol("out"),
		asm.Return(),
	}
}

// Set sets the program for a number. Its kind is Tracepoint.
func (d *Dispatch) Set(number uint32, l *Loaded) error {
	prog, err := l.form(formOne)
	if err == nil {
		err = d.programs.Put(number, prog)
	}
	if err != nil {
		return d.k.explain(err, &attempt{op: fmt.Sprintf("set the program of number %d of %s", number, d.target.String())})
	}
	return nil
}

// Clear ends the hits of the number's program. One in progress may still write its record: see Wait.
func (d *Dispatch) Clear(number uint32) error {
	if err := d.programs.Delete(number); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return wrap("taking a program out of a table", err)
	}
	return nil
}

// Wait returns when no CPU is in a program that was set when it was called and is not any more.
func (d *Dispatch) Wait() error {
	inner := &ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4, MaxEntries: 1}
	in, err := ebpf.NewMap(inner)
	if err != nil {
		return wrap("waiting for programs", err)
	}
	defer func() { _ = in.Close() }()
	m, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.ArrayOfMaps, KeySize: 4, ValueSize: 4, MaxEntries: 1, InnerMap: inner})
	if err != nil {
		return wrap("waiting for programs", err)
	}
	defer func() { _ = m.Close() }()
	// A change of a map of maps waits for a grace period (maybe_wait_bpf_programs, Linux 5.0).
	if err := m.Put(uint32(0), in); err != nil {
		return wrap("waiting for programs", err)
	}
	return nil
}

// Attach begins the hits, if it is not attached.
func (d *Dispatch) Attach() (err error) {
	if d.link == nil {
		d.link, err = d.prog.Attach(d.target)
	}
	return err
}

// Detach ends the hits of all programs, which stay set.
func (d *Dispatch) Detach() (err error) {
	if d.link != nil {
		err = d.link.Close()
		d.link = nil
	}
	return err
}

// Missed is how many hits the kernel skipped because another program was running on the CPU, of whatever number.
func (d *Dispatch) Missed() (uint64, error) {
	st, err := d.prog.Stats()
	return st.Missed, err
}

// Close detaches and frees it.
func (d *Dispatch) Close() error {
	return errors.Join(d.Detach(), d.prog.Close(), d.programs.Close())
}

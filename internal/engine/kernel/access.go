package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Access reads the running kernel from a thread of this process, outside of any hit.
type Access struct{ h *Host }

// OpenAccess finds out whether the kernel lets this user read it.
func OpenAccess() (*Access, error) {
	h, err := Open(Options{})
	if err != nil {
		return nil, err
	}
	if p := h.k.Features().Permission; !p.OK {
		h.Close()
		return nil, &fail.Error{Op: "read the kernel", Err: fail.Denied("no permission: " + p.Text), Remedy: p.Remedy}
	}
	return &Access{h}, nil
}

// Close frees what it holds.
func (a *Access) Close() { a.h.Close() }

// Task is the address of this thread's task_struct.
func (a *Access) Task() (uint64, error) { return a.h.k.CurrentTask() }

// Jiffies are the ticks of the kernel's timer.
func (a *Access) Jiffies() (uint64, error) { return a.h.k.Jiffies() }

// Name is the name of an address of the kernel.
func (a *Access) Name(addr uint64) string { return a.h.Symbol(addr) }

// Read reads memory. readable is false if there is no readable memory at some of the addresses.
func (a *Access) Read(addr uint64, n int) (data []byte, readable bool, err error) {
	data, err = a.h.k.ReadMemory(addr, n)
	if errors.Is(err, unix.EFAULT) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// Symbol is the address of a symbol.
func (a *Access) Symbol(name string) (uint64, error) {
	if addr, ok := a.h.facts.kernel.Address(name); ok {
		return addr, nil
	}
	return 0, fmt.Errorf("the kernel has no symbol %q", name)
}

// PerCPU is the address of a variable of a CPU; 0 if there is no such CPU.
func (a *Access) PerCPU(name string, cpu uint64) (uint64, error) {
	addr, err := a.Symbol(name)
	if err != nil {
		return 0, err
	}
	most, err := ring.PossibleCPUs()
	if err != nil || cpu >= uint64(most) {
		return 0, err
	}
	bases := a.h.facts.perCPU()
	if bases == 0 {
		return 0, errors.New("where the kernel has the variables of its CPUs is not known")
	}
	b, err := a.h.k.ReadMemory(bases+8*cpu, 8)
	if err != nil {
		return 0, err
	}
	return addr + binary.LittleEndian.Uint64(b), nil
}

// Offset is that of a member in a struct.
func (a *Access) Offset(tag, member string) (int64, error) {
	b, err := a.h.facts.btf()
	if err != nil {
		return 0, err
	}
	return b.MemberOffset(tag, member)
}

// Print writes a line to trace_pipe.
func (a *Access) Print(text string) error { return a.h.k.Print(text) }

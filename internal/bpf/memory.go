package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
)

// peeker is a program that copies kernel memory to its map when it is run by BPF_PROG_TEST_RUN (for raw
// tracepoint programs: Linux 5.10). It is not attached.
type peeker struct {
	buf  *Buffer
	prog *Loaded
}

const (
	peekMost = 4096         // bytes of one run, at the start of the buffer
	peekTask = peekMost     // holds the address of the running thread's task_struct
	peekTime = peekMost + 8 // holds the kernel's jiffies
)

// peekInsns: r1 points to two words, address and length.
func peekInsns() asm.Instructions {
	return asm.Instructions{
		asm.LoadMem(asm.R7, asm.R1, 0, asm.DWord),
		asm.LoadMem(asm.R8, asm.R1, 8, asm.DWord),
		asm.LoadMapValue(asm.R9, 0, 0).WithReference("peek"),
		asm.FnGetCurrentTask.Call(),
		asm.StoreMem(asm.R9, peekTask, asm.R0, asm.DWord),
		asm.FnJiffies64.Call(),
		asm.StoreMem(asm.R9, peekTime, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R0, -int32(unix.EINVAL)),
		asm.JGT.Imm(asm.R8, peekMost, "out"),
		asm.Mov.Reg(asm.R1, asm.R9),
		asm.Mov.Reg(asm.R2, asm.R8),
		asm.Mov.Reg(asm.R3, asm.R7),
		asm.FnProbeReadKernel.Call(),
		asm.Return().WithSymbol("out"),
	}
}

// peeking returns the peeker, which the first call makes. k.mu is held.
func (k *Kernel) peeking() (*peeker, error) {
	if k.peeker != nil {
		return k.peeker, nil
	}
	buf, err := k.NewBuffer("peek", 2*peekMost)
	if err != nil {
		return nil, err
	}
	prog, err := k.Load(Program{Name: "jalon_peek", Insns: peekInsns(), Kind: RawTracepoint, Buffers: []*Buffer{buf}})
	if err != nil {
		_ = buf.Close()
		return nil, err
	}
	k.peeker = &peeker{buf, prog}
	return k.peeker, nil
}

func (p *peeker) close() error { return errors.Join(p.prog.Close(), p.buf.Close()) }

// run copies n bytes, at most peekMost, to the start of the buffer.
func (p *peeker) run(addr uint64, n int) error {
	got, err := p.prog.forms[formOne].Run(&ebpf.RunOptions{Context: []uint64{addr, uint64(n)}})
	if err != nil {
		return err
	}
	switch errno := unix.Errno(-int32(got)); errno {
	case 0:
		return nil
	case unix.ERANGE: // not an address of the kernel: refused without trying
		return unix.EFAULT
	default:
		return errno
	}
}

// ReadMemory reads n bytes of the kernel's memory. If part of them cannot be read (unmapped, user memory, a
// device's), nothing is returned and the error wraps EFAULT.
func (k *Kernel) ReadMemory(addr uint64, n int) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("read %d bytes of kernel memory: not a length", n)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p, err := k.peeking()
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, min(n, 1<<20))
	for len(out) < n {
		at := addr + uint64(len(out))
		size := min(n-len(out), peekMost)
		if err := p.run(at, size); err != nil {
			a := attempt{op: fmt.Sprintf("read %d bytes of kernel memory at %#x", size, at)}
			if errors.Is(err, unix.EFAULT) {
				return nil, &fail.Error{Op: a.op, Err: fail.Explain("there is no readable memory", err)}
			}
			return nil, k.explain(err, &a)
		}
		out = append(out, p.buf.mem[:size]...)
	}
	return out, nil
}

// readWord reads a number from the kernel's memory.
func (k *Kernel) readWord(addr uint64, size int) (uint64, error) {
	var word [8]byte
	b, err := k.ReadMemory(addr, size)
	if err != nil {
		return 0, err
	}
	copy(word[:], b)
	return binary.NativeEndian.Uint64(word[:]), nil
}

// CurrentTask returns the address of this thread's task_struct.
func (k *Kernel) CurrentTask() (uint64, error) { return k.currentTask() }

// Jiffies returns the ticks of the kernel's timer.
func (k *Kernel) Jiffies() (uint64, error) { return k.word(peekTime, "read the kernel's jiffies") }

// currentTask returns the address of this thread's task_struct. Other threads of this process have others,
// but share everything that belongs to the process.
func (k *Kernel) currentTask() (uint64, error) {
	return k.word(peekTask, "find this process in the kernel")
}

// word runs the peeker, and returns a number that it stores besides what it reads.
func (k *Kernel) word(at int, op string) (uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p, err := k.peeking()
	if err != nil {
		return 0, err
	}
	if err := p.run(0, 0); err != nil && !errors.Is(err, unix.EFAULT) {
		return 0, k.explain(err, &attempt{op: op})
	}
	return binary.NativeEndian.Uint64(p.buf.mem[at:]), nil
}

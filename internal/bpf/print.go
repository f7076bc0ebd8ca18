package bpf

import (
	"encoding/binary"
	"errors"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
)

// printer is a program that writes the text in its map to the kernel's trace_pipe when it is run by
// BPF_PROG_TEST_RUN. The kernel warns in its log of a program with this helper when it is loaded, so it is made
// only when something is to be printed.
type printer struct {
	buf  *Buffer
	prog *Loaded
}

const (
	// printMost is what the kernel's %s holds, with its NUL.
	printMost  = 512
	printFrame = 8 // of the stack: the format
)

// printInsns prints by the format "%s".
func printInsns() asm.Instructions {
	format := binary.LittleEndian.Uint32([]byte("%s\x00\x00"))
	return asm.Instructions{
		asm.StoreImm(asm.RFP, -printFrame, int64(format), asm.Word),
		asm.Mov.Reg(asm.R1, asm.RFP),
		asm.Add.Imm(asm.R1, -printFrame),
		asm.Mov.Imm(asm.R2, 3),
		asm.LoadMapValue(asm.R3, 0, 0).WithReference("print"),
		asm.FnTracePrintk.Call(),
		asm.Mov.Imm(asm.R0, 0),
		asm.Return(),
	}
}

// Print writes a text to the kernel's trace_pipe, as a line of its own. It is cut to what the kernel takes at once.
func (k *Kernel) Print(text string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.printer == nil {
		buf, err := k.NewBuffer("print", printMost)
		if err != nil {
			return err
		}
		prog, err := k.Load(Program{Name: "jalon_print", Insns: printInsns(), Kind: RawTracepoint, Buffers: []*Buffer{buf}})
		if err != nil {
			_ = buf.Close()
			return err
		}
		k.printer = &printer{buf, prog}
	}
	mem := k.printer.buf.mem[:printMost]
	clear(mem)
	copy(mem[:printMost-1], text)
	if _, err := k.printer.prog.forms[formOne].Run(&ebpf.RunOptions{Context: []uint64{0}}); err != nil {
		return k.explain(err, &attempt{op: "write to trace_pipe"})
	}
	return nil
}

func (p *printer) close() error { return errors.Join(p.prog.Close(), p.buf.Close()) }

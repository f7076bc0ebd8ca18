package bpf

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/ring"
)

// Buffer is memory that programs write and this process reads: the single value of an array map, mapped by
// both. The caller defines its layout (ring.Layout with offsets into this memory). It exists until it is
// closed and the last program that refers to it is closed too.
type Buffer struct {
	name string
	m    *ebpf.Map
	mem  []byte
}

// NewBuffer makes a buffer of size bytes, rounded up to pages, all zero. Programs refer to it by name
// (asm.Instruction.WithReference). Kernels from 6.1 on accept 64 MiB and more; a refused size has its own
// error.
func (k *Kernel) NewBuffer(name string, size uint64) (*Buffer, error) {
	op := fmt.Sprintf("make the kernel's buffer of %d bytes", size)
	size = (size + ring.PageSize - 1) &^ (ring.PageSize - 1)
	if size == 0 || size > math.MaxInt32 {
		return nil, &fail.Error{Op: op, Err: fmt.Errorf("it must have 1 to %d bytes", math.MaxInt32), Remedy: "take a smaller buffer"}
	}
	m, err := ebpf.NewMap(&ebpf.MapSpec{
		Name: objectName(name), Type: ebpf.Array, KeySize: 4, ValueSize: uint32(size), MaxEntries: 1,
		Flags: unix.BPF_F_MMAPABLE,
	})
	if err != nil {
		if errors.Is(err, unix.E2BIG) {
			return nil, &fail.Error{Op: op, Err: fail.Explain("it is larger than this kernel allows", err), Remedy: "take a smaller buffer"}
		}
		return nil, k.explain(err, &attempt{op: op})
	}
	mem, err := unix.Mmap(m.FD(), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		_ = m.Close()
		return nil, &fail.Error{Op: op, Err: os.NewSyscallError("mmap", err), Remedy: "take a smaller buffer, or raise ulimit -v"}
	}
	return &Buffer{name: name, m: m, mem: mem}, nil
}

// Name returns the name by which programs refer to the buffer.
func (b *Buffer) Name() string { return b.name }

// Memory returns the buffer itself, valid until Close. Programs write to it at any time: use atomic loads.
func (b *Buffer) Memory() []byte { return b.mem }

// FD is a descriptor by which others can map the buffer, valid until Close.
func (b *Buffer) FD() int { return b.m.FD() }

// Close unmaps the memory. Attached programs continue to write to their mapping.
func (b *Buffer) Close() error {
	if b.mem == nil {
		return nil
	}
	err := unix.Munmap(b.mem)
	b.mem = nil
	if cerr := b.m.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return wrap("closing the kernel's buffer", err)
	}
	return nil
}

// objectName makes a name that the kernel accepts for a program or a map: at most 15 characters of letters,
// digits, '_' and '.'.
func objectName(s string) string {
	b := []byte(s)
	if len(b) > 15 {
		b = b[:15]
	}
	for i, c := range b {
		if c != '_' && c != '.' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			b[i] = '_'
		}
	}
	return string(b)
}

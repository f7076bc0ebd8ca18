package bpf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"unsafe"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/debuginfo/btf/raw"
)

// The library reads the kernel's BTF for each program that is bound to a function of the kernel, to find the function's number: 20 ms each.
// Iterators are loaded when a recording begins, so loadIter takes the number from jalon's own reader.

// attrProgLoad is union bpf_attr's part for BPF_PROG_LOAD.
type attrProgLoad struct {
	progType, insnCount uint32
	insns, license      unsafe.Pointer
	_                   [2]uint32 // log_level, log_size
	_                   uint64    // log_buf
	_                   uint32    // kern_version
	flags               uint32
	name                [16]byte
	_                   uint32 // prog_ifindex
	attachType          uint32
	_                   [2]uint32 // prog_btf_fd, func_info_rec_size
	_                   uint64    // func_info
	_                   [2]uint32 // func_info_cnt, line_info_rec_size
	_                   uint64    // line_info
	_                   uint32    // line_info_cnt
	attachID            uint32
	_                   [2]uint32 // attach_btf_obj_fd, core_relo_cnt
}

// loadIter loads the program of an iterator; an error is not explained.
func loadIter(spec *ebpf.ProgramSpec) (*ebpf.Program, error) {
	types, err := raw.Kernel()
	if err != nil {
		return nil, err
	}
	of := types.Named("bpf_iter_"+spec.AttachTo, raw.Func)
	if len(of) != 1 {
		return nil, errors.New("the kernel has no such iterator")
	}
	var code bytes.Buffer
	if err := spec.Instructions.Marshal(&code, binary.LittleEndian); err != nil {
		return nil, err
	}
	insns, license := code.Bytes(), append([]byte(spec.License), 0)
	attr := attrProgLoad{
		progType: uint32(unix.BPF_PROG_TYPE_TRACING), insnCount: uint32(len(insns) / 8), insns: unsafe.Pointer(&insns[0]), license: unsafe.Pointer(&license[0]),
		flags: spec.Flags, attachType: uint32(spec.AttachType), attachID: uint32(of[0].ID),
	}
	copy(attr.name[:15], spec.Name)
	fd, err := bpf(unix.BPF_PROG_LOAD, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	for range 5 { // the verifier was interrupted
		if !errors.Is(err, unix.EAGAIN) {
			break
		}
		fd, err = bpf(unix.BPF_PROG_LOAD, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	}
	runtime.KeepAlive(insns)
	runtime.KeepAlive(license)
	runtime.KeepAlive(spec)
	if err != nil {
		return nil, err
	}
	return ebpf.NewProgramFromFD(fd)
}

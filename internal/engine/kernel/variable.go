package kernel

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// variable is the value of a variable of the kernel that print formats name. Many
// kernels have no symbol for the one that is named most.
func (s *sources) variable(name string) (uint64, bool) {
	if name == "vmemmap_base" {
		base, err := s.pages.get(s.e.k.VmemmapBase)
		return base, err == nil
	}
	addr, ok := s.address(name)
	if !ok {
		return 0, false
	}
	b, err := s.e.k.ReadMemory(addr, 8)
	if err != nil {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b), true
}

// jiffiesOf is the kernel's tick count at the time of a record, of which the record has
// the low 32 bits (sema.SData.Jiffies). The others follow from the time since the machine
// was started: the low 32 bits are first all zero 300 seconds after that.
func jiffiesOf(record []byte, hz uint64) (uint64, bool) {
	var now unix.Timespec
	if len(record) < 4 || hz == 0 || unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return 0, false
	}
	about := 1<<32 - 300*hz + uint64(now.Sec)*hz
	low := binary.LittleEndian.Uint32(record)
	return about + uint64(int64(int32(low-uint32(about)))), true
}

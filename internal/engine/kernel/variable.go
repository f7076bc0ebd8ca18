package kernel

import "encoding/binary"

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

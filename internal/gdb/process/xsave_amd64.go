package process

// cpuid is the instruction.
func cpuid(leaf, sub uint32) (eax, ebx, ecx, edx uint32)

// hostXSAVE asks the processor (CPUID leaf 0xd; sub-leaf: the component).
func hostXSAVE() xsaveLayout {
	var l xsaveLayout
	l[xX87].offset, l[xX87].size = 0, xXMM
	l[xSSE].offset, l[xSSE].size = xXMM, 256
	if last, _, _, _ := cpuid(0, 0); last < 0xd {
		return l
	}
	for i := 2; i < xStates; i++ {
		size, offset, _, _ := cpuid(0xd, uint32(i))
		l[i].offset, l[i].size = int(offset), int(size)
	}
	return l
}

package bpf

// syscallEntry begins the names of functions that system calls run once for each call.
const syscallEntry = "__arm64_sys_"

// function is stp x29,x30,[sp,#-16]!; ldp x29,x30,[sp],#16; ret.
var function = []byte{0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6}

// breakpoint is the first byte of the kernel's (brk #5); invalid is no instruction that the kernel can step.
const breakpoint = 0xa0

var (
	breakpoints = []byte{0xa0, 0x00, 0x20, 0xd4}
	invalid     = []byte{0x1f, 0x7c, 0x5f, 0xc8} // ldxr xzr, [x0]
)

// forbidden is a function of the kernel that must not be probed.
const forbidden = "el1_abort"

// entry is the size of the code with which a function of the kernel begins: bti c; then mov x9, x30 and what ftrace changes.
func entry(text []byte) uint64 {
	if text[0] == 0x5f && text[1] == 0x24 {
		return 12
	}
	return 8
}

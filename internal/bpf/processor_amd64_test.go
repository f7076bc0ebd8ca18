package bpf

// syscallEntry begins the names of functions that system calls run once for each call.
const syscallEntry = "__x64_sys_"

// function is push rbp; mov rbp,rsp; pop rbp; ret.
var function = []byte{0x55, 0x48, 0x89, 0xe5, 0x5d, 0xc3}

// breakpoint is the first byte of one; invalid is no instruction.
const breakpoint = 0xcc

var (
	breakpoints = []byte{breakpoint}
	invalid     = []byte{0x06, 0xc3}
)

// forbidden is a function of the kernel that must not be probed.
const forbidden = "do_int3"

// entry is the size of the code with which a function of the kernel begins: endbr64; then a nop of 5 bytes or a call to ftrace.
func entry(text []byte) uint64 {
	if text[0] == 0xf3 && text[1] == 0x0f && text[2] == 0x1e {
		return 4 + 5
	}
	return 5
}

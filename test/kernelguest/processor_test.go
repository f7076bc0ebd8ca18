package kernelguest

import "github.com/jalon-trace/jalon/internal/vmtest"

// processor is what tests name of the guests' processor.
var processor = processors[vmtest.Arch]

// form is an expression at vfs_read of 5,000 bytes, and its value.
type form struct {
	expr string
	want int64
}

var processors = map[string]struct {
	pc, count, buf string   // registers: the instruction pointer, and the third and second argument
	call           string   // the functions of system calls begin with it; they take a pointer to registers
	callArg        string   // its member with the first argument
	pread          string   // number of a system call
	calls          []string // more functions of system calls
	forbidden      string   // a function that must not be probed
	untraced       string   // one that ftrace does not trace
	gdb            string   // a GDB of the host that knows it
	noCounter      string   // a hardware counter that QEMU does not have
	entries        []string // the code with which functions begin, before what a probe may be put on
	forms          []form
	wild           []string // addresses that are unreadable
}{
	"amd64": {
		pc: "$rip", count: "$rdx", buf: "$rsi",
		call: "__x64_sys_", callArg: "di", pread: "17", calls: []string{"kprobe:__ia32_sys_*"},
		forbidden: "do_int3", untraced: "x86_64_start_kernel", noCounter: "hardware:cycles", gdb: "gdb",
		entries: []string{
			"\x0f\x1f\x44\x00\x00",                 // nop
			"\xf3\x0f\x1e\xfa\x0f\x1f\x44\x00\x00", // endbr64; nop
			"\x66\x0f\x1f\x00\x0f\x1f\x44\x00\x00", // sealed: nothing calls it by its address
		},
		forms: []form{{"$rdx", 5000}, {"$edx", 5000}, {"(int)$dl", -120}, {`kaddr("vfs_read") > 0xffffffff80000000`, 1}},
		wild:  []string{"*(int *)0xffffffffff600000"}, // where the page of vsyscall is
	},
	"arm64": {
		pc: "$pc", count: "$x2", buf: "$x1",
		call: "__arm64_sys_", callArg: "regs[0]", pread: "67", calls: []string{"kprobe:ip_*", "kprobe:ext4_*", "kprobe:vfs_*"},
		forbidden: "el1_abort", untraced: "start_kernel", gdb: "gdb-multiarch",
		entries: []string{
			"\xe9\x03\x1e\xaa\x1f\x20\x03\xd5",                 // mov x9, x30; nop
			"\x5f\x24\x03\xd5\xe9\x03\x1e\xaa\x1f\x20\x03\xd5", // bti c; mov x9, x30; nop
			"\x1f\x20\x03\xd5\x1f\x20\x03\xd5",                 // nop; nop
		},
		forms: []form{{"$x2", 5000}, {"$w2", 5000}, {`kaddr("vfs_read") > 0xffff800000000000`, 1}},
	},
}

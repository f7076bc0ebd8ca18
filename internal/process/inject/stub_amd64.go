package inject

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// stubCode is the recovery stub: injected system calls run at its start, lists of them at stubRun, in slack of an executable page
// (memory/slack.go). While jalon lives, the thread stops directly after the syscall instruction and jalon
// restores its registers. If jalon is killed in the middle of an injection, the kernel resumes the thread:
// it then restores its signal mask and registers itself, from the data after the code, and continues where
// it was. Registers that are not mentioned were never changed.
//
// No call runs without it. Source: testdata/recoverystub.S.
const stubCode = "" +
	"0f05" + // syscall
	"b80e000000" + // back: mov $0xe,%eax
	"bf02000000" + // mov $0x2,%edi
	"488d3505010000" + // lea 0x105(%rip),%rsi # 118 <mask>
	"31d2" + // xor %edx,%edx
	"41ba08000000" + // mov $0x8,%r10d
	"0f05" + // syscall
	"488d642480" + // lea -0x80(%rsp),%rsp
	"ff35e0000000" + // push 0xe0(%rip) # 108 <flags>
	"9d" + // popf
	"488da42480000000" + // lea 0x80(%rsp),%rsp
	"488b0588000000" + // mov 0x88(%rip),%rax # c0 <rax>
	"488b0d89000000" + // mov 0x89(%rip),%rcx # c8 <rcx>
	"488b158a000000" + // mov 0x8a(%rip),%rdx # d0 <rdx>
	"488b358b000000" + // mov 0x8b(%rip),%rsi # d8 <rsi>
	"488b3d8c000000" + // mov 0x8c(%rip),%rdi # e0 <rdi>
	"4c8b058d000000" + // mov 0x8d(%rip),%r8 # e8 <r8>
	"4c8b0d8e000000" + // mov 0x8e(%rip),%r9 # f0 <r9>
	"4c8b158f000000" + // mov 0x8f(%rip),%r10 # f8 <r10>
	"4c8b1d90000000" + // mov 0x90(%rip),%r11 # 100 <r11>
	"ff259a000000" + // jmp *0x9a(%rip) # 110 <rip>
	"6690" + // xchg %ax,%ax
	"4c8b1da1000000" + // run: mov 0xa1(%rip),%r11 # 120 <list>
	"498b0b" + // mov (%r11),%rcx
	"488b01" + // mov (%rcx),%rax
	"4885c0" + // test %rax,%rax
	"0f8874ffffff" + // js 2 <back>
	"488b7908" + // mov 0x8(%rcx),%rdi
	"488b7110" + // mov 0x10(%rcx),%rsi
	"488b5118" + // mov 0x18(%rcx),%rdx
	"4c8b5120" + // mov 0x20(%rcx),%r10
	"4c8b4128" + // mov 0x28(%rcx),%r8
	"4c8b4930" + // mov 0x30(%rcx),%r9
	"0f05" + // syscall
	"4c8b1d71000000" + // mov 0x71(%rip),%r11 # 120 <list>
	"498b0b" + // mov (%r11),%rcx
	"48894138" + // mov %rax,0x38(%rcx)
	"4883c140" + // add $0x40,%rcx
	"49890b" + // mov %rcx,(%r11)
	"ebb9" + // jmp 78 <run>
	"90" // nop

// StubData is where the data begin: rax, rcx, rdx, rsi, rdi, r8-r11, flags,
// rip, signal mask, address of the list of calls (list.go).
const (
	StubData = 0xc0
	StubSize = StubData + 13*8
	stubMask = StubData + 11*8
	stubList = StubData + 12*8
	// stubRun is where lists of calls are executed.
	stubRun = 0x78
	// stubCallEnd is where the pc is in the stub's own call.
	stubCallEnd = 0x1d
)

// Recovery returns the data with which a thread with these registers and this signal mask can continue
// without jalon: it is stored after the code, at StubData. A call that the kernel was to restart is
// restarted.
func Recovery(r sys.Regs, mask uint64) []byte {
	if sys.Restarts(&r) {
		r.Uncall()
	}
	var b []byte
	for _, v := range []uint64{r.Rax, r.Rcx, r.Rdx, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.Eflags, r.Rip, mask} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// Stub is the recovery stub, with room for its data.
func Stub() []byte {
	b, err := hex.DecodeString(stubCode)
	if err != nil {
		panic("BUG: inject: the recovery stub: " + err.Error())
	}
	return append(b, make([]byte, StubSize-len(b))...)
}

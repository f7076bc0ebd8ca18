package inject

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

// escapeCode is the recovery stub: injected system calls run at its start, in slack of an executable page
// (memory/slack.go). While jalon lives, the thread stops directly after the syscall instruction and jalon
// restores its registers. If jalon is killed in the middle of an injection, the kernel resumes the thread:
// it then restores its signal mask and registers itself, from the data after the code, and continues where
// it was. Registers that are not mentioned were never changed.
//
// No call runs without it. Source: testdata/recoverystub.S.
const stubCode = "" +
	"0f05" + // syscall
	"b80e000000" + // mov $0xe,%eax
	"bf02000000" + // mov $0x2,%edi
	"488d35bd000000" + // lea 0xbd(%rip),%rsi # d0 <mask>
	"31d2" + // xor %edx,%edx
	"41ba08000000" + // mov $0x8,%r10d
	"0f05" + // syscall
	"488d642480" + // lea -0x80(%rsp),%rsp
	"ff3598000000" + // push 0x98(%rip) # c0 <flags>
	"9d" + // popf
	"488da42480000000" + // lea 0x80(%rsp),%rsp
	"488b0540000000" + // mov 0x40(%rip),%rax # 78 <rax>
	"488b0d41000000" + // mov 0x41(%rip),%rcx # 80 <rcx>
	"488b1542000000" + // mov 0x42(%rip),%rdx # 88 <rdx>
	"488b3543000000" + // mov 0x43(%rip),%rsi # 90 <rsi>
	"488b3d44000000" + // mov 0x44(%rip),%rdi # 98 <rdi>
	"4c8b0545000000" + // mov 0x45(%rip),%r8 # a0 <r8>
	"4c8b0d46000000" + // mov 0x46(%rip),%r9 # a8 <r9>
	"4c8b1547000000" + // mov 0x47(%rip),%r10 # b0 <r10>
	"4c8b1d48000000" + // mov 0x48(%rip),%r11 # b8 <r11>
	"ff2552000000" + // jmp *0x52(%rip) # c8 <rip>
	"6690" // xchg %ax,%ax

// escapeData is where the data begin: rax, rcx, rdx, rsi, rdi, r8-r11, flags,
// rip, signal mask.
const (
	StubData = 0x78
	StubSize = StubData + 12*8
	stubMask = StubData + 11*8
	// escapeCallEnd is where the pc is in the stub's own call.
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

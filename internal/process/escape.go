package process

import (
	"encoding/binary"
	"encoding/hex"

	"golang.org/x/sys/unix"
)

// escapeCode is where injected system calls run, in a page of ours in the
// process. While jalon lives, the thread stops right behind the syscall
// instruction and its registers are put back from outside. When jalon is killed
// in the middle of an injection the kernel lets the thread run on: it then puts
// its signal mask and registers back itself, from the data behind the code, and
// goes on where it was. Registers that are not mentioned were never changed.
//
// The very first injected call in a process, which makes the page, runs without
// this. Source: testdata/escape.S.
const escapeCode = "" +
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
const escapeData = 0x78

// makeEscape makes the page. Where that is refused, calls run from any syscall
// instruction of the process, as the first one does.
func (p *Process) makeEscape(t *task, sp *space) error {
	if sp.escape != 0 || sp.noEscape {
		return nil
	}
	sp.noEscape = true
	addr, err := p.inject(t, sp, unix.SYS_MMAP, 0, pageSize, unix.PROT_READ|unix.PROT_EXEC,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uint64(0), 0)
	if err != nil {
		if gone(err) || p.inj == nil {
			return err
		}
		return nil // refused: a security module, or no memory
	}
	if err := sp.write(addr, escapeBytes()); err != nil {
		return err
	}
	if err := sp.fillEscape(addr, p.inj); err != nil {
		return err
	}
	sp.escape, sp.noEscape = addr, false
	return nil
}

// inheritEscape uses the copy of the parent's page that a forked child has.
func (sp *space) inheritEscape(parent *space) {
	want := escapeBytes()
	got := make([]byte, len(want))
	if parent.escape != 0 && sp.read(parent.escape, got) == nil && string(got) == string(want) {
		sp.escape, sp.inherited = parent.escape, true
	}
}

// fillEscape writes what the thread would need to go on by itself. A call that
// the kernel was to restart is restarted.
func (sp *space) fillEscape(addr uint64, inj *injection) error {
	r := inj.regs
	if restarts(&r) {
		r.Rip -= 2
		if -int64(r.Rax) == erestartBlock {
			r.Rax = unix.SYS_RESTART_SYSCALL
		} else {
			r.Rax = r.Orig_rax
		}
	}
	var b []byte
	for _, v := range []uint64{r.Rax, r.Rcx, r.Rdx, r.Rsi, r.Rdi, r.R8, r.R9, r.R10, r.R11, r.Eflags, r.Rip, inj.mask} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return sp.write(addr+escapeData, b)
}

func escapeBytes() []byte {
	b, err := hex.DecodeString(escapeCode)
	if err != nil {
		panic("BUG: process: the escape code: " + err.Error())
	}
	return b
}

package inject

import (
	"encoding/binary"
	"math/rand"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestRunFilter: filters of the shapes that libseccomp and systemd make, and each
// operation once.
func TestRunFilter(t *testing.T) {
	const kill, allow, errno = 0, 0x7fff0000, 0x00050001
	ld := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	jump := func(op uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	alu := func(op uint16, k uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_ALU | op | unix.BPF_K, K: k}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	retA := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_A}
	arch := []unix.SockFilter{ld(4), jump(unix.BPF_JEQ, 0xc000003e, 1, 0), ret(kill), ld(0)}
	with := func(more ...unix.SockFilter) []unix.SockFilter {
		return append(append([]unix.SockFilter{}, arch...), more...)
	}
	for i, c := range []struct {
		prog []unix.SockFilter
		want uint32
		bad  bool
	}{
		{with(ret(allow)), allow, false},
		{with(jump(unix.BPF_JGE, 0x40000000, 0, 1), ret(errno), jump(unix.BPF_JEQ, 14, 0, 1), ret(kill), ret(allow)), kill, false},
		{with(jump(unix.BPF_JGT, 13, 1, 0), ret(errno), jump(unix.BPF_JGT, 14, 0, 1), ret(kill), ret(allow)), allow, false},
		{with(jump(unix.BPF_JSET, 1, 1, 0), ret(allow), ret(errno)), allow, false},
		{with(ld(16), jump(unix.BPF_JEQ, unix.SIG_SETMASK, 0, 1), ret(errno), ret(allow)), errno, false}, // the first argument
		{with(unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JA, K: 1}, ret(kill), ret(allow)), allow, false},
		{with(alu(unix.BPF_ADD, 5), alu(unix.BPF_MUL, 6), alu(unix.BPF_SUB, 4), alu(unix.BPF_DIV, 10), alu(unix.BPF_LSH, 4), alu(unix.BPF_OR, 3), alu(unix.BPF_XOR, 1), alu(unix.BPF_AND, 0xff), alu(unix.BPF_RSH, 1), alu(unix.BPF_NEG, 0), retA), ^uint32((11<<4|2)>>1) + 1, false},
		{with(unix.SockFilter{Code: unix.BPF_ST, K: 3}, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_IMM, K: 9}, unix.SockFilter{Code: unix.BPF_LDX | unix.BPF_MEM, K: 3}, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_ADD | unix.BPF_X}, unix.SockFilter{Code: unix.BPF_MISC | unix.BPF_TAX}, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_IMM, K: 1}, unix.SockFilter{Code: unix.BPF_MISC | unix.BPF_TXA}, retA), 23, false},
		{with(unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_LEN}, retA), 64, false},
		{with(alu(unix.BPF_ADD, 1)), 0, true},
		{with(alu(unix.BPF_DIV, 0), ret(allow)), 0, true},
		{with(ld(2), ret(allow)), 0, true},
		{with(ld(64), ret(allow)), 0, true},
		{with(jump(unix.BPF_JA, 0xffffffff, 0, 0), ret(allow)), 0, true},
		{with(unix.SockFilter{Code: unix.BPF_LD | unix.BPF_MEM, K: 16}, ret(allow)), 0, true},
	} {
		got, err := runFilter(c.prog, callData(0x1000, unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, 0x2000, 0, 8))
		if (err != nil) != c.bad || got != c.want {
			t.Errorf("filter %d: %#x, %v; want %#x", i, got, err, c.want)
		}
	}
	r := rand.New(rand.NewSource(testkit.Seed(t, 1))) // nothing that a filter may hold harms us
	for range 20000 {
		prog := make([]unix.SockFilter, 1+r.Intn(12))
		for i := range prog {
			b := make([]byte, 8)
			r.Read(b)
			prog[i] = unix.SockFilter{Code: uint16(b[0]), Jt: b[1] & 7, Jf: b[2] & 7, K: binary.LittleEndian.Uint32(b[4:]) >> r.Intn(32)}
		}
		_, _ = runFilter(prog, callData(0, uint64(r.Intn(400))))
	}
}

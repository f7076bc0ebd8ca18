package process

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/fail"
	"github.com/jalon-trace/jalon/internal/process/sys"
)

// Modes in /proc/PID/status (seccomp(2)).
const (
	seccompStrict = 1
	seccompFilter = 2
)

// Actions of a filter by which a call is made.
const (
	retAllow  = 0x7fff0000
	retLog    = 0x7ffc0000
	retAction = 0xffff0000
)

// mayInject refuses where a seccomp filter could answer a call of ours by killing
// the program. With CAP_SYS_ADMIN filters rest during the injection (rest); then they
// must allow what the recovery stub does without jalon (mayRecover). A
// filter that jalon is under as well (the same container) has let jalon's own
// calls pass.
func (p *injector) mayInject(t *task) (rest bool, err error) {
	st, err := sys.ReadStatus(t.TID)
	if err != nil {
		return false, sys.ErrThreadGone
	}
	switch st.Seccomp {
	case 0:
		return false, nil
	case seccompStrict:
		return false, p.strict()
	}
	const suspend = sys.Options | unix.PTRACE_O_SUSPEND_SECCOMP
	if err := sys.SetOptions(t.TID, suspend); err == nil {
		return true, nil
	} else if sys.Gone(err) {
		return false, sys.ErrThreadGone
	}
	if self, err := sys.ReadStatus(os.Getpid()); err == nil && self.Seccomp == seccompFilter && self.Filters == st.Filters {
		return false, nil
	}
	return false, &fail.Error{
		Op:     fmt.Sprintf("run a system call in process %d", p.pid),
		Err:    errors.New("it is under a seccomp filter, which could kill it for the call"),
		Remedy: "run jalon as root (CAP_SYS_ADMIN), or inside the same container",
	}

}

// strict is the refusal for a thread under strict seccomp, whose only calls are read,
// write, exit and rt_sigreturn: any other ends it.
func (p *injector) strict() error {
	return &fail.Error{
		Op:  fmt.Sprintf("run a system call in process %d", p.pid),
		Err: errors.New("it is in strict seccomp mode, where the kernel kills it for any call of ours"),
	}
}

// mustRecover refuses an injection after which a thread could not go on by itself.
func (p *injector) mustRecover(t *task, stub uint64) error {
	st, err := sys.ReadStatus(t.TID)
	if err != nil {
		return sys.ErrThreadGone
	}
	if p.recovers[t.TID] == st.Filters && st.Filters > 0 {
		return nil // looked at before; filters are only ever added
	}
	ok, err := mayRecover(t.TID, stub)
	switch {
	case sys.Gone(err):
		return sys.ErrThreadGone
	case err != nil:
		err = fmt.Errorf("its seccomp filters cannot be read: %w", err)
	case !ok:
		err = errors.New("its seccomp filter forbids rt_sigprocmask, without which a thread would be harmed if jalon were killed")
	default:
		p.recovers[t.TID] = st.Filters
		return nil
	}
	return &fail.Error{Op: fmt.Sprintf("run a system call in process %d", p.pid), Err: err}
}

// mayRecover reports whether a thread's filters allow the call by which the recovery
// stub puts the signal mask back. Filters rest during an injection, but not when jalon is
// killed.
func mayRecover(tid int, stub uint64) (bool, error) {
	for n := uint64(0); ; n++ {
		prog, err := sys.SeccompFilter(tid, n)
		if errors.Is(err, unix.ENOENT) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		action, err := runFilter(prog, callData(stub, unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, stub+stubMask, 0, 8))
		if err != nil {
			return false, err
		}
		if action &= retAction; action != retAllow && action != retLog {
			return false, nil
		}
	}
}

// callData is struct seccomp_data of a call from the stub.
func callData(stub uint64, nr uint64, args ...uint64) []byte {
	le := binary.LittleEndian
	b := le.AppendUint32(nil, uint32(nr))
	b = le.AppendUint32(b, sys.AuditArch)
	b = le.AppendUint64(b, stub+stubCallEnd)
	for i := range 6 {
		v := uint64(0)
		if i < len(args) {
			v = args[i]
		}
		b = le.AppendUint64(b, v)
	}
	return b
}

// filterState is the machine of classic BPF (Documentation/networking/filter.rst), as
// far as seccomp has it.
type filterState struct {
	a, x uint32
	m    [unix.BPF_MEMWORDS]uint32
	data []byte
}

// runFilter gives what a filter returns for a call.
func runFilter(prog []unix.SockFilter, data []byte) (uint32, error) {
	s := filterState{data: data}
	for pc := 0; pc < len(prog); pc++ {
		in := &prog[pc]
		switch in.Code & 7 {
		case unix.BPF_RET:
			if in.Code&0x18 == unix.BPF_A {
				return s.a, nil
			}
			return in.K, nil
		case unix.BPF_JMP:
			skip, err := s.jump(in)
			if err != nil {
				return 0, err
			}
			if skip > len(prog) {
				return 0, sys.ErrFilter
			}
			pc += skip
		default:
			if err := s.step(in); err != nil {
				return 0, err
			}
		}
	}
	return 0, fmt.Errorf("%w: it has no end", sys.ErrFilter)
}

func (s *filterState) operand(in *unix.SockFilter) uint32 {
	if in.Code&unix.BPF_X != 0 {
		return s.x
	}
	return in.K
}

func (s *filterState) jump(in *unix.SockFilter) (skip int, err error) {
	b := s.operand(in)
	var yes bool
	switch in.Code & 0xf0 {
	case unix.BPF_JA:
		return int(in.K), nil
	case unix.BPF_JEQ:
		yes = s.a == b
	case unix.BPF_JGT:
		yes = s.a > b
	case unix.BPF_JGE:
		yes = s.a >= b
	case unix.BPF_JSET:
		yes = s.a&b != 0
	default:
		return 0, sys.ErrFilter
	}
	if yes {
		return int(in.Jt), nil
	}
	return int(in.Jf), nil
}

func (s *filterState) step(in *unix.SockFilter) error {
	switch in.Code & 7 {
	case unix.BPF_LD:
		return s.load(&s.a, in)
	case unix.BPF_LDX:
		return s.load(&s.x, in)
	case unix.BPF_ST, unix.BPF_STX:
		if in.K >= unix.BPF_MEMWORDS {
			return sys.ErrFilter
		}
		s.m[in.K] = s.a
		if in.Code&7 == unix.BPF_STX {
			s.m[in.K] = s.x
		}
		return nil
	case unix.BPF_ALU:
		return s.compute(in)
	}
	if in.Code&0xf8 == unix.BPF_TXA { // BPF_MISC
		s.a = s.x
	} else {
		s.x = s.a
	}
	return nil
}

func (s *filterState) load(to *uint32, in *unix.SockFilter) error {
	switch in.Code & 0xe0 {
	case unix.BPF_IMM:
		*to = in.K
	case unix.BPF_LEN:
		*to = uint32(len(s.data))
	case unix.BPF_MEM:
		if in.K >= unix.BPF_MEMWORDS {
			return sys.ErrFilter
		}
		*to = s.m[in.K]
	case unix.BPF_ABS:
		if in.K%4 != 0 || in.K > uint32(len(s.data)-4) {
			return sys.ErrFilter
		}
		*to = binary.LittleEndian.Uint32(s.data[in.K:])
	default:
		return sys.ErrFilter
	}
	return nil
}

func (s *filterState) compute(in *unix.SockFilter) error {
	b := s.operand(in)
	switch in.Code & 0xf0 {
	case unix.BPF_ADD:
		s.a += b
	case unix.BPF_SUB:
		s.a -= b
	case unix.BPF_MUL:
		s.a *= b
	case unix.BPF_AND:
		s.a &= b
	case unix.BPF_OR:
		s.a |= b
	case unix.BPF_XOR:
		s.a ^= b
	case unix.BPF_LSH:
		s.a <<= b & 31
	case unix.BPF_RSH:
		s.a >>= b & 31
	case unix.BPF_NEG:
		s.a = -s.a
	case unix.BPF_DIV, unix.BPF_MOD:
		if b == 0 {
			return sys.ErrFilter
		}
		if in.Code&0xf0 == unix.BPF_DIV {
			s.a /= b
		} else {
			s.a %= b
		}
	default:
		return sys.ErrFilter
	}
	return nil
}

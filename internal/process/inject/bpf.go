package inject

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/sys"
)

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

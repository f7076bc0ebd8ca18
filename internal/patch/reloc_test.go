package patch

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// Around the block under test lie landings that branches can go to, a callee
// and the end of the run.
const (
	landBack1 = codeAddr - 0x60
	landBack2 = codeAddr - 0x40
	landFwd1  = codeAddr + 0x50
	landFwd2  = codeAddr + 0x70
	callee    = codeAddr + 0x90
	finish    = codeAddr + 0xb0
	blockMax  = 0x48
)

func setMarker(id uint32) []byte {
	b := binary.LittleEndian.AppendUint32([]byte{0xc7, 0x04, 0x25}, marker)
	return binary.LittleEndian.AppendUint32(b, id)
}

// surroundings is the code around the block. The callee hides what a displaced
// call leaves below the stack.
func surroundings() []Region {
	var out []Region
	for i, a := range []uint64{landBack1, landBack2, landFwd1, landFwd2} {
		out = append(out, Region{a, append(setMarker(uint32(i+1)), leave...)})
	}
	out = append(out, Region{callee, append(setMarker(9), 0x6a, 0x55, 0x48, 0x8d, 0x64, 0x24, 0x08, 0xc3)})
	return append(out, Region{finish, leave})
}

// blockMaker builds random blocks of code.
type blockMaker struct {
	rng   *rand.Rand
	pool  []Inst
	code  []byte
	state cpuState
	fill  uint64 // what memory holds: an address to call or to jump to
}

func (m *blockMaker) pc() uint64 { return codeAddr + uint64(len(m.code)) }

// rel adds bytes and a displacement of n bytes to target.
func (m *blockMaker) rel(target uint64, n int, b ...byte) {
	m.code = append(m.code, b...)
	d := target - (m.pc() + uint64(n))
	for i := range n {
		m.code = append(m.code, byte(d>>(8*i)))
	}
}

func (m *blockMaker) landing() uint64 {
	return []uint64{landBack1, landBack2, landFwd1, landFwd2}[m.rng.Intn(4)]
}

// add appends a random instruction: a sampled one or a branch of some kind.
func (m *blockMaker) add() {
	rng := m.rng
	switch rng.Intn(24) {
	case 0:
		m.rel(m.landing(), 1, 0x70|byte(rng.Intn(16)))
	case 1:
		m.rel(m.landing(), 4, 0x0f, 0x80|byte(rng.Intn(16)))
	case 2:
		m.rel(m.landing(), 1, 0xe0|byte(rng.Intn(4)))
		m.state.gpr[1] = uint64(rng.Intn(3))
	case 3:
		m.rel(m.landing(), 1, 0x67, 0xe0|byte(rng.Intn(4)))
		m.state.gpr[1] = uint64(rng.Intn(3)) | uint64(rng.Intn(2))<<32
	case 4:
		m.rel(m.landing(), 1, 0xeb)
	case 5:
		m.rel(m.landing(), 4, 0xe9)
	case 6:
		m.rel(callee, 4, 0xe8)
	case 7:
		m.rel(callee, 4, 0x66, 0x48, 0xe8) // data16 rex.W call
	case 8, 9:
		m.register(2, callee)
	case 10, 11:
		m.memory(2, callee)
	case 12:
		m.register(4, m.landing())
	case 13:
		m.memory(4, m.landing())
	case 14:
		m.fill = m.landing()
		m.code = append(m.code, [][]byte{{0xc3}, {0xf3, 0xc3}, {0xc2, 16, 0}}[rng.Intn(3)]...)
	case 15:
		m.code = append(m.code, [][]byte{{0x54}, {0x9c}, {0x90}, {0x0f, 0x1f, 0x40, 0}, {0xf3, 0x0f, 0x1e, 0xfa}, {0x66, 0x90}, {0xff, 0x34, 0x24}}[rng.Intn(7)]...)
	case 16:
		m.rel(dataMid+uint64(rng.Intn(64)), 4, 0x48, 0x8d, 0x05|byte(rng.Intn(8))<<3) // lea
	default:
		m.sampled(&m.pool[rng.Intn(len(m.pool))])
	}
}

// register appends call or jmp *reg.
func (m *blockMaker) register(digit byte, target uint64) {
	r := byte(m.rng.Intn(16))
	if m.rng.Intn(4) == 0 {
		m.code = append(m.code, []byte{0x3e, 0xf2}[m.rng.Intn(2)]) // notrack, bnd
	}
	if r >= 8 {
		m.code = append(m.code, 0x41)
	}
	m.code = append(m.code, 0xff, 0xc0|digit<<3|r&7)
	if r != 4 {
		m.state.gpr[r] = target
	}
}

// memory appends call or jmp through memory; all of memory holds target.
func (m *blockMaker) memory(digit byte, target uint64) {
	m.fill = target
	start := len(m.code)
	rng := m.rng
	switch rng.Intn(6) {
	case 0:
		m.rel(dataMid+64, 4, 0xff, 0x05|digit<<3)
		return
	case 1: // disp8(%rsp), also below it
		m.code = append(m.code, 0xff, 0x44|digit<<3, 0x24, byte(8*(rng.Intn(8)-4)))
	case 2: // (base)
		m.code = append(m.code, 0xff, 0x00|digit<<3|[]byte{0, 1, 2, 3, 6, 7}[rng.Intn(6)])
	case 3: // disp32(base) with REX
		m.code = append(m.code, 0x41, 0xff, 0x80|digit<<3|[]byte{0, 1, 2, 3, 5, 6, 7}[rng.Intn(7)], 16, 0, 0, 0)
	case 4: // (base, index, 8), rsp as base too
		m.code = append(m.code, 0x4a, 0xff, 0x04|digit<<3, 0xc0|byte(rng.Intn(8))<<3|[]byte{0, 1, 2, 3, 4, 6, 7}[rng.Intn(7)])
	case 5: // absolute
		m.code = binary.LittleEndian.AppendUint32(append(m.code, 0xff, 0x04|digit<<3, 0x25), dataMid)
		return
	}
	in, err := Decode(m.code[start:], codeAddr)
	if err != nil {
		panic(fmt.Sprintf("BUG: block maker: %v", err))
	}
	m.state.pointAt(rng, &in)
}

// sampled appends an instruction of the pool with its rip-relative operand made
// to point into scratch memory.
func (m *blockMaker) sampled(in *Inst) {
	b := append([]byte(nil), in.Bytes()...)
	if in.RIPOff != 0 {
		binary.LittleEndian.PutUint32(b[in.RIPOff:], uint32(dataMid+64-(m.pc()+uint64(in.Len))))
	}
	m.code = append(m.code, b...)
	m.state.pointAt(m.rng, in)
	if in.pfx.rep != 0 && implicitAddress(in) != 0 {
		m.state.gpr[1] = uint64(m.rng.Intn(5))
	}
}

// readsCode reports whether an instruction uses a code address, meant for a
// call, as a data address: it could see the patched bytes.
func (m *blockMaker) readsCode() bool {
	for off := 0; off < len(m.code); {
		in, err := Decode(m.code[off:], codeAddr)
		if err != nil {
			return true
		}
		off += in.Len
		for r := range 16 {
			if in.Mem && (in.Reads|implicitAddress(&in))>>r&1 != 0 && m.state.gpr[r]>>16 == codeAddr>>16 && in.Reads != AllGPR {
				return true
			}
		}
	}
	return false
}

// TestRelocation executes random blocks as they are, and again after a site at
// their start was patched with every tactic that the plan allows, the trampoline
// near or more than 2 GB away. Registers, flags, vector registers, memory, stack
// (and with it the return addresses) and the place reached must be the same.
func TestRelocation(t *testing.T) {
	rng := rand.New(rand.NewSource(testkit.Seed(t, 5)))
	pool := sample(t, rng, 2)
	var f caseFile
	tactics := map[string]int{}
	for range 6000 {
		m := blockMaker{rng: rng, pool: pool, state: randomState(rng), fill: callee}
		for range 1 + rng.Intn(4) {
			m.add()
		}
		m.rel(finish, 4, 0xe9)
		if len(m.code) > blockMax || m.readsCode() {
			continue
		}
		before := append(surroundings(), Region{codeAddr, append([]byte(nil), m.code...)})
		c := &Code{Lo: codeAddr, Hi: codeAddr + uint64(len(m.code)), Bytes: m.code, ReadMem: fillReader(m.fill)}
		for _, avoid := range []uint8{0, 1 << Jump, 1<<Jump | 1<<JumpMany} {
			p, err := Make(c, codeAddr, Options{Avoid: avoid, Boundary: true, Pun: true})
			if err != nil {
				tactics["refused"]++
				break
			}
			tactics[p.Tactic.String()]++
			f.plan(t, p, &m, before)
		}
	}
	ran, faulted := f.run(t)
	t.Logf("%d cases, %d ran, %d faulted in both; tactics %v", len(f.names), ran, faulted, tactics)
	if ran < 10000 {
		t.Errorf("only %d cases ran", ran)
	}
}

func fillReader(fill uint64) func(uint64, int) ([]byte, error) {
	return func(addr uint64, n int) ([]byte, error) {
		b := binary.LittleEndian.AppendUint64(nil, fill)
		return b[:min(n, 8)], nil
	}
}

// plan adds the cases of one plan: through the patched bytes if the trampoline is near, and only the
// trampoline if it is far.
func (f *caseFile) plan(t *testing.T, p *Plan, m *blockMaker, before []Region) {
	t.Helper()
	insert := func(addr, at uint64) ([]byte, error) { return []byte{0x48, 0x8d, 0x64, 0x24, 0x00}, nil }
	name := fmt.Sprintf("%s block % x fill %#x state %x", p.Tactic, m.code, m.fill, m.state.gpr)
	places := []uint64{nearAddr, farAddr}
	for _, r := range p.Ranges() {
		places = append(places, r.Lo+uint64(m.rng.Int63n(int64(r.Hi-r.Lo))))
	}
	for _, at := range places {
		code, pcs, err := p.Emit(at, insert)
		if err != nil {
			if _, far := err.(*FarError); !far || at == nearAddr || p.Reach(at, 256) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for i := range pcs {
			hit := uint64(5)
			if i >= len(p.Insts) {
				hit = 0 // a copy of what follows a punned jump
			}
			if pcs[i].Copy != pcs[i].Entry+hit || pcs[i].End <= pcs[i].Copy || pcs[i].Orig != p.Inst(i).Addr {
				t.Errorf("%s: pcs %+v", name, pcs)
			}
		}
		after, entry := append(before[:len(before):len(before)], Region{at, code}), at
		if edits, err := p.Edits(at); err == nil && p.Tactic != Trapping {
			entry = codeAddr
			for _, e := range edits {
				after = append(after, Region{e.Addr, e.New})
			}
		}
		f.differ(fmt.Sprintf("at %#x: ", at)+name, &m.state, m.fill, codeAddr, before, entry, after)
	}
}

package patch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// Addresses of testdata/run.c.
const (
	dataMid  = 0x10008000
	stackMid = 0x20008000
	exitPtr  = 0x10000008 // holds the address that ends a run
	marker   = 0x10000000 // 32 bits: the landing that was reached
	codeAddr = 0x30001000
	nearAddr = 0x40001000
	farAddr  = 0x700001000
)

// leave ends a run: jmp *exitPtr.
var leave = binary.LittleEndian.AppendUint32([]byte{0xff, 0x24, 0x25}, exitPtr)

// cpuState is the registers by hardware number, and the flags.
type cpuState struct {
	gpr   [16]uint64
	flags uint64
}

// randomState gives registers that are numbers, with those in addrs pointing
// into scratch memory.
func randomState(rng *rand.Rand) (s cpuState) {
	for i := range s.gpr {
		switch rng.Intn(3) {
		case 0:
			s.gpr[i] = rng.Uint64()
		case 1:
			s.gpr[i] = uint64(rng.Intn(300)) - 20
		case 2:
			s.gpr[i] = uint64(rng.Uint32())
		}
	}
	s.gpr[4] = stackMid
	s.flags = 2 | uint64(rng.Intn(0x1000))&0x8d5
	return s
}

// pointAt makes the registers of a memory operand give an address in scratch
// memory.
func (s *cpuState) pointAt(rng *rand.Rand, in *Inst) {
	implicit := implicitAddress(in)
	for r := range 16 {
		if implicit>>r&1 != 0 && r != 4 {
			s.gpr[r] = dataMid + uint64(rng.Intn(16))*64
		}
	}
	if in.modOff == 0 || in.RIPOff != 0 {
		return
	}
	m := in.memory()
	if !m.isMem {
		return
	}
	if m.index >= 0 && m.index != 4 {
		s.gpr[m.index] = uint64(rng.Intn(32))
	}
	if m.base >= 0 && m.base != 4 {
		s.gpr[m.base] = dataMid + uint64(rng.Intn(16))*64 - uint64(int64(m.disp))
	}
}

// implicitAddress is the set of registers that an instruction without a memory
// operand uses as addresses.
func implicitAddress(in *Inst) RegSet {
	switch {
	case in.space == spaceOne && in.opcode >= 0xa4 && in.opcode <= 0xaf && in.opcode != 0xa8 && in.opcode != 0xa9:
		return RSI | RDI
	case in.space == spaceOne && in.opcode == 0xd7:
		return RBX
	case in.opcode == 0xf7 && (in.space == space0F || in.space == spaceVex1):
		return RDI
	case in.space == spaceOne && in.opcode == 0xc9:
		return RBP
	case in.space == space0F38 && in.opcode == 0xf8:
		return 1 << (in.b[in.modOff]>>3&7 | in.pfx.r)
	}
	return 0
}

// caseFile collects cases for run.c.
type caseFile struct {
	buf   bytes.Buffer
	names []string
}

func (f *caseFile) u64(v ...uint64) {
	for _, x := range v {
		f.buf.Write(binary.LittleEndian.AppendUint64(nil, x))
	}
}

func (f *caseFile) state(s *cpuState) { f.u64(s.gpr[:]...); f.u64(s.flags) }

func (f *caseFile) writes(w []Region) {
	f.u64(uint64(len(w)))
	for _, r := range w {
		f.u64(r.Addr, uint64(len(r.Bytes)))
		f.buf.Write(r.Bytes)
	}
}

// masks adds a case that checks the claims about one instruction.
func (f *caseFile) masks(in *Inst, s *cpuState, code []byte) {
	f.names = append(f.names, fmt.Sprintf("% x reads %016b writes %016b flags read %v written %v state %x", code, in.Reads, in.Writes, in.FlagsRead, in.FlagsWritten, s.gpr))
	f.u64(1)
	f.state(s)
	f.u64(0x1122334455667788, codeAddr)
	f.writes([]Region{{codeAddr, append(append([]byte(nil), code...), leave...)}})
	flags := uint64(0)
	if in.FlagsRead {
		flags |= 1
	}
	if in.FlagsWritten {
		flags |= 2
	}
	f.u64(uint64(in.Reads)|uint64(in.Writes)<<16, flags)
}

// differ adds a case that compares two executions.
func (f *caseFile) differ(name string, s *cpuState, fill uint64, entry1 uint64, code1 []Region, entry2 uint64, code2 []Region) {
	f.names = append(f.names, name)
	f.u64(2)
	f.state(s)
	f.u64(fill, entry1)
	f.writes(code1)
	f.u64(entry2, 0x8d5)
	f.writes(code2)
}

// run executes the cases and reports failures. It returns how many ran to
// their end and how many faulted.
func (f *caseFile) run(t *testing.T) (ran, faulted int) {
	t.Helper()
	dir := t.TempDir()
	bin, file := filepath.Join(dir, "run"), filepath.Join(dir, "cases")
	if out, err := exec.Command("gcc", "-O1", "-o", bin, "testdata/run.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if err := os.WriteFile(file, f.buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), bin, file).CombinedOutput()
	if err != nil {
		t.Fatalf("run: %v\n%s", err, out)
	}
	seen := map[string]int{}
	for l := range strings.Lines(string(out)) {
		w := strings.Fields(l)
		if w[0] == "ran" {
			ran, _ = strconv.Atoi(w[1])
			faulted, _ = strconv.Atoi(w[3])
			continue
		}
		n, _ := strconv.Atoi(w[0])
		if seen[f.names[n]]++; len(seen) < 25 && seen[f.names[n]] == 1 {
			t.Errorf("%s: %s", strings.Join(w[1:], " "), f.names[n])
		} else {
			t.Fail()
		}
	}
	return ran, faulted
}

// executable reports whether an instruction can be executed by run.c and has
// the same result each time.
func executable(in *Inst) bool {
	if in.Class != Normal && in.Class != Nop || in.Unknown || in.pfx.seg == 0x64 || in.pfx.seg == 0x65 || in.addr32 {
		return false
	}
	switch in.space {
	case spaceOne:
		switch in.opcode {
		case 0x9d, 0x8e, 0xcd, 0xd9, 0xdb, 0xdd, 0xdf: // popf; segments; x87 control
			return in.opcode >= 0xd9 && !in.Mem
		}
	case space0F:
		switch in.opcode {
		case 0x00, 0x01, 0x31, 0x33, 0xa2, 0xae, 0x02, 0x03: // system, time, cpuid, fsbase
			return false
		case 0xc7: // cmpxchg16b, but rdrand
			return in.Mem && in.b[in.modOff]>>3&7 == 1
		}
	}
	return true
}

// sample gives instructions of the programs, a few for every combination of
// opcode, ModRM form and prefixes, and random encodings.
func sample(t *testing.T, rng *rand.Rand, each int) []Inst {
	t.Helper()
	var out []Inst
	seen := map[string]int{}
	add := func(b []byte) int {
		in, err := Decode(b, codeAddr)
		if err != nil {
			return 1
		}
		key := fmt.Sprint(in.space, in.opcode, in.pfx.rex, in.pfx.w, in.pfx.opsize, in.pfx.rep, in.RIPOff != 0, in.Mem)
		if in.modOff != 0 {
			key += fmt.Sprint(in.b[in.modOff]>>6, in.b[in.modOff]>>3&7)
		}
		if seen[key]++; seen[key] <= each && executable(&in) {
			out = append(out, in)
		}
		return in.Len
	}
	for _, path := range programs(t)[:3] {
		for _, r := range textOf(t, path) {
			for off := 0; off < len(r.Bytes); {
				off += add(r.Bytes[off:])
			}
		}
	}
	code := randomEncodings(rng, 80000)
	for off := 0; off < len(code); off += slot {
		add(code[off:])
	}
	return out
}

// TestMasksByExecution executes instructions with one register changed at a
// time: one that is not in Reads must make no difference, one that is in Writes
// must come out the same, one that is not must not change.
func TestMasksByExecution(t *testing.T) {
	rng := rand.New(rand.NewSource(testkit.Seed(t, 3)))
	insts := sample(t, rng, 1)
	var f caseFile
	for i := range insts {
		in := &insts[i]
		code := append([]byte(nil), in.Bytes()...)
		if in.RIPOff != 0 {
			binary.LittleEndian.PutUint32(code[in.RIPOff:], uint32(dataMid+64-(codeAddr+in.Len)))
		}
		for range 2 {
			s := randomState(rng)
			if in.space == spaceOne && in.opcode >= 0xf6 && in.opcode <= 0xf7 {
				s.gpr[2] = uint64(rng.Intn(3)) // divisions that do not overflow
			}
			s.pointAt(rng, in)
			if in.pfx.rep != 0 && implicitAddress(in) != 0 {
				s.gpr[1] = uint64(rng.Intn(5))
			}
			f.masks(in, &s, code)
		}
	}
	ran, faulted := f.run(t)
	t.Logf("%d instructions, %d cases ran, %d faulted", len(insts), ran, faulted)
	if ran < 5000 {
		t.Errorf("only %d cases ran", ran)
	}
}

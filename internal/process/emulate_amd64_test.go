package process

import (
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestEmulate compares with the CPU: every instruction is executed by both, on the
// same registers.
func TestEmulate(t *testing.T) {
	prog := controlProg(t)
	d := startControl(t, Control{}, prog, "signals")
	tid := d.Pid()
	var page uint64
	stop(t, d.Process, func(s *Stopped) (err error) {
		page, err = s.AllocNear(symbol(t, prog, "target"), memory.PageSize)
		return err
	})
	var codes []string
	for _, n := range []string{ // endbr64 and the forms that assemblers fill up with (Intel SDM vol. 2, NOP)
		"\xf3\x0f\x1e\xfa", "\x90", "\x66\x90", "\x0f\x1f\x00", "\x0f\x1f\x40\x00", "\x0f\x1f\x44\x00\x00",
		"\x66\x0f\x1f\x44\x00\x00", "\x0f\x1f\x80\x00\x00\x00\x00", "\x0f\x1f\x84\x00\x00\x00\x00\x00",
	} {
		codes = append(codes, hex.EncodeToString([]byte(n)))
	}
	codes = append(codes,
		"50", "53", "54", "55", "57", "4155", "4157", "4150", "4055",
		"b844332211", "41bf80ffffff", "bcffffffff",
		"e900010000", "e9f0ffffff", "eb10", "eb80",
		"4889e5", "4989fc", "4c89ef", "4d89c8", "89d8", "4589c1", "4889c0",
		"31c0", "4531ed", "4831ff", "31ed",
		"4883ec18", "4883ec80", "4883c100", "4883e901", "4983ef7f", "4881ec00010000", "4881e880ffffff", "4981ecffffff7f",
		"4883e800", "4883e8ff",
	)
	not := map[string]bool{"4883c100": true} // add
	rng := rand.New(rand.NewPCG(uint64(testkit.Seed(t, 1)), 2))
	interesting := []uint64{0, 1, 0x7f, 0x80, 0xff, 1 << 31, 1<<31 - 1, 1 << 63, 1<<63 - 1, ^uint64(0), 0x10, 0x18}
	for _, text := range codes {
		code, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			r := d.regs(tid)
			g := &r.General
			for n := range byte(16) {
				if reg := gpr(g, n&7, n&8); reg != &g.Rsp {
					if *reg = rng.Uint64(); rng.IntN(2) == 0 {
						*reg = interesting[rng.IntN(len(interesting))]
					}
				}
			}
			g.Rsp &^= 0xfff
			g.Rsp -= 0x100 // a word fits below it
			g.Rip, g.Orig_rax = page+0x400, ^uint64(0)
			g.Eflags ^= uint64(rng.Uint32()) & statusFlags
			full := append(append([]byte(nil), code...), make([]byte, 11)...)
			if err := d.WriteMemory(g.Rip, full); err != nil {
				t.Fatal(err)
			}
			want, at, word := *g, uint64(0), uint64(0)
			ok := emulate(full[:11], &want, func(addr, v uint64) bool { at, word = addr, v; return true })
			if ok == not[text] {
				t.Fatalf("%s: %v", text, ok)
			}
			if err := d.SetRegs(tid, r); err != nil {
				t.Fatal(err)
			}
			if s := d.step(tid); s.Kind != StopStep {
				t.Fatalf("%s: %+v", text, s)
			}
			got := d.regs(tid).General
			if len(code) > 1 && code[len(code)-2] == 0x31 { // xor leaves the adjust flag undefined
				got.Eflags, want.Eflags = got.Eflags&^flagA, want.Eflags&^flagA
			}
			got.Eflags, want.Eflags = got.Eflags&^resumeFlag, want.Eflags&^resumeFlag
			if ok && got != want {
				t.Fatalf("%s:\n%+v\n%+v", text, got, want)
			}
			if at != 0 {
				var b [8]byte
				if _, err := d.ReadMemory(at, b[:]); err != nil || got.Rsp != at || littleEndian(b[:]) != word {
					t.Errorf("%s: pushed %x, want %#x", text, b, word)
				}
			}
		}
	}
}

const resumeFlag = 1 << 16

func littleEndian(b []byte) (v uint64) {
	for i := range b {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// TestEmulateNot: what is not known changes nothing; any bytes do no harm.
func TestEmulateNot(t *testing.T) {
	rng := rand.New(rand.NewPCG(uint64(testkit.Seed(t, 3)), 4))
	for range 100000 {
		code := make([]byte, rng.IntN(12))
		for i := range code {
			code[i] = byte(rng.Uint32())
		}
		r := Regs{PtraceRegs: unix.PtraceRegs{Rsp: 0x1000, Rip: 0x2000}}
		before := r
		if !emulate(code, &r, func(uint64, uint64) bool { return false }) && r != before {
			t.Fatalf("%x changed %+v", code, r)
		}
	}
}

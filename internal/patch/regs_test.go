package patch

import (
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

var regWord = regexp.MustCompile(`%([a-z0-9]+)`)

// regNumber gives the hardware number of a general register by any of its names.
var regNumber = sync.OnceValue(func() map[string]int {
	m := map[string]int{}
	for i, n := range []string{"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"} {
		m["r"+n], m["e"+n], m[n] = i, i, i
		if i < 4 {
			m[n[:1]+"l"], m[n[:1]+"h"] = i, i
		} else {
			m[n+"l"] = i
		}
	}
	for i := 8; i < 16; i++ {
		for _, s := range []string{"", "d", "w", "b"} {
			m["r"+strconv.Itoa(i)+s] = i
		}
	}
	return m
})

// named is the set of general registers in a line of objdump.
func named(text string) (set RegSet) {
	text, _, _ = strings.Cut(text, "#")
	for _, m := range regWord.FindAllStringSubmatch(text, -1) {
		if n, ok := regNumber()[m[1]]; ok {
			set |= 1 << n
		}
	}
	return set
}

// implicit lists what an instruction uses beyond the registers that objdump
// names, by mnemonic without prefix. A trailing * matches any end.
var implicit = []struct {
	name string
	regs RegSet
}{
	{"push*", RSP},
	{"pop", RSP},
	{"popw", RSP},
	{"popq", RSP},
	{"popf*", RSP},
	{"leave*", RSP | RBP},
	{"enter*", RSP | RBP},
	{"mul", RAX | RDX},
	{"mul[bwlq]", RAX | RDX},
	{"imul", RAX | RDX},
	{"imul[bwlq]", RAX | RDX},
	{"div", RAX | RDX},
	{"div[bwlq]", RAX | RDX},
	{"idiv", RAX | RDX},
	{"idiv[bwlq]", RAX | RDX},
	{"cltq", RAX},
	{"cwtl", RAX},
	{"cbtw", RAX},
	{"cqto", RAX | RDX},
	{"cltd", RAX | RDX},
	{"cwtd", RAX | RDX},
	{"lahf", RAX},
	{"sahf", RAX},
	{"cpuid", RAX | RBX | RCX | RDX},
	{"rdtsc", RAX | RDX},
	{"rdtscp", RAX | RDX | RCX},
	{"xgetbv", RAX | RDX | RCX},
	{"rdpmc", RAX | RCX | RDX},
	{"rdpkru", RAX | RCX | RDX},
	{"wrpkru", RAX | RCX | RDX},
	{"clzero", RAX},
	{"cmpxchg", RAX},
	{"cmpxchg8b", RAX | RBX | RCX | RDX},
	{"cmpxchg16b", RAX | RBX | RCX | RDX},
	{"xsave*", RAX | RDX},
	{"xrstor*", RAX | RDX},
	{"mulx", RDX},
	{"loop*", RCX},
	{"jrcxz*", RCX},
	{"jecxz*", RCX},
	{"pcmpestri*", RAX | RDX | RCX},
	{"vpcmpestri*", RAX | RDX | RCX},
	{"pcmpestrm*", RAX | RDX},
	{"vpcmpestrm*", RAX | RDX},
	{"pcmpistri*", RCX},
	{"vpcmpistri*", RCX},
	{"maskmovq", RDI},
	{"maskmovdqu", RDI},
	{"vmaskmovdqu", RDI},
	{"movs[bwlq]", RSI | RDI},
	{"cmps[bwlq]", RSI | RDI},
	{"stos", RAX | RDI},
	{"lods", RAX | RSI},
	{"scas", RAX | RDI},
	{"xlat", RAX | RBX},
	{"tpause", RAX | RDX},
	{"umwait", RAX | RDX},
}

// implicitOf is the table's set for a line, and the set it may use when it is
// repeated.
func implicitOf(text string) RegSet {
	var regs RegSet
	for _, w := range strings.Fields(text) {
		if strings.HasPrefix(w, "rep") {
			regs |= RCX
			continue
		}
		if strings.ContainsAny(w, "%($") {
			break
		}
		for _, e := range implicit {
			if ok, _ := filepath.Match(e.name, w); ok {
				regs |= e.regs
			}
		}
	}
	return regs
}

// checkRegisters compares the union of both masks with the registers in objdump's text: it must have every
// named register, and otherwise only registers that the mnemonic implies.
func checkRegisters(l line, in *Inst) error {
	switch {
	case in.Unknown || in.Reads == AllGPR:
		return nil
	case strings.Contains(l.text, "nop") || in.zero() || strings.HasPrefix(l.text, "pause"):
		return nil
	}
	want, got := named(l.text), in.Reads|in.Writes
	if missing := want &^ got; missing != 0 {
		return fmt.Errorf("%#x: % x %s: registers %016b named but not in reads %016b writes %016b", l.addr, l.code, l.text, missing, in.Reads, in.Writes)
	}
	may := want | implicitOf(l.text)
	if extra := got &^ may; extra != 0 {
		return fmt.Errorf("%#x: % x %s: registers %016b too many", l.addr, l.code, l.text, extra)
	}
	if missing := implicitOf(l.text) &^ RCX &^ got; missing != 0 && !mayOmit.MatchString(l.text) {
		return fmt.Errorf("%#x: % x %s: implicit registers %016b not in reads %016b writes %016b", l.addr, l.code, l.text, missing, in.Reads, in.Writes)
	}
	return nil
}

// mayOmit matches lines whose implicit registers do not follow from the mnemonic: imul has forms with one, two
// and three operands; mul and div of 8 bits do not use rdx.
var mayOmit = regexp.MustCompile(`\b(i?mul|i?div)[bwlq]?\b`)

// zero reports nops, which name registers and do not use them.
func (in *Inst) zero() bool { return in.Class == Nop }

// TestRegistersRandom does for random encodings what TestLengths does for
// programs.
func TestRegistersRandom(t *testing.T) {
	code := randomEncodings(rand.New(rand.NewSource(testkit.Seed(t, 11))), 60000)
	path := filepath.Join(t.TempDir(), "code.bin")
	if err := os.WriteFile(path, code, 0o600); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	objdumpRaw(t, path, func(l line) {
		if in, err := Decode(code[l.addr:], l.addr); err == nil && l.addr%slot == 0 && !l.odd() {
			reportOnce(t, seen, l, checkRegisters(l, &in))
		}
	})
}

func reportOnce(t *testing.T, seen map[string]int, l line, err error) {
	if err == nil {
		return
	}
	key := strings.Fields(l.text)[0]
	if seen[key]++; seen[key] <= 2 && len(seen) < 40 {
		t.Error(err)
	}
}

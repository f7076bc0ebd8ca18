package usdt

import (
	"strconv"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
)

// moreRegisters adds the instruction pointer, and the vector registers: the low part is
// the same register under three names.
func moreRegisters(m map[string]register) {
	m["rip"], m["eip"] = register{num: regIP, bits: 64}, register{num: regIP, bits: 32}
	for i := range amd64.NumXMM {
		for _, x := range []string{"xmm", "ymm", "zmm"} {
			m[x+strconv.Itoa(i)] = register{num: int(amd64.DwarfXMM0) + i, bits: 128}
		}
	}
}

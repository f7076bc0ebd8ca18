package test

import (
	"strings"
	"testing"
)

// TestOtherOrder: numbers in the other byte order, and integers of an unknown number of bits, have no value. The other
// members have theirs.
func TestOtherOrder(t *testing.T) {
	const big = " in big-endian order"
	for cc, want := range map[string]string{
		"gcc": "*in={wide = <unsigned int" + big + ">, narrow = <sign" + big + ">, list = {<short int" + big + ">, <short int" + big + ">}, bits = <unsigned int" + big +
			">, real = <double" + big + ">, plain = <char" + big + `>, text = "abc"} in->wide=<values of type unsigned int` + big + " are not taken> k=7",
		"clang": "*in={wide = <_BitInt of an unknown number of bits>, narrow = <unsigned _BitInt of an unknown number of bits>, plain = 112 'p'} " +
			"in->wide=<values of type _BitInt of an unknown number of bits are not taken> k=7",
	} {
		prog := compile(t, cc, "otherorder.c", "-g", "-O1")
		r := jalon(t, "trace", "show", "-c", "*in, in->wide, k", "--", prog)
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("%s: not %s:\n%s%s", cc, want, r.stdout, r.stderr)
		}
		r = jalon(t, "trace", "show if in->wide == 0x11223344", "--", prog)
		if r.status != 2 || !strings.Contains(r.stderr, "an operand of == cannot be") {
			t.Errorf("%s: a condition: status %d: %s%s", cc, r.status, r.stdout, r.stderr)
		}
	}
}

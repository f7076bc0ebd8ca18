package test

import (
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// TestVectorsOfAVX: a vector of 32 bytes in a register, the elements of both halves, and one in an expression.
func TestVectorsOfAVX(t *testing.T) {
	if !cpu.X86.HasAVX {
		t.Skip("the processor has no AVX")
	}
	for _, cc := range []string{"gcc", "clang"} {
		for _, level := range []string{"-O1", "-O2"} {
			prog := compile(t, cc, "vectors32.c", "-g", level, "-mavx")
			r := jalon(t, "trace", "sums", "-c", "w, d, w[2], w[3], w[4], w[7], d[2], d[3], k + 1", "--", prog)
			want := "w={1, -2, 3, -4, 5, -6, 7, -8} d={1.5, -2.5, 3.5, -4.5} w[2]=3 w[3]=-4 w[4]=5 w[7]=-8 d[2]=3.5 d[3]=-4.5 k + 1=101"
			if r.status != 0 || !strings.Contains(r.stdout, want) {
				t.Errorf("%s %s: not %s:\n%s%s", cc, level, want, r.stdout, r.stderr)
			}
		}
	}
}

package ir_test

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
)

// TestComputeAgainstProcessor gives each pure operation in every width and
// class the operands at which something changes, in all pairs, and random ones,
// and compares with the same computed by gcc and the processor.
func TestComputeAgainstProcessor(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the meaning of floats is x86's; this is " + runtime.GOARCH)
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc: apt install gcc")
	}
	exe := filepath.Join(t.TempDir(), "oracle")
	if out, err := exec.Command("gcc", "-O1", "-fwrapv", "-o", exe, "testdata/oracle.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	var in bytes.Buffer
	var want []uint64
	var lines []string
	for op := ir.Op(0); op < ir.NumOps; op++ {
		for c := ir.I64; c <= ir.F32; c++ {
			for _, w := range []uint8{0, 1, 2, 4, 8} {
				if _, ok := ir.Compute(op, w, c, 0, 0); !ok || !op.Info().Widths.Has(w) {
					continue
				}
				for _, pair := range operands(op, c) {
					r, _ := ir.Compute(op, w, c, pair[0], pair[1])
					want = append(want, r)
					lines = append(lines, fmt.Sprintf("%v %v %d %x %x", op, c, w, pair[0], pair[1]))
					fmt.Fprintln(&in, lines[len(lines)-1])
				}
			}
		}
	}
	cmd := exec.Command(exe)
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	sc := bufio.NewScanner(bytes.NewReader(out))
	for n := range want {
		var got uint64
		if !sc.Scan() {
			t.Fatalf("%d results for %d questions", n, len(want))
		}
		if _, err := fmt.Sscanf(sc.Text(), "%x", &got); err != nil {
			t.Fatal(sc.Text())
		}
		if got != want[n] {
			t.Errorf("%s: Compute gives %#x, the processor %#x", lines[n], want[n], got)
		}
	}
	t.Logf("%d results compared", len(want))
}

// operands are the pairs to compute op with; class c is that of ir.Compute.
func operands(op ir.Op, c ir.Class) [][2]uint64 {
	list := intEdges
	if c != ir.I64 && op.Info().A == ir.FloatOperand {
		list = floatEdges(c)
	}
	r := rand.New(rand.NewSource(int64(op)))
	for range 20 {
		v := r.Uint64() >> r.Intn(64)
		if c == ir.F32 && op.Info().A == ir.FloatOperand {
			v = uint64(uint32(v))
		}
		list = append(list[:len(list):len(list)], v)
	}
	var pairs [][2]uint64
	for _, a := range list {
		if op.Info().B == ir.NoOperand {
			pairs = append(pairs, [2]uint64{a, 0})
			continue
		}
		for _, b := range list {
			pairs = append(pairs, [2]uint64{a, b})
		}
	}
	return pairs
}

var intEdges = []uint64{
	0, 1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 1 << 16,
	math.MaxInt32, 1 << 31, math.MaxUint32, 1 << 32, 1<<32 + 1, 1 << 53, 1<<53 + 1, 1<<53 + 3, 1<<54 + 2, 1<<24 + 1,
	1<<62 + 1<<8 + 1, math.MaxInt64, 1 << 63, 1<<63 + 1, 1<<63 + 1<<10, 1<<63 + 1<<10 + 1, 1<<63 + 1<<39 + 1,
	math.MaxUint64, math.MaxUint64 - 1, math.MaxUint64 - 1<<10, 0xffffffff80000000, 0xffffffff00000001, 0x80000000ffffffff,
}

func floatEdges(c ir.Class) []uint64 {
	values := []float64{
		0, 1, 0.5, 1.5, 2.5, 3, 1e-10, 1e10, 1 << 31, 1 << 32, 1 << 53, 9223372036854774784, 1 << 63, 9223373136366403584, 18446744073709549568, 1 << 64, 1e300,
		math.MaxFloat64, math.SmallestNonzeroFloat64, 2.2250738585072014e-308, math.MaxFloat32, math.SmallestNonzeroFloat32, 1.1754943508222875e-38,
		1 + 1.0/(1<<24), 1 + 1.0/(1<<23), 1e-46, math.Inf(1),
	}
	nans := []uint64{0x7ff8000000000000, 0x7ff0000000000001, 0x7ff123456789abcd, 0x7fffffffffffffff}
	if c == ir.F32 {
		nans = []uint64{0x7fc00000, 0x7f800001, 0x7f812345, 0x7fffffff}
	}
	var bits []uint64
	for _, x := range values {
		for _, y := range []float64{x, -x} {
			if c == ir.F32 {
				bits = append(bits, uint64(math.Float32bits(float32(y))))
			} else {
				bits = append(bits, math.Float64bits(y))
			}
		}
	}
	sign := uint64(1) << 63
	if c == ir.F32 {
		sign = 1 << 31
	}
	for _, n := range nans {
		bits = append(bits, n, n|sign)
	}
	return bits
}

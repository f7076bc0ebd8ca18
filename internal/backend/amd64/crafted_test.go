package amd64

import (
	"math/rand"
	"regexp"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/internal/ring"
	"github.com/jalon-trace/jalon/test/testkit"
)

// crafted are programs for what random ones reach rarely.
var crafted = []struct{ name, text string }{
	{"a register is added to a variable, and the variable takes its place", `
b0:
  v0 = reg rdi
  v1 = fetchaddvar 0, v0
  reserve 32
  put.8 @24, v1
  commit
  exit
`},
	{"rsp as index", `
b0:
  v0 = reg rdi
  v1 = const 7
  v2 = and.8 v0, v1
  v3 = const 8
  v4 = mul.8 v2, v3
  v5 = reg rsp
  v6 = add.8 v4, v5
  v7 = load.8 v6+16
  v8 = const 2
  v9 = mul.8 v5, v8
  v10 = add.8 v0, v9
  v11 = add.8 v5, v5
  v12 = const 4294967296000
  v13 = add.8 v5, v12
  reserve 64
  put.8 @24, v7
  put.8 @32, v10
  put.8 @40, v11
  put.8 @48, v13
  put.8 @56, v5
  commit
  exit
`},
	{"read again behind reserve", `
b0:
  v0 = reg rsp
  v1 = load.4s v0+8
  v2:f64 = fload v0+16
  v3 = load.8 v0+24
  v4 = const 100
  v5 = slt.4 v1, v4
  v6 = reg rdi
  v7 = and.8 v3, v6
  v8 = and.8 v7, v5
  brif v8 -> b1(v1) else b4
b1(v9):
  reserve 80
  put.4 @24, v1
  fput @32, v2
  copy @40, v3, 8 fault b2
  brif v1 -> b3(v3) else b3(v1)
b2(v11):
  put.8 @48, v3
  jump b3(v11)
b3(v12):
  put.8 @56, v12
  put.4 @64, v9
  commit
  exit
b4:
  count 0
  exit
`},
	{"tests of memory", `
b0:
  v0 = reg rsp
  v1 = load.4 v0+8
  v2 = load.4 v0+16
  v3 = and.4 v1, v2
  v4 = reg rdi
  v5 = load.8 v0+24
  v6 = and.8 v5, v4
  brif v3 -> b1 else b2
b1:
  count 1
  jump b2
b2:
  v7 = load.8 v0+32
  v8 = const 255
  v9 = and.8 v7, v8
  brif v9 -> b3 else b4
b3:
  count 2
  jump b4
b4:
  v10 = const 0
  v11 = ne.8 v6, v10
  brif v11 -> b5 else b6
b5:
  count 0
  exit
b6:
  exit
`},
	{"exchange of parameters", `
b0:
  v0 = reg rsp
  v1 = load.8 v0+8
  v2 = load.8 v0+16
  v3 = load.8 v0+24
  v4:f64 = fload v0+32
  v5:f64 = fload v0+40
  v6:f64 = fload v0+48
  v7 = reg rdi
  v8 = const 1
  v9 = and.8 v7, v8
  brif v9 -> b1(v1, v2, v3, v4, v5, v6) else b1(v2, v3, v1, v5, v6, v4)
b1(v10, v11, v12, v13:f64, v14:f64, v15:f64):
  v16 = reg rsi
  brif v16 -> b2(v11, v10, v14, v13, v7) else b2(v12, v12, v15, v15, v16)
b2(v20, v21, v22:f64, v23:f64, v24):
  reserve 128
  put.8 @24, v10
  put.8 @32, v11
  put.8 @40, v12
  fput @48, v13
  fput @56, v14
  fput @64, v15
  put.8 @72, v20
  put.8 @80, v21
  fput @88, v22
  fput @96, v23
  put.8 @104, v24
  commit
  exit
`},
	{"products of the last readable bytes", `
b0:
  v0 = const 17592186056700
  v1 = const 2
  v2 = const 3
  v3 = const 10
  v4 = const 8
  v5 = const -1
  reserve 64
  v6 = load.4 v0 fault b1
  v7 = mul.4 v6, v1
  put.4 @24, v7
  v9 = load.4 v0 fault b1
  v10 = mul.4 v9, v2
  put.4 @28, v10
  v12 = load.4 v0 fault b1
  v13 = mul.4 v12, v3
  put.4 @32, v13
  v15 = load.4 v0 fault b1
  v16 = mul.4 v15, v4
  put.4 @36, v16
  v18 = load.4 v0 fault b1
  v19 = mul.4 v18, v5
  put.4 @40, v19
  jump b2
b1(v8):
  count 1
  put.8 @56, v8
  jump b2
b2:
  commit
  exit
`},
	{"three sizes", `
b0:
  v0 = reg rdi
  brif v0 -> b1 else b2
b1:
  reserve 24
  jump b3
b2:
  reserve 48
  put.8 @40, v0
  jump b3
b3:
  commit
  exit
`},
	{"larger than the ring", `
b0:
  reserve 20480
  commit
  exit
`},
	{"large copies", `
b0:
  v0 = reg rsp
  v1 = const 17592186048512
  reserve 8000
  copy @24, v1, 4096
  copymax @4128, v0, 3000
  commit
  exit
`},
	{"copymax over the end", `
b0:
  v0 = reg rdi
  v1 = const 127
  v2 = and.8 v0, v1
  v3 = const 17592186056576
  v4 = add.8 v3, v2
  reserve 2000
  copymax @24, v4, 512
  v5 = const 17592186056704
  v6 = sub.8 v5, v2
  copymax @544, v6, 100
  v7 = reg rsi
  copymax @652, v7, 1
  copymax @664, v7, 0
  commit
  exit
`},
	{"float constants", `
b0:
  v0:f64 = fconst 0x3ff8000000000000
  v1:f32 = fconst 0x40490fdb
  v2:f64 = fconst 0x0
  v3:f32 = freg xmm3
  v4:f32 = fmul v1, v3
  v5:f64 = freg xmm3
  v6:f64 = fadd v5, v0
  v7 = flt v2, v6
  reserve 80
  fput @24, v0
  fput @32, v1
  fput @40, v2
  fput @48, v4
  fput @56, v6
  putreg.16 @64, xmm3
  commit
  brif v7 -> b1 else b2
b1:
  count 0
  exit
b2:
  exit
`},
}

func parse(t testing.TB, text string) *ir.Program {
	t.Helper()
	p, err := ir.Parse(strings.TrimLeft(text, "\n"))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := ir.Check(p); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCrafted runs them in random states and surroundings, low addresses and
// small site addresses included.
func TestCrafted(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 7)))
	state := irgen.RandomState(r, irgen.Options{})
	e := startExecutor(t, state.Base, state.Mem[:], "low")
	for _, c := range crafted {
		t.Run(c.name, func(t *testing.T) {
			p := parse(t, c.text)
			for round := 0; round < 4; round++ {
				e.reset()
				var trials []*trial
				for len(trials)+statesPerProgram <= maxCases {
					cfg := randomConfig(r, e.nextAddr())
					if r.Intn(3) == 0 {
						cfg.Layout = lowLayout(cfg.Layout)
					}
					if r.Intn(3) == 0 {
						cfg.PC = uint64(r.Intn(1 << 30))
					}
					tr := &trial{p: p, cfg: cfg}
					var err error
					if tr.code, err = compile(p, cfg, randomTuning(r)); err != nil {
						t.Fatal(err)
					}
					more, ok := tr.inStates(e, r, state)
					if !ok {
						break
					}
					trials = append(trials, more...)
				}
				runBatch(t, e, trials)
			}
		})
	}
}

func runBatch(t *testing.T, e *executor, trials []*trial) {
	t.Helper()
	if err := e.run(); err != nil {
		t.Fatalf("%v\n%s", err, trials[min(int(e.word(8)), len(trials)-1)].describe())
	}
	for i, tr := range trials {
		if err := tr.verify(e.output(i)); err != nil {
			t.Fatalf("%v\n%s", err, tr.describe())
		}
	}
}

func lowLayout(l ring.Layout) ring.Layout {
	x := execLayout(lowAddr)
	x.SiteID, x.CPUMask, x.RDPID, x.FSGSBASE, x.RseqCPU = l.SiteID, l.CPUMask, l.RDPID, l.FSGSBASE, l.RseqCPU
	return x
}

// TestPaperCondition holds what the code of the paper's condition is made of.
func TestPaperCondition(t *testing.T) {
	cold := uint64(0x555555560000)
	c, err := Compile(paperProgram(), Config{Addr: 0x555555550000, ColdAddr: cold, Layout: testLayout(0x555555600000), DeadGPR: 1 << RAX, DeadFlags: true})
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, line := range c.Listing() {
		if !strings.HasPrefix(line, ";") {
			text = append(text, strings.TrimSpace(line[45:]))
		}
	}
	want := `^lea \(%rsi,%rsi,2\),%eax
lea \(%rax,%rdi,2\),%eax
test %eax,%eax
jl 0x55555556....
rdpid %rax
and \$0x3,%eax
shl \$0xc,%eax
add .*\(%rip\),%rax.*
lock incq \(%rax\)
`
	if got := strings.Join(text, "\n"); !regexp.MustCompile(want).MatchString(got) {
		t.Errorf("got\n%s", got)
	}
	if len(c.Bytes) > 40 {
		t.Errorf("%d bytes", len(c.Bytes))
	}
}

// TestConfigErrors: what the machine or the layout does not allow is an error.
func TestConfigErrors(t *testing.T) {
	good := Config{Addr: 0x555555550000, Layout: testLayout(0x555555600000)}
	for _, c := range []struct {
		change func(*Config)
		text   string
		want   string
	}{
		{func(c *Config) { c.Layout.RingSize = 3000 }, "b0:\n  exit\n", "ring size is 3000, not a power of two"},
		{func(c *Config) { c.Layout.CPUMask = 2 }, "b0:\n  exit\n", "number of rings is 3"},
		{func(c *Config) { c.Layout.CounterStride = 0 }, "b0:\n  exit\n", "counter stride is 0"},
		{func(c *Config) { c.Layout.RingSize = 1 << 32 }, "b0:\n  exit\n", "larger than 2 GiB"},
		{func(c *Config) { c.Layout.FSGSBASE = false }, "b0:\n  v0 = reg gs_base\n  exit\n", "gs_base"},
		{func(c *Config) {}, "b0:\n  v0 = reg in_use\n  exit\n", "in_use cannot be read"},
		{func(c *Config) { c.Layout.AVX = false }, "b0:\n  reserve 40\n  putreg.16 @24, ymm1h\n  commit\n  exit\n", "ymm1h cannot be read"},
		{func(c *Config) { c.ColdAddr = 0x7f0000000000 }, "b0:\n  v0 = reg rdi\n  v1 = reg rsi\n  v2 = udiv.8 v0, v1\n  brif v2 -> b1 else b2\nb1:\n  count 1\n  exit\nb2:\n  exit\n", "out of reach"},
	} {
		cfg := good
		c.change(&cfg)
		_, err := Compile(parse(t, c.text), cfg)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

// FuzzDifferential runs one random program per input in several states.
func FuzzDifferential(f *testing.F) {
	for seed := int64(0); seed < 16; seed++ {
		f.Add(seed, seed%2 == 0)
	}
	state := irgen.RandomState(rand.New(rand.NewSource(1)), irgen.Options{})
	e := startExecutor(f, state.Base, state.Mem[:])
	f.Fuzz(func(t *testing.T, seed int64, floats bool) {
		r := rand.New(rand.NewSource(seed))
		opt := irgen.Options{Floats: floats, Blocks: 1 + r.Intn(12), Instrs: 1 + r.Intn(24)}
		p := irgen.Random(r, opt)
		e.reset()
		cfg := randomConfig(r, e.nextAddr())
		code, err := compile(p, cfg, randomTuning(r))
		if err != nil {
			t.Fatalf("%v\n%s", err, p)
		}
		tr := &trial{p: p, cfg: cfg, code: code}
		trials, _ := tr.inStates(e, r, state)
		runBatch(t, e, trials)
	})
}

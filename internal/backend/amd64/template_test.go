package amd64

import (
	"bytes"
	"math/rand"
	"reflect"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/internal/ir"
	"github.com/jalon-trace/jalon/internal/ir/irgen"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestTemplate: what a template makes for another site is what Compile makes, byte for byte, for random programs,
// layouts and sites, and for walks along stacks. A template must fit nearly all sites.
func TestTemplate(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	made, without, unfit := 0, 0, 0
	for range envInt("JALON_AMD64_RUNS", 3000) {
		p := irgen.Random(r, irgen.Options{Floats: r.Intn(3) == 0, SegBase: true, Maps: true, NoFlags: r.Intn(4) != 0, Blocks: 1 + r.Intn(10), Instrs: 1 + r.Intn(12)})
		if r.Intn(5) == 0 {
			p = walkProgram(r, int64(1+r.Intn(20)))
		}
		if r.Intn(2) == 0 {
			if err := ir.Optimize(p); err != nil {
				t.Fatal(err)
			}
		}
		cfg := randomConfig(r, codeAddr)
		cfg.ColdAddr, cfg.Layout.Overwrite = codeAddr+1<<16, r.Intn(3) == 0
		if cfg.Layout.Control == farAddr {
			cfg.Constants = execConstants() // without them there are no templates
		}
		cfg.Walk, cfg.Layout.Stacks = cfg.Layout.Control+walkArea, cfg.Layout.Control+walkStacks
		cfg.Layout.FSGSBASE, cfg.Layout.XGETBV1 = true, hasXGETBV1()
		c, err := Compile(p, cfg)
		if err != nil {
			t.Fatalf("%v\n%s", err, p)
		}
		tm := c.Template()
		if tm == nil {
			without++
			continue
		}
		for range 4 {
			other := otherSite(r, cfg)
			want, err := Compile(p, other)
			got := tm.At(other)
			switch {
			case got == nil:
				unfit++
				continue
			case err != nil:
				t.Fatalf("a template for what cannot be compiled: %v\n%s", err, p)
			}
			made++
			if !bytes.Equal(got.Bytes, want.Bytes) || !bytes.Equal(got.Cold, want.Cold) || !slices.Equal(got.Faults, want.Faults) ||
				!slices.Equal(got.Edges, want.Edges) || !slices.Equal(got.Clocks, want.Clocks) || got.Stack != want.Stack || got.guarded != want.guarded {
				t.Fatalf("other code at another site\nfrom %+v\nto %+v\ngot  %x %x\nwant %x %x\n%s", cfg, other, got.Bytes, got.Cold, want.Bytes, want.Cold, p)
			}
		}
	}
	t.Logf("%d times the same; %d programs without a template, %d sites that did not fit", made, without, unfit)
	if without > made/100 || unfit > made/10 {
		t.Error("templates are for too few sites")
	}
}

// TestTemplateFits: a template is for the sites that it names, and for nothing else that Config has: each field, found by
// reflection, is either one that may differ or makes the template unfit.
func TestTemplateFits(t *testing.T) {
	may := map[string]bool{"Addr": true, "ColdAddr": true, "PC": true, "Layout.SiteID": true, "Layout.Counters": true, "Layout.LockedCounters": true, "Layout.Switch": true}
	cfg := Config{Addr: codeAddr, ColdAddr: codeAddr + 1<<16, PC: codeAddr + 1<<18, Layout: execLayout(farAddr), Constants: execConstants(), Maps: execMaps(farAddr)}
	c, err := Compile(paperProgram(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	tm := c.Template()
	if tm == nil || !tm.fits(&cfg) {
		t.Fatal("no template")
	}
	var walk func(v reflect.Value, path string)
	walk = func(v reflect.Value, path string) {
		for i := range v.NumField() {
			f, name := v.Field(i), path+v.Type().Field(i).Name
			old := reflect.New(f.Type()).Elem()
			old.Set(f)
			switch f.Kind() {
			case reflect.Struct:
				walk(f, name+".")
				continue
			case reflect.Slice:
				f.Set(f.Slice(0, f.Len()-1))
			case reflect.Bool:
				f.SetBool(!f.Bool())
			case reflect.Int32:
				f.SetInt(f.Int() + 64)
			default:
				f.SetUint(f.Uint() + 64)
			}
			if tm.fits(&cfg) != may[name] {
				t.Errorf("with another %s the template fits: %v", name, tm.fits(&cfg))
			}
			f.Set(old)
		}
	}
	walk(reflect.ValueOf(&cfg).Elem(), "")
}

// TestTemplateNear: code near the shared memory has templates too, where no register is dead and a counter's address is
// a constant in the code.
func TestTemplateNear(t *testing.T) {
	cfg := Config{Addr: codeAddr, ColdAddr: codeAddr + 1<<16, PC: codeAddr + 1<<18, Layout: execLayout(nearAddr)}
	restartableLayout(&cfg.Layout)
	c, err := Compile(paperProgram(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	other := cfg
	other.Addr, other.ColdAddr, other.PC = cfg.Addr+4096, cfg.ColdAddr+4096, cfg.PC+64
	other.Layout.SiteID += 5
	other.Layout.Counters += 40
	other.Layout.LockedCounters += 40
	other.Layout.Switch += 5
	want, err := Compile(paperProgram(), other)
	if err != nil {
		t.Fatal(err)
	}
	if tm := c.Template(); tm == nil || tm.At(other) == nil || !bytes.Equal(tm.At(other).Cold, want.Cold) {
		t.Error("no template, or another's code")
	}
}

// otherSite is the configuration of another site of the same program.
func otherSite(r *rand.Rand, cfg Config) Config {
	near := int64(1) << (10 + r.Intn(20))
	cfg.Addr += uint64(r.Int63n(near))
	cfg.ColdAddr += uint64(r.Int63n(near) &^ (sequenceAlign - 1))
	if cfg.ColdAddr < cfg.Addr+1<<16 {
		cfg.ColdAddr += uint64(near)
	}
	cfg.PC += uint64(r.Int63n(near))
	if r.Intn(20) == 0 {
		cfg.PC = uint64(r.Int63n(1 << (16 + r.Intn(32))))
	}
	l := &cfg.Layout
	n := uint64(r.Intn(1 << r.Intn(20)))
	l.SiteID += uint32(n)
	l.Counters += 8 * n
	l.LockedCounters += 8 * n
	if l.Switch != 0 {
		l.Switch += n
	}
	return cfg
}

package dwarf

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// kernelSources imitate properties of a kernel's variables: one that only the linker defines and one unit
// declares, and objects in the section of per-CPU objects.
var kernelSources = map[string]string{
	"a.c": `
extern volatile unsigned long ticks;
unsigned long read_ticks(void) { return ticks; }
`,
	"b.c": `
extern unsigned long read_ticks(void);
struct queue { int id; long length; };
__attribute__((section(".data..percpu"))) int first_object = 5;
__attribute__((section(".data..percpu"))) struct queue queues = {1, 2};
static __attribute__((section(".data..percpu"))) long hidden_object = 7;
int plain = 3;
int main(void)
{
	static __attribute__((section(".data..percpu"))) int inner_object = 9;
	return plain + first_object + queues.id + (int)hidden_object + inner_object++ + (int)read_ticks();
}
`,
}

// TestKernelVariables finds both sorts from another unit, at the section's
// address 0 as up to Linux 6.14 and elsewhere.
func TestKernelVariables(t *testing.T) {
	for _, c := range []struct {
		addr string
		code debuginfo.OpCode
	}{
		{"0", debuginfo.OpConst},
		{"0x600000", debuginfo.OpAddr},
	} {
		dir := t.TempDir()
		args := []string{"-g", "-O1", "-fno-pie", "-no-pie", "-nostdlib", "-static", "-Wl,-T,percpu.ld,-e,main,--build-id=none", "-Wl,--defsym=ticks=plain", "-o", "prog"}
		script := "SECTIONS { .data..percpu " + c.addr + " : { *(.data..percpu) } . = 0x800000; .note : { *(.note*) } .text : { *(.text*) } .data : { *(.data*) } }\n"
		if err := os.WriteFile(filepath.Join(dir, "percpu.ld"), []byte(script), 0o600); err != nil {
			t.Fatal(err)
		}
		for name, text := range kernelSources {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, name)
		}
		runIn(t, dir, "gcc", args...)
		m, err := Open(filepath.Join(dir, "prog"), Options{NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		sites, err := m.FuncSites("main")
		if err != nil {
			t.Fatal(err)
		}
		sc, err := m.ScopeForSite(sites[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range []struct {
			name, symbol string
			kind         debuginfo.VarKind
			code         debuginfo.OpCode
		}{
			{"first_object", "first_object", debuginfo.PerCPU, c.code},
			{"queues", "queues", debuginfo.PerCPU, c.code},
			{"hidden_object", "hidden_object", debuginfo.PerCPU, c.code},
			{"inner_object", "", debuginfo.PerCPU, c.code},
			{"plain", "plain", debuginfo.Global, debuginfo.OpAddr},
			{"ticks", "ticks", debuginfo.Global, debuginfo.OpAddr},
		} {
			v, err := sc.Lookup(w.name)
			if err != nil || v.Kind != w.kind || len(v.Loc.Pieces) != 1 || v.Loc.Pieces[0].Expr[0].Code != w.code {
				t.Errorf("%s: %s: %+v %v", c.addr, w.name, v, err)
				continue
			}
			if s := m.Lookup(w.symbol); w.symbol != "" && (len(s) != 1 || int64(s[0].Value) != v.Loc.Pieces[0].Expr[0].Arg) {
				t.Errorf("%s: %s is at %#x, symbols %+v", c.addr, w.name, v.Loc.Pieces[0].Expr[0].Arg, s)
			}
		}
		var nf *debuginfo.NotFoundError
		if _, err := sc.Lookup("tocks"); !errors.As(err, &nf) {
			t.Error(err)
		}
	}
}

package image

import (
	"os/exec"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo/elf"
	"github.com/jalon-trace/jalon/test/testkit"
)

// TestFindLinker: the symbols of the dynamic linker lead to its data for debuggers, whether it is the
// program's interpreter, the program itself, or in a static program, for its dlopen.
func TestFindLinker(t *testing.T) {
	const rBrk = 16
	prog := compile(t, "stand.c")
	file, err := elf.Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	ldso := file.Interp()
	file.Close()
	for _, args := range [][]string{{prog}, {compile(t, "stand.c", "-no-pie")}, {ldso, prog}, {compile(t, "stand.c", "-static")}} {
		cmd := exec.Command(args[0], args[1:]...)
		c := &child{t: t, pid: testkit.StartReady(t, cmd), cmd: cmd}
		read := c.memory()
		l, ok := FindLinker(c.pid, read)
		if !ok || l.debug == 0 {
			t.Errorf("%v: %+v, %t", args, l, ok)
			continue
		}
		// In a static program r_debug is filled by the first dlopen.
		if brk, err := read.word(l.debug + rBrk); err != nil || brk != l.Changed && brk != 0 {
			t.Errorf("%v: %+v; its r_brk is %#x, %v", args, l, brk, err)
		}
		if args[0] == prog {
			if list := c.linkMaps(); list[0].Debug != l.debug {
				t.Errorf("r_debug is at %#x by the program's DT_DEBUG, at %#x by its symbol", list[0].Debug, l.debug)
			}
		}
		if !l.Consistent(read) {
			t.Errorf("%v: nothing is being loaded", args)
		}
		changing := func(addr uint64, b []byte) error {
			err := read(addr, b)
			if addr == l.debug+rState {
				b[0] = 1 // RT_ADD
			}
			return err
		}
		if l.Consistent(changing) {
			t.Errorf("%v: a library is being loaded", args)
		}
		other := func(addr uint64, b []byte) error {
			err := read(addr, b)
			if addr == l.Changed {
				b[0] = 0xcc
			}
			return err
		}
		if l, ok := FindLinker(c.pid, other); ok {
			t.Errorf("%v: there is a breakpoint of another tracer: %+v", args, l)
		}
	}
	stripped := runChild(t, compile(t, "stand.c", "-static", "-s"), nil)
	if l, ok := FindLinker(stripped.pid, stripped.memory()); ok {
		t.Errorf("a static program without symbols has the linker %+v", l)
	}
}

package kernel

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/stub"
)

func TestTarget(t *testing.T) {
	k := open(t)
	if !k.Caps().Kernel || len(k.Processes()) != 1 || !k.Attached(pid) {
		t.Errorf("%+v", k.Caps())
	}
	threads := k.Threads()
	if len(threads) != 1 || !threads[0].Stopped || !strings.Contains(k.Facts(threads[0].ID).Extra, "Linux") {
		t.Errorf("%+v", threads)
	}
	r, err := k.Registers(threads[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := k.k.Address("_stext")
	known := 0
	for _, m := range r.Missing {
		if !m {
			known++
		}
	}
	if at := k.Description().Registers[rip].Offset; known != 8 || binary.LittleEndian.Uint64(r.Data[at:]) != want {
		t.Errorf("registers %x, %d bytes known", r.Data, known)
	}
	for what, err := range map[string]error{
		"memory": k.WriteMemory(pid, want, []byte{1}), "registers": k.SetRegisters(threads[0].ID, nil), "a register": k.SetRegister(threads[0].ID, 0, nil),
		"resume": k.Resume(nil), "halt": k.Halt(nil), "kill": k.Kill(pid),
	} {
		if !errors.Is(err, errNever) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if offset, ok := k.Offsets(); !ok || offset%(2<<20) != 0 || want-offset < linkedLow || want-offset >= linkedLow+(64<<20) {
		t.Errorf("offset %#x, %v", offset, ok)
	}
}

// linkedLow is where files of kernels begin.
const linkedLow = 0xffffffff81000000

func TestMonitor(t *testing.T) {
	k := open(t)
	if _, err := k.Monitor("nonsense"); !errors.Is(err, stub.ErrUnsupported) {
		t.Error(err)
	}
	ask := func(command string) string {
		t.Helper()
		text, err := k.Monitor(command)
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		return text
	}
	for _, m := range monitors {
		if !strings.Contains(ask("help"), "monitor "+m.name) {
			t.Errorf("help says nothing of %s", m.name)
		}
	}
	if text := ask("markers sched:sched_sw*"); !strings.Contains(text, "sched:sched_switch (") || strings.Contains(text, "sched_wakeup") {
		t.Error(text)
	}
	if text := ask("markers nothing*"); !strings.HasPrefix(text, "no static tracepoint") {
		t.Error(text)
	}
	if _, err := k.Monitor("markers [a"); err == nil {
		t.Error("a bad pattern")
	}
	if text := ask("counts"); !strings.HasPrefix(text, "there was no run") { // open has ended it
		t.Error(text)
	}
	s := strace(3, at(t, k.e, "syscalls:sys_enter_getpriority"), byRecord(t))
	start(t, k.e, nil, s)
	call(2)
	if text := ask("counts"); !strings.Contains(text, "tracepoint 3 at syscalls:sys_enter_getpriority, on: 2 hits, ") {
		t.Error(text)
	}
	if err := k.e.Stop(); err != nil {
		t.Fatal(err)
	}
	if text := ask("counts"); !strings.Contains(text, ", off: 2 hits") {
		t.Error(text)
	}
	if ask("offset") == "" || ask("memory") == "" {
		t.Error("nothing said")
	}
}

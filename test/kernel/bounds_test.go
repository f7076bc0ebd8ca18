package kernel

import (
	"debug/elf"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/engine/kernel"
	"github.com/jalon-trace/jalon/internal/probe"
)

func bounds(t testing.TB) (bin string, symbols map[string]uint64) {
	t.Helper()
	bin = compile(t, "gcc", "bounds.S", "-no-pie")
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	symbols = map[string]uint64{}
	for _, s := range list {
		symbols[s.Name] = s.Value
	}
	return bin, symbols
}

// TestBounds: addresses at which no instruction begins are refused with a reason. The program is not
// changed, and ends with 0 only if its counts are right.
func TestBounds(t *testing.T) {
	bin, at := bounds(t)
	for _, tt := range []struct {
		name, place string
		want        []string
		force       string // with --force: "" if it is still refused, otherwise the warning
	}{
		{"inside the first instruction", "leaf+3", []string{"no instruction begins at leaf+3", "inside that of 9 bytes at leaf", "leaf+9"}, ""},
		{"inside, by address", hex(at["leaf"] + 10), []string{"no instruction begins at leaf+10", "at leaf+9", "leafnop"}, ""},
		{"a table of jumps", hex(at["table"] + 16), []string{"not certain", "may be data", "--force"}, ""},
		{"behind a lock prefix", hex(at["locked"] + 7), []string{"two ways", "--force"}, "two ways"},
		{"untyped words", hex(at["words"]), []string{"not certain", "--force"}, ""},
		{"untyped words by name", "words+6", []string{"not certain"}, ""},
		{"an object in the text", hex(at["numbers"] + 8), []string{"is data: byte 8 of the object numbers"}, ""},
		{"data", hex(at["counter"]), []string{"is not code"}, ""},
		{"a nop over the red zone", "leaf+18", []string{"Linux 6.18", "below the stack pointer", "--force"}, ""},
		{"outside the file", "0x123456789", []string{"is not code"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.want[0], "6.18") && !since(6, 18) {
				skip(t, "the kernel is older than 6.18")
			}
			p := jalon(t, "trace", "uprobe:"+bin+":"+tt.place, "--engine=kernel", "--", bin)
			for _, want := range tt.want {
				if !strings.Contains(p.Errs.String(), want) {
					t.Errorf("no %q in:\n%s", want, p.Errs.String())
				}
			}
			if p.Status != 2 {
				t.Errorf("status %d, want 2", p.Status)
			}
		})
	}
}

func hex(a uint64) string { return fmt.Sprintf("%#x", a) }

// since compares the running kernel's version.
func since(major, minor int) bool {
	out, err := exec.Command("uname", "-r").Output()
	if err != nil {
		return false
	}
	f := strings.SplitN(string(out), ".", 3)
	a, _ := strconv.Atoi(f[0])
	b, _ := strconv.Atoi(strings.TrimRight(f[1], "-abcdefghijklmnopqrstuvwxyz\n"))
	return a > major || a == major && b >= minor
}

// TestEveryByte inserts uprobes at all bytes of the code at which jalon allows one: the program's counts
// are right. jalon refuses, with a reason, instructions that the kernel cannot step.
func TestEveryByte(t *testing.T) {
	bin, at := bounds(t)
	e := kernel.Inspect(kernel.Options{})
	defer e.Close()
	args := []string{"--engine=kernel"}
	for a := at["main"]; a < at["hidden"]+6; a++ {
		place := "uprobe:" + bin + ":" + hex(a)
		p, err := probe.Parse(place)
		if err != nil {
			t.Fatal(err)
		}
		switch a {
		case at["leafnop"], at["lock"], at["syscall"]: // refused only by the running kernel
			continue
		}
		if _, err := e.Describe(p); err == nil {
			args = append(args, place)
		}
	}
	tr := run(t, append(args, "--", bin)...)
	if tr.Status != 0 {
		t.Errorf("status %d\n%s", tr.Status, tr.Errs.String())
	}
	t.Logf("%d uprobes in %d bytes", len(args)-1, at["hidden"]+6-at["main"])
	if n := tr.counts().Hits; n < 1000*20 {
		t.Errorf("%d hits", n)
	}
}

// TestNotStepped: the kernel's refusal of an instruction is reported also for a program
// that no process runs.
func TestNotStepped(t *testing.T) {
	bin, at := bounds(t)
	for _, more := range [][]string{{"--all", "-d", "100ms"}, {"--engine=kernel", "--", bin}} {
		p := jalon(t, append([]string{"trace", "uprobe:" + bin + ":" + hex(at["lock"])}, more...)...)
		if p.Status != 2 || !strings.Contains(p.Errs.String(), "cannot put a probe on this instruction") {
			t.Errorf("status %d:\n%s", p.Status, p.Errs.String())
		}
	}
}

package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/jalon-trace/jalon/internal/arch/host"
)

// registersOf runs GDB with commands on a program under jalon gdbserver and returns
// the lines of `info all-registers` and the values of more expressions, by name.
func registersOf(t *testing.T, program string, more []string, commands ...string) map[string]string {
	t.Helper()
	need(t, "gdb", "timeout")
	script := filepath.Join(t.TempDir(), "script")
	lines := append([]string{
		"set pagination off", "set confirm off", "set width 0", "set sysroot /", "set debuginfod enabled off",
		"target remote | " + jalonBin + " gdbserver --once - " + program,
		"tbreak main", "continue", // the libraries have their addresses
	}, commands...)
	lines = append(lines, "echo registers\\n", "info all-registers")
	for _, x := range more {
		lines = append(lines, "echo "+x+" =", "output/x $"+x, "echo \\n")
	}
	lines = append(lines, "echo end\\n", "tfind none", "kill")
	if err := os.WriteFile(script, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("timeout", "60", "gdb", "-l", "60", "-nx", "-q", "-batch", "-x", script, program).CombinedOutput()
	_, text, found := strings.Cut(string(out), "registers\n")
	text, _, ended := strings.Cut(text, "end\n")
	if err != nil || !found || !ended {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	regs := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^([\w.]+) +(.*)$`).FindAllStringSubmatch(text, -1) {
		regs[m[1]] = m[2]
	}
	return regs
}

// compareRegisters requires all registers of b in a, except those that missing matches.
func compareRegisters(t *testing.T, a, b map[string]string, missing string) {
	t.Helper()
	gone := regexp.MustCompile(missing)
	same := 0
	for name, want := range b {
		switch got := a[name]; {
		case gone.MatchString(name):
			if !strings.Contains(got, "unavailable") {
				t.Errorf("%s is %s", name, got)
			}
		case got != want:
			t.Errorf("%s is %s, want %s", name, got, want)
		default:
			same++
		}
	}
	for _, name := range []string{"st0", "st4", "ftag", "mxcsr", "ds", "fs_base", "xmm15.v2_int64"} {
		if b[name] == "" {
			t.Errorf("GDB shows no %s", name)
		}
	}
	t.Logf("%d registers are the same", same)
}

// TestRegisters: the registers that a tracepoint collects by $regs are those that a breakpoint at the same
// place shows: at a hit in the process all except those of AVX-512 and pkru, in the steps after it all.
func TestRegisters(t *testing.T) {
	var flags []string
	if cpu.X86.HasAVX {
		flags = append(flags, "-mavx")
	}
	if cpu.X86.HasAVX512F {
		flags = append(flags, "-mavx512f")
	}
	flags = append(flags, "-g", "-O1")
	more := []string{"fs_base", "gs_base", "orig_rax"}
	for n := range 16 {
		more = append(more, fmt.Sprintf("xmm%d.v2_int64", n))
		if cpu.X86.HasAVX {
			more = append(more, fmt.Sprintf("ymm%d.v4_int64", n))
		}
	}
	trace := func(action ...string) []string {
		c := append([]string{"trace *here", "actions"}, action...)
		return append(c, "end", "break done", "tstart", "continue", "tstop")
	}
	stop := []string{"break *here", "continue", "continue"}
	var program string
	for _, variant := range [][]string{{"-DNO_AVX", "-DNO_X87"}, {"-DNO_X87", "-DMXCSR=0x7f80"}, {"-DNO_AVX", "-DMXCSR=0x5fa1"}, {}} {
		program = compile(t, "gcc", "registers.c", append(variant, flags...)...)
		hit := registersOf(t, program, more, append(trace("collect $regs"), "tfind 1")...)
		stopped := registersOf(t, program, more, stop...)
		t.Logf("%s: ftag %s, st0 %s, mxcsr %s", variant, stopped["ftag"], stopped["st0"], stopped["mxcsr"])
		without := `^(k\d|zmm\d+|[xy]mm(1[6-9]|2\d|3[01])h?|pkru)$`
		if !host.X86().FSGSBASE { // gs_base cannot be read at a hit
			without += `|^gs_base$`
		}
		compareRegisters(t, hit, stopped, without)
	}
	step := registersOf(t, program, more, append(trace("collect $rip", "while-stepping 2", "collect $regs", "end"), "tfind 4")...)
	compareRegisters(t, step, registersOf(t, program, more, append(stop, "delete", "stepi")...), `^$`)
}

// TestDeadRegistersShown: a place may destroy a register that the program does not read again, but not if another place shows it,
// which may be a uprobe: shown+19 has no room for a jump, because shown+21 is a place too.
func TestDeadRegistersShown(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "deadregs.c", "-O2")
	many := "$rax, $rdi, $rsi, $rsp, $rbx, $rbp"
	for _, engine := range []string{"auto", "process", "kernel"} {
		for _, behind := range [][]string{nil, {"shown+21", "-c", "1"}} {
			file := filepath.Join(t.TempDir(), "events")
			args := append([]string{"trace", "-o", file, "--engine", engine, "shown+13", "-c", many, "shown+19", "-c", "$r15"}, behind...)
			res := jalon(t, append(args, "--", prog)...)
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err, res.stderr)
			}
			for i := range 5 {
				if want := fmt.Sprintf(" $r15=%d\n", 0x1234+i); !strings.Contains(string(b), want) {
					t.Errorf("%s, %q: no %q in\n%s%s", engine, behind, want, b, res.stderr)
				}
			}
		}
	}
}

// TestRegistersOfOthers: where another tracer has a uprobe in a function, places of that function change no registers,
// also those that the program does not read again.
func TestRegistersOfOthers(t *testing.T) {
	need(t, "gcc")
	prog := compile(t, "gcc", "deadregs.c", "-O2")
	target := start(t, prog, "many")
	pid := strconv.Itoa(target.Pid())
	shown := filepath.Join(t.TempDir(), "shown")
	other := start(t, jalonBin, "trace", "-o", shown, "--engine", "kernel", "shown+19", "-c", "$r15", "-p", pid)
	lines := func() int {
		b, _ := os.ReadFile(shown)
		return strings.Count(string(b), "$r15=")
	}
	eventually(t, "the uprobe has hits", func() bool { return lines() > 0 })
	res := jalon(t, "trace", "-n", "50", "--engine", "process", "-c", "$rax, $rdi, $rsi, $rsp, $rbx, $rbp", "shown+13", "-p", pid)
	if n := strings.Count(res.stdout, "$rbp="); n != 50 {
		t.Errorf("%d hits: %s", n, res.stderr)
	}
	other.Signal(syscall.SIGTERM)
	other.Wait()
	b, err := os.ReadFile(shown)
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`\$r15=(\d+)`).FindAllStringSubmatch(string(b), -1)
	for _, m := range list {
		if v, _ := strconv.Atoi(m[1]); v < 0x1234 || v > 0x1234+4 {
			t.Fatalf("$r15 is %s", m[1])
		}
	}
	if len(list) < 50 {
		t.Errorf("%d hits of the uprobe", len(list))
	}
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// observerRows are the tools of the uprobes paper's table 1 and jalon on the same calls: a function of a shared
// library, and a cheap system call.
func observerRows() []*measured {
	library, system := "calls library", "calls system"
	return []*measured{
		{name: "ltrace -c: function calls", base: library, run: func(b *bench) ([]float64, error) {
			return b.observe("library", 300, "ltrace", "-o", os.DevNull, "-c", "-e", "library_function")
		}},
		{name: "gdb -batch: function calls", base: library, run: func(b *bench) ([]float64, error) { return b.breakpoint() }},
		{name: "strace -c: system calls", base: system, run: func(b *bench) ([]float64, error) {
			return b.observe("system", 1000, "strace", "-o", os.DevNull, "-c")
		}},
		{name: "bpftrace uprobe: function calls", base: library, run: func(b *bench) ([]float64, error) {
			return b.observeOutside("library", 5000, "bpftrace", "-e", "uprobe:"+b.callsLibrary()+":library_function { @ = count(); }", "-c")
		}},
		{name: "jalon: function calls, counted", base: library, run: func(b *bench) ([]float64, error) {
			return b.observe("library", b.n, b.jalon, "trace", "library_function if counter1 == -1", "-f", "none", "--")
		}},
		{name: "jalon: function calls, recorded", base: library, run: func(b *bench) ([]float64, error) {
			return b.observe("library", b.n, b.jalon, "trace", "library_function", "-c", "counter1, counter2", "-f", "none", "--")
		}},
		{name: "jalon: system calls, counted", base: system, run: func(b *bench) ([]float64, error) {
			return b.observe("system", b.n, b.jalon, "trace", "rawtracepoint:sys_enter if id == -1", "-f", "none", "--")
		}},
		{name: "jalon: system calls, recorded", base: system, run: func(b *bench) ([]float64, error) {
			return b.observe("system", b.n, b.jalon, "trace", "rawtracepoint:sys_enter if id == 110", "-c", "id, regs", "-f", "none", "--")
		}},
	}
}

func (b *bench) callsLibrary() string { return filepath.Join(filepath.Dir(b.work), "libcalls.so") }

// calls compiles the program and its library.
func (b *bench) calls() (string, error) {
	prog, lib := filepath.Join(filepath.Dir(b.work), "calls"), b.callsLibrary()
	if _, err := os.Stat(prog); err == nil {
		return prog, nil
	}
	for _, args := range [][]string{
		{"-O2", "-g", "-shared", "-fPIC", "-DLIBRARY", "-o", lib, "bench/work/calls.c"},
		{"-O2", "-g", "-o", prog, "bench/work/calls.c", lib},
	} {
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			return "", fmt.Errorf("building the workload: %w: %s", err, out)
		}
	}
	return prog, nil
}

// observe runs the calls behind a command.
func (b *bench) observe(mode string, n int, command ...string) ([]float64, error) {
	prog, err := b.calls()
	if err != nil {
		return nil, err
	}
	return installed(append(command, prog, mode, strconv.Itoa(n), strconv.Itoa(b.reps), "10"))
}

// observeOutside runs the calls as one word of a command that splits it.
func (b *bench) observeOutside(mode string, n int, command ...string) ([]float64, error) {
	prog, err := b.calls()
	if err != nil {
		return nil, err
	}
	return installed(append(command, fmt.Sprintf("%s %s %d %d", prog, mode, n, b.reps)))
}

// installed runs a command, if it is installed, and reads its times.
func installed(command []string) ([]float64, error) {
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil, fmt.Errorf("%s is not installed", command[0])
	}
	return times(exec.Command(command[0], command[1:]...))
}

// breakpoint counts calls by a breakpoint of gdb that continues.
func (b *bench) breakpoint() ([]float64, error) {
	prog, err := b.calls()
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`set pagination off
set confirm off
set debuginfod enabled off
set breakpoint pending on
set $calls = 0
break library_function
commands
silent
set $calls = $calls + 1
continue
end
run library 100 %d
`, b.reps)
	script := b.work + ".breakpoint"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return installed([]string{"gdb", "-nx", "-batch", "-x", script, prog})
}

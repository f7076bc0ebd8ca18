package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// summary is the output of `jalon trace --summary-json`.
type summary struct {
	ArmedMS float64 `json:"armed_ms"`
	PauseUS float64 `json:"pause_us"`
	Sites   int     `json:"sites"`
	Hits    uint64  `json:"hits"`
	Lost    uint64  `json:"lost"`
}

// generated returns a C unit with debug information of many functions and types, about 1 MB as an object
// file.
func generated(functions int) string {
	var s strings.Builder
	s.WriteString("#include <stddef.h>\n")
	for i := 0; i < functions; i++ {
		fmt.Fprintf(&s, `struct item_%[1]d { int id; long weight; const char *name; struct item_%[1]d *next; char tag[%[2]d]; };
__attribute__((noinline)) long walk_%[1]d(struct item_%[1]d *first, int limit)
{
	long sum = 0;
	for (struct item_%[1]d *it = first; it != NULL; it = it->next) {
		if (it->id > limit)
			sum += it->weight * %[2]d;
		else
			sum -= it->tag[it->id & 7];
	}
	return sum;
}
`, i, 8+i%40)
	}
	s.WriteString("long unit_entry(int n)\n{\n\tlong s = 0;\n")
	for i := 0; i < functions; i++ {
		fmt.Fprintf(&s, "\ts += walk_%d(NULL, n);\n", i)
	}
	s.WriteString("\treturn s;\n}\n")
	return s.String()
}

// bigBinary links copies of the generated unit until the file is about mb megabytes large.
func bigBinary(dir string, mb int) (string, error) {
	unit := filepath.Join(dir, "unit.o")
	if _, err := os.Stat(unit); err != nil {
		src := filepath.Join(dir, "unit.c")
		if err := os.WriteFile(src, []byte(generated(1200)), 0o600); err != nil {
			return "", err
		}
		if out, err := exec.Command("gcc", "-g", "-O1", "-c", "-o", unit, src).CombinedOutput(); err != nil {
			return "", fmt.Errorf("compiling: %w\n%s", err, out)
		}
	}
	st, err := os.Stat(unit)
	if err != nil {
		return "", err
	}
	main := filepath.Join(dir, "main.c")
	text := "extern long unit_entry(int);\nint test_function(int a, int b)\n{\n\treturn a + b;\n}\nint main(void)\n{\n\treturn test_function(1, 2) + (int)unit_entry(3) - 3;\n}\n"
	if err := os.WriteFile(main, []byte(text), 0o600); err != nil {
		return "", err
	}
	prog := filepath.Join(dir, fmt.Sprintf("big%d", mb))
	args := []string{"-g", "-O1", "-o", prog, main, unit}
	// The linked file is about a quarter as large as the objects: it has no relocations.
	size := linkedSize(unit, st.Size())
	for i := 1; int64(i)*size < int64(mb)<<20; i++ {
		c := filepath.Join(dir, fmt.Sprintf("unit%d.o", i))
		if _, err := os.Stat(c); err != nil {
			if out, err := exec.Command("objcopy", "--prefix-symbols=u"+strconv.Itoa(i)+"_", unit, c).CombinedOutput(); err != nil {
				return "", fmt.Errorf("objcopy: %w\n%s", err, out)
			}
		}
		args = append(args, c)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("linking: %w\n%s", err, out)
	}
	return prog, nil
}

// linkedSize returns the size of the unit without its relocations.
func linkedSize(unit string, size int64) int64 {
	out, err := exec.Command("size", "-A", unit).Output()
	if err != nil {
		return size
	}
	total := int64(0)
	for _, l := range strings.Split(string(out), "\n") {
		f := strings.Fields(l)
		if len(f) == 3 && strings.HasPrefix(f[0], ".") && !strings.HasPrefix(f[0], ".rela") {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			total += n
		}
	}
	return total
}

// startup measures the time from jalon's start to armed sites.
func (b *bench) startup(dir, only string) error {
	if !strings.Contains("start to armed", only) {
		return nil
	}
	fmt.Printf("%-44s %9s %9s\n", "start to armed, ms", "median", "max")
	for _, mb := range []int{1, 100} {
		prog, err := bigBinary(dir, mb)
		if err != nil {
			return err
		}
		st, err := os.Stat(prog)
		if err != nil {
			return err
		}
		for _, place := range []string{"test_function", "main.c:4"} {
			var ms []float64
			for i := 0; i < 7; i++ {
				s, err := b.summary(exec.Command(b.jalon, "trace", place, "--collect", "a, b", "-f", "none", "--summary-json", "--", prog))
				if err != nil {
					return err
				}
				ms = append(ms, s.ArmedMS)
			}
			name := fmt.Sprintf("%.1f MB binary, %s", float64(st.Size())/(1<<20), place)
			fmt.Printf("%-44s %9.1f %9.1f\n", name, median(ms), maximum(ms))
		}
	}
	fmt.Println()
	return nil
}

func maximum(v []float64) float64 {
	m := v[0]
	for _, x := range v {
		m = max(m, x)
	}
	return m
}

// summary runs a jalon command and reads the summary that it prints last on stderr.
func (b *bench) summary(cmd *exec.Cmd) (summary, error) {
	var s summary
	var errb strings.Builder
	cmd.Stderr = &errb
	if err := cmd.Run(); err != nil {
		return s, fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, errb.String())
	}
	lines := strings.Split(strings.TrimSpace(errb.String()), "\n")
	return s, json.Unmarshal([]byte(lines[len(lines)-1]), &s)
}

// manyFunctions returns a program that calls 1,000 functions from four threads for ever.
func manyFunctions() string {
	var s strings.Builder
	s.WriteString("#include <pthread.h>\n#include <unistd.h>\n")
	for i := 0; i < 1000; i++ {
		fmt.Fprintf(&s, "__attribute__((noinline)) int f%04d(int a)\n{\n\t__asm__ volatile(\"\");\n\treturn a * %d + 1;\n}\n", i, i+3)
	}
	s.WriteString("static void *run(void *p)\n{\n\tvolatile int s = 0;\n\tfor (;;) {\n")
	for i := 0; i < 1000; i++ {
		fmt.Fprintf(&s, "\t\ts = f%04d(s);\n", i)
	}
	s.WriteString("\t\tusleep(100);\n\t}\n\treturn p;\n}\nint main(void)\n{\n\tpthread_t t;\n\tfor (int i = 0; i < 3; i++)\n\t\tpthread_create(&t, 0, run, 0);\n\trun(0);\n}\n")
	return s.String()
}

// pauses measures how long a running program is stopped while sites are installed.
func (b *bench) pauses(dir, only string) error {
	if !strings.Contains("pause", only) {
		return nil
	}
	src, prog := filepath.Join(dir, "many.c"), filepath.Join(dir, "many")
	if err := os.WriteFile(src, []byte(manyFunctions()), 0o600); err != nil {
		return err
	}
	if out, err := exec.Command("gcc", "-g", "-O2", "-pthread", "-o", prog, src).CombinedOutput(); err != nil {
		return fmt.Errorf("compiling: %w\n%s", err, out)
	}
	target := exec.Command(prog)
	if err := target.Start(); err != nil {
		return err
	}
	defer func() { _ = target.Process.Kill(); _ = target.Wait() }()
	time.Sleep(100 * time.Millisecond) // lets its threads start; only makes the figure more typical
	fmt.Printf("%-44s %9s %9s\n", "pause of a running program (4 threads), us", "median", "max")
	for _, c := range []struct {
		name, place string
		sites       int
	}{{"1 site", "f0000", 1}, {"10 sites", "f000?", 10}, {"1,000 sites", "f????", 1000}} {
		var us []float64
		for i := 0; i < 5; i++ {
			s, err := b.summary(exec.Command(b.jalon, "trace", c.place+" if a == 123456789", "--collect", "a", "-f", "none", "--summary-json", "--duration", "200ms", "-p", strconv.Itoa(target.Process.Pid)))
			if err != nil {
				return err
			}
			if s.Sites != c.sites {
				return fmt.Errorf("%s: %d sites", c.name, s.Sites)
			}
			us = append(us, s.PauseUS)
		}
		fmt.Printf("%-44s %9.0f %9.0f\n", c.name, median(us), maximum(us))
	}
	fmt.Println()
	return nil
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// summary is the output of `jalon trace --summary-json`.
type summary struct {
	ArmedMS float64 `json:"armed_ms"`
	PauseUS float64 `json:"pause_us"`
	ArmUS   float64 `json:"armed_pause_us"` // the part of PauseUS until the sites were armed
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

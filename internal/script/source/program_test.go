package source

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// TestProgram types scripts with the names of a program: parameters, variables, its types and constants.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	const text = `struct file { int own; char name[12]; };
enum color { RED = 3, GREEN };
int total;
int work(struct file *f, char c, double d) {
	short local = c;
	total += local;
	return f->own + (int)d;
}
void odd1(int a, const char *s) { }
void odd2(long a, int s) { }
void odd3(unsigned long a) { }
void mix1(int a) { }
void mix2(double a) { }
float half1(int a) { return a; }
int half2(int a) { return a; }
int main(void) { struct file f = {1, "x"}; enum color k = GREEN; return work(&f, 'a', k); }
`
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O0", "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	m := New(Options{Program: exe})
	defer m.Close()
	for _, c := range []struct{ probe, want string }{
		{"uprobe:%s:work { @ = args.c }", "@: int8"},
		{"uprobe:%s:work { @ = args->f->own }", "@: int32"},
		{"uprobe:%s:work { @ = ((struct file *)arg0).name }", "@: string[12]"},
		{"uprobe:%s:work { @ = GREEN }", "@: enum color"},
		{"uprobe:%s:work { @ = TASK_UNINTERRUPTIBLE }", "@: int8"},
		{"uprobe:%s:work { @ = MAP_POPULATE | O_DIRECTORY | FUTEX_WAIT_BITSET | MADV_DONTNEED }", "@: int32"},
		{"uprobe:%s:wor* { @ = args.f->own }", "@: int32"},
		{"uprobe:%s@p.c:6 { @ = local }", "@: int16"},
		{"uprobe:%s@p.c:6 { @ = total }", "@: int32"},
		{"uprobe:%s:work { @ = nothing }", `there is no name "nothing"`},
		{"uprobe:%s:work { @ = KMALLOC_MAX }", "#define KMALLOC_MAX with its value"},
		{"uprobe:%s:odd* { @ = args.a }", "@: int64 1 warning"},
		{"uprobe:%s:odd1, uprobe:%[1]s:odd2 { @ = args.a }", "@: int64"},
		{"uprobe:%s:mix? { @ = args.a }", "@: double"},
		{"uprobe:%s:odd* { @ = args.s }", "args.s has the type int8 * at uprobe:"},
		{"uprobe:%s:mix* { print(args) }", "args.a has the type int32 at uprobe:"},
		{"uretprobe:%s:half1 { @ = retval }", "@: double"},
		{"uretprobe:%s:half? { @ = retval }", "@: double"},
		{"uretprobe:%s:half2 { @ = retval }", "@: uint64"},
		{"uprobe:%s:nowhere { @ = args.c }", "there is no function nowhere"},
		{"uretprobe:%s:work { @ = local }", `there is no name "local"`},
		{"uprobe:/bin/nowhere/%.0s:work { @ = args.c }", "cannot be read"},
	} {
		text := fmt.Sprintf(c.probe, exe)
		s, err := script.Parse("t", text)
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.Check(s, check.Options{Source: m})
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = p.Maps[0].Name + ": " + p.Maps[0].Value.String()
			if n := len(p.Warnings); n > 0 {
				got += fmt.Sprintf(" %d warning", n)
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", text, got, c.want)
		}
	}
}

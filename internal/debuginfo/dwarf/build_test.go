package dwarf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// variant is one way to build a test program.
type variant struct {
	cc    string
	flags string
}

func (v variant) String() string { return v.cc + " " + v.flags }

var variants = []variant{
	{"gcc", "-O0 -gdwarf-5"},
	{"gcc", "-O2 -gdwarf-5"},
	{"gcc", "-O1 -gdwarf-4"},
	{"gcc", "-O3 -gdwarf-4 -fno-pie -no-pie"},
	{"gcc", "-O0 -gdwarf-4 -fomit-frame-pointer"},
	{"gcc", "-Os -gdwarf-5 -gz=zlib"},
	{"gcc", "-O2 -gdwarf-5 -flto -ffat-lto-objects"},
	{"gcc", "-O2 -gdwarf-5 -fdebug-types-section"},
	{"gcc", "-O1 -gdwarf-4 -fdebug-types-section -gz=zlib-gnu"},
	{"gcc", "-O2 -gdwarf-5 -gsplit-dwarf"},
	{"gcc", "-O0 -gdwarf-4 -gsplit-dwarf"},
	{"gcc", "-O2 -gdwarf-5 -ffunction-sections -Wl,--gc-sections -static"},
	{"clang", "-O0 -gdwarf-5"},
	{"clang", "-O2 -gdwarf-5"},
	{"clang", "-O1 -gdwarf-4"},
	{"clang", "-O3 -gdwarf-4 -fno-pie -no-pie"},
	{"clang", "-O2 -gdwarf-5 -gsplit-dwarf"},
	{"clang", "-O2 -gdwarf-4 -fdebug-types-section"},
	{"clang", "-O2 -gdwarf-5 -fno-omit-frame-pointer -mcmodel=large -fno-pie -no-pie"},
}

var built struct {
	sync.Mutex
	dir  string
	done map[string]string
}

// build compiles the files of testdata and returns the program's path. The same
// build is made once.
func build(t testing.TB, v variant, files ...string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.done == nil {
		built.done = map[string]string{}
	}
	key := v.String() + strings.Join(files, ",")
	if p := built.done[key]; p != "" {
		return p
	}
	dir := filepath.Join(built.dir, fmt.Sprint(len(built.done)))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "prog")
	args := strings.Fields(v.flags)
	for _, f := range files {
		abs, err := filepath.Abs(filepath.Join("testdata", f))
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, abs)
	}
	runIn(t, dir, v.cc, append(args, "-w", "-lm", "-lpthread", "-o", out)...)
	built.done[key] = out
	return out
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	return runIn(t, built.dir, name, args...)
}

func runIn(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir // split debug files are written here
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, b)
	}
	return string(b)
}

// gdb runs commands over a program in batch mode.
func gdb(t testing.TB, prog string, cmds ...string) string {
	t.Helper()
	script := filepath.Join(t.TempDir(), "cmds")
	body := "set pagination off\nset width 0\nset breakpoint pending off\nset debuginfod enabled off\n" + strings.Join(cmds, "\n") + "\n"
	if err := os.WriteFile(script, []byte(body), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gdb", "-nx", "-batch", "-x", script, prog)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	b, _ := cmd.CombinedOutput()
	return string(b)
}

func open(t testing.TB, path string) *Module {
	t.Helper()
	m, err := Open(path, Options{Warn: func(s string) { t.Log("warning: " + s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "dwarf")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

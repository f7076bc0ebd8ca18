package test

import (
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNamedAgain: stacks of a program without symbols are named when they are read, by the debug file of its build: from a directory, or
// from a server of DEBUGINFOD_URLS. They are those of the program with debug information; a file of another build is not used.
func TestNamedAgain(t *testing.T) {
	whole := compile(t, "gcc", "strippedstack.c", "-g", "-O2", "-Wl,--build-id=0x0123456789abcdef00112233")
	dir := t.TempDir()
	stripped, debug, other := filepath.Join(dir, "prog"), filepath.Join(dir, "debug"), filepath.Join(dir, "other")
	tool(t, "objcopy", "--strip-all", whole, stripped)
	for _, d := range []string{debug, other} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(debug, "prog.debug")
	tool(t, "objcopy", "--only-keep-debug", whole, file)
	tool(t, "objcopy", "--only-keep-debug", compile(t, "gcc", "strippedstack.c", "-g", "-O1", "-Wl,--build-id=0x99"), filepath.Join(other, "prog.debug"))

	place := fmt.Sprintf(":%#x", symbolIn(t, whole, "inner"))
	stacks := func(prog string, flags ...string) string {
		t.Helper()
		run := filepath.Join(t.TempDir(), "run")
		if r := jalon(t, "record", "-o", run, "uprobe:"+prog+place, "-c", "$bt", "--", prog, "3"); r.status != 0 || !strings.Contains(r.stderr, "3 events") {
			t.Fatalf("%d: %s", r.status, r.stderr)
		}
		if err := os.Rename(prog, prog+".gone"); err != nil { // the trace is read on another machine
			t.Fatal(err)
		}
		defer func() { _ = os.Rename(prog+".gone", prog) }()
		return framesOf(t, run, flags...)
	}
	want := stacks(whole)
	if strings.Count(want, "inner strippedstack.c:9 false, middle strippedstack.c:15 true, outer strippedstack.c:21 false, main strippedstack.c:29 false") != 3 {
		t.Fatalf("with debug information: %s", want)
	}
	if got := stacks(stripped); strings.Contains(got, "outer") {
		t.Fatalf("without: %s", got)
	}
	if got := stacks(stripped, "--debug-dir", debug); got != want {
		t.Errorf("with --debug-dir: %s\nwant %s", got, want)
	}
	if got := stacks(stripped, "--debug-dir", other); strings.Contains(got, "outer") {
		t.Errorf("with the debug file of another build: %s", got)
	}

	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/buildid/"+buildID(t, whole)+"/debuginfo" {
			http.NotFound(w, r) // of libc
			return
		}
		asked++
		http.ServeFile(w, r, file)
	}))
	defer server.Close()
	t.Setenv("DEBUGINFOD_URLS", server.URL)
	t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(dir, "cache"))
	if got := stacks(stripped); got != want || asked != 1 {
		t.Errorf("from the server (asked %d times): %s\nwant %s", asked, got, want)
	}
	t.Setenv("PATH", dir)
	if got := stacks(stripped); strings.Contains(got, "outer") {
		t.Errorf("without the client: %s", got)
	}
}

func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

func buildID(t *testing.T, file string) string {
	t.Helper()
	f, err := elf.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := f.Section(".note.gnu.build-id").Data()
	if err != nil || len(b) < 16 {
		t.Fatal(err)
	}
	return hex.EncodeToString(b[16:])
}

// framesOf is the function, the line, and whether it is inlined, of each frame in the program itself, a line for each event.
func framesOf(t *testing.T, run string, flags ...string) string {
	t.Helper()
	r := jalon(t, append([]string{"report", run, "-f", "json"}, flags...)...)
	if r.status != 0 {
		t.Fatalf("%d: %s", r.status, r.stderr)
	}
	var out strings.Builder
	for line := range strings.Lines(r.stdout) {
		var ev struct {
			Values map[string][]struct {
				Function, File, Module string
				Line                   int
				Inlined                bool
			}
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		sep := ""
		for _, f := range ev.Values["$bt"] {
			if strings.Contains(f.Module, "libc") || f.Module == "" {
				break
			}
			if f.Function == "" {
				f.Function = "?"
			}
			fmt.Fprintf(&out, "%s%s %s:%d %v", sep, f.Function, filepath.Base(f.File), f.Line, f.Inlined)
			sep = ", "
		}
		out.WriteByte('\n')
	}
	return out.String()
}

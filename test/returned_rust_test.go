package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// rustCompilers are the one that is found first and Debian's.
func rustCompilers(t *testing.T) (list []string) {
	need(t, "rustc")
	first, err := exec.LookPath("rustc")
	if err != nil {
		t.Fatal(err)
	}
	list = []string{first}
	if _, err := os.Stat("/usr/bin/rustc"); err == nil && first != "/usr/bin/rustc" {
		list = append(list, "/usr/bin/rustc")
	}
	return list
}

// TestReturnedOfRust: $retval of functions of Rust with results of all classes is what the program prints, or it is not
// available. Without optimisation it is not available for few of them. At uretprobes of the kernel those in vector registers and
// in memory are not available.
func TestReturnedOfRust(t *testing.T) {
	levels := []string{"0", "3"}
	if os.Getenv("JALON_FULL") != "" {
		levels = []string{"0", "1", "2", "3", "s"}
	}
	for i, rustc := range rustCompilers(t) {
		version, err := exec.Command(rustc, "--version").Output()
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && len(levels) == 2 {
			levels = levels[1:]
		}
		for _, level := range levels {
			t.Run(strings.ReplaceAll(strings.TrimSpace(string(version)), " ", "_")+"/"+level, func(t *testing.T) {
				dir := t.TempDir()
				prog := filepath.Join(dir, "prog")
				out, err := exec.Command(rustc, "--edition", "2021", "--crate-name", "returned", "-g", "-C", "opt-level="+level, "-o", prog, "programs/returned.rs").CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				compareReturned(t, prog, level == "0", 500)
				compareReturned(t, prog, false, 200, "--engine", "kernel")
			})
		}
	}
}

// compareReturned compares $retval with the values that the program prints, in the order of the calls of each function.
// At least atLeast are equal.
func compareReturned(t *testing.T, prog string, plain bool, atLeast int, engine ...string) {
	tr := trace(t, append(engine, "--buffer", "16M", "returned::*%return", "-c", "$retval", "--", prog)...)
	want := map[string][]string{}
	for _, line := range strings.Split(tr.stdout, "\n") {
		if f, v, ok := strings.Cut(line, " "); ok {
			want[f] = append(want[f], v)
		}
	}
	equal, seen, known := 0, map[string]int{}, map[string]bool{}
	for _, e := range tr.events {
		f := strings.TrimPrefix(e.Function, "returned::")
		n := seen[f]
		seen[f]++
		// By its type or code a return may have no value. Any other reason than these is an error.
		if why := e.Errors["$retval"]; len(want[f]) == 0 || e.Values["$retval"] == nil && why != "" && !strings.Contains(why, "unreadable") {
			continue
		}
		var x any
		d := json.NewDecoder(strings.NewReader(want[f][min(n, len(want[f])-1)]))
		d.UseNumber()
		if err := d.Decode(&x); err != nil {
			t.Fatalf("the program prints %q: %v", want[f][n], err)
		}
		if m, ok := x.(map[string]any); ok && f == "r_str" { // the program prints the members, jalon the text
			length, err := m["length"].(json.Number).Int64()
			if err != nil || length > 21 {
				t.Fatal(err, m)
			}
			x = "a text of the program"[:length]
		}
		if m, ok := x.(map[string]any); ok && f == "r_res_unit" && m["Ok"] != nil { // () is a struct without members
			x = map[string]any{"Ok": map[string]any{"__0": map[string]any{}}}
		}
		if n >= len(want[f]) || !reflect.DeepEqual(e.Values["$retval"], x) {
			t.Errorf("return %d of %s: %v %v, the program prints %v", n, f, e.Values["$retval"], e.Errors, x)
			continue
		}
		equal++
		known[f] = true
	}
	var missing []string
	for f := range want {
		if !known[f] {
			missing = append(missing, f)
		}
	}
	slices.Sort(missing)
	t.Logf("%d values are equal; not available: %v", equal, missing)
	if equal < atLeast || tr.sum.Lost != 0 {
		t.Errorf("%d values, %d records lost\n%s", equal, tr.sum.Lost, tail(tr.stderr))
	}
	if unclear := []string{"c_two", "r_aligned", "r_packed", "r_res_signs", "r_unit", "r_wide", "sum"}; plain {
		for _, f := range missing {
			if !slices.Contains(unclear, f) {
				t.Errorf("%s is not available:\n%s", f, tr.stderr)
			}
		}
	}
}

// TestReturnedOfLocal: a compiler may remove the result of a function that only its file calls. $retval is right or refused.
func TestReturnedOfLocal(t *testing.T) {
	need(t, "clang")
	prog := compile(t, "clang", "local.c", "-g", "-O2")
	for _, engine := range []string{"process", "kernel"} {
		tr := trace(t, "used%return", "-c", "$retval", "--engine", engine, "--", prog)
		for i, e := range tr.events {
			if got := fmt.Sprint(e.Values["$retval"]); got != fmt.Sprint(i*7+3) {
				t.Errorf("%s: call %d: %s %v", engine, i, got, e.Errors)
			}
		}
		if len(tr.events) != 10 {
			t.Errorf("%s: %d returns of used", engine, len(tr.events))
		}
		for _, f := range []string{"unused", "constant"} {
			r := jalon(t, "trace", f+"%return", "-c", "$retval", "--engine", engine, "--", prog)
			if r.status == 0 || !strings.Contains(r.stderr, "the compiler ") {
				t.Errorf("%s: %s: %s%s", engine, f, r.stdout, r.stderr)
			}
		}
	}
}

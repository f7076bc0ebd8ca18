package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAbsentAtSome: a name that one of several places does not have is missing there, or leaves that place out; it does not end
// the trace. A name that none of them has does.
func TestAbsentAtSome(t *testing.T) {
	prog := compile(t, "gcc", "absences.c", "-g", "-O0")
	file := filepath.Join(t.TempDir(), "saved.gdb")
	if err := os.WriteFile(file, []byte("trace one\n  actions\n    collect n\n  end\ntrace two\n  condition $tpnum n > 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   []string
	}{
		{[]string{"one", "two", "-c", "n"}, 0, []string{"one  n=2", `two  n=<no variable "n" in two>`, `no variable "n" in two`}},
		{[]string{"absences.c:9", "absences.c:15", "-c", "a, m"}, 0, []string{`:9  a=3 m=<no variable "m" in one>`, `:15  a=<no variable "a" in two> m=12`}},
		{[]string{"one", "-c", "n", "two", "-c", "zz, m"}, 0, []string{"one  n=2", `two  zz=<no variable "zz" in two> m=12`}},
		{[]string{"[ot][nw][eo]", "-c", "n"}, 0, []string{"n=2", `n=<no variable "n" in two>`, `values are missing at 1 of 2 addresses: no variable "n" in two`}},
		{[]string{"[ot][nw][eo]", "-c", "n, m"}, 0, []string{"n=2 m=<no", "m=12"}},
		{[]string{"one if n > 1", "two if n > 1", "-c", "$pc"}, 0, []string{`no variable "n" in two; two is left out`, "one  3  1  2  0"}},
		{[]string{"one", "two", "--sum", "n"}, 0, []string{`no variable "n" in two; two is left out`, "@: 3"}},
		{[]string{"one", "two", "-c", "n", "--engine", "kernel"}, 0, []string{"one  n=2", `two  n=<no variable "n" in two>`}},
		{[]string{"one", "tracepoint:sched:sched_switch if zz > 1", "-c", "n"}, 0, []string{"is left out", "one  n=2"}},
		{[]string{"one", "two", "-c", "zz"}, 2, []string{`no variable "zz" in one (at one)`, `no variable "zz" in two (at two)`}},
		{[]string{"one", "two", "-c", "n, m, zz"}, 2, []string{`error: no variable "zz" in one (at one)`}},
		{[]string{"one if zz", "two if n"}, 2, []string{`no variable "zz" in one`, `no variable "n" in two`}},
		{[]string{"one if zz", "tracepoint:sched:sched_switch if zz"}, 2, []string{`no variable "zz" in sched:sched_switch`, `no variable "zz" in one`}},
	} {
		kernel := strings.Contains(strings.Join(c.args, " "), "tracepoint:") || strings.Contains(strings.Join(c.args, " "), "kernel")
		if kernel && os.Geteuid() != 0 {
			continue // the kernel engine needs root
		}
		r := jalon(t, append(append([]string{"trace"}, c.args...), "--", prog)...)
		text := columns.ReplaceAllString(r.stdout+r.stderr, "  ")
		for _, want := range c.want {
			if !strings.Contains(text, want) && !strings.Contains(r.stderr, want) {
				t.Errorf("%s: no %q in:\n%s", strings.Join(c.args, " "), want, text)
			}
		}
		if r.status != c.status || c.status == 2 && strings.Contains(r.stdout, "48") {
			t.Errorf("%s: status %d:\n%s", strings.Join(c.args, " "), r.status, text)
		}
	}
	dir := filepath.Join(t.TempDir(), "rec")
	if r := jalon(t, "record", "-o", dir, "one", "two", "-c", "n", "--", prog); r.status != 0 {
		t.Errorf("record: %s", r.stderr)
	}
	if r := jalon(t, "report", dir); !strings.Contains(r.stdout, `n=<no variable "n" in two>`) || !strings.Contains(r.stdout, "n=2") {
		t.Errorf("report: %s%s", r.stdout, r.stderr)
	}
	// A script computes with what it gets: it has no hits of such a place.
	r := jalon(t, "run", "-e", "uprobe:"+prog+":one, uprobe:"+prog+":two { @ = sum(n); @hits = count(); }", "-c", prog)
	if r.status != 0 || !strings.Contains(r.stdout, "@: 3") || !strings.Contains(r.stdout, "@hits: 3") || !strings.Contains(r.stderr, "is left out") {
		t.Errorf("run: %s%s", r.stdout, r.stderr)
	}
}

var columns = regexp.MustCompile(` {2,}`)

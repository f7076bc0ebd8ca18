package jalon_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon"
)

// aggregated traces the program of testdata/aggregate.c and returns the lines of what was computed, with keys.
func aggregated(t *testing.T, bin string, kernel bool, a jalon.Aggregate, args ...string) (lines map[string]string, text string) {
	t.Helper()
	opt := one("handle", "")
	opt.Aggregate, opt.Kernel.Places = &a, kernel
	tr := start(t, jalon.Command(append([]string{bin}, args...)...), opt)
	for range tr.Events() {
		t.Fatal("a record")
	}
	res, err := tr.Wait()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	res.WriteMaps(&out, false)
	if a.Kind != "hist" && a.Kind != "lhist" && len(args) == 1 {
		n, _ := strconv.Atoi(args[0])
		if c := res.Sites[0]; c.Hits() != 4*uint64(n) || c.Computed != c.Hits() || c.Lost != 0 {
			t.Errorf("%+v: counts %+v, want %d hits", a, c, 4*n)
		}
	}
	return keyed(out.String()), out.String()
}

// keyed returns the values of printed maps by their keys.
func keyed(text string) map[string]string {
	lines := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		lines[key] = value
	}
	return lines
}

// TestAggregate: what is computed at the hits of several threads is exact, in the process and in the kernel.
func TestAggregate(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "aggregate")
	if out, err := exec.Command("gcc", "-g", "-O2", "-pthread", "-o", bin, "testdata/aggregate.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const threads = 4
	for _, kernel := range []bool{false, true} {
		n := int64(100_000)
		if kernel {
			n = 10_000
		}
		var sum, count [3]int64
		var all int64
		for i := range n {
			sum[i%3] += threads * (i&1023 - 3)
			count[i%3] += threads
			all += threads
		}
		total := sum[0] + sum[1] + sum[2]
		for _, c := range []struct {
			a    jalon.Aggregate
			want map[string]string
		}{
			{jalon.Aggregate{Kind: "count"}, map[string]string{"@": fmt.Sprint(all)}},
			{jalon.Aggregate{Kind: "count", By: "req->type"}, map[string]string{"@[READ]": fmt.Sprint(count[0]), "@[WRITE]": fmt.Sprint(count[1]), "@[SYNC]": fmt.Sprint(count[2])}},
			{jalon.Aggregate{Kind: "sum", Value: "req->len", By: "req->name, req->type"}, map[string]string{"@[alpha, READ]": fmt.Sprint(sum[0]), "@[beta, WRITE]": fmt.Sprint(sum[1]), "@[gamma, SYNC]": fmt.Sprint(sum[2])}},
			{jalon.Aggregate{Kind: "stats", Value: "req->len"}, map[string]string{"@": fmt.Sprintf("{ .count = %d, .average = %d, .total = %d }", all, total/all, total)}},
			{jalon.Aggregate{Kind: "avg", Value: "req->len"}, map[string]string{"@": fmt.Sprint(total / all)}},
			{jalon.Aggregate{Kind: "min", Value: "req->len - 5"}, map[string]string{"@": "-8"}},
			{jalon.Aggregate{Kind: "max", Value: "(unsigned long)req->len"}, map[string]string{"@": fmt.Sprint(^uint64(0))}},
		} {
			got, text := aggregated(t, bin, kernel, c.a, fmt.Sprint(n))
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("kernel: %v, %+v:\n%s, want %v", kernel, c.a, text, c.want)
			}
		}
		for _, a := range []jalon.Aggregate{{Kind: "hist", Value: "req->len"}, {Kind: "lhist", Value: "req->len", High: 1000, Step: 100, By: "req->type"}} {
			_, text := aggregated(t, bin, kernel, a, fmt.Sprint(n))
			if got := drawn(text); got != all {
				t.Errorf("kernel: %v, %+v: %d values, want %d\n%s", kernel, a, got, all, text)
			}
		}
		// Keys for which there is no room are counted.
		a := jalon.Aggregate{Kind: "count", By: "i"}
		got, text := aggregated(t, bin, kernel, a, fmt.Sprint(n))
		added, lost := int64(0), int64(0)
		for key, value := range got {
			v, err := strconv.ParseInt(value, 10, 64)
			if _, of, ok := strings.Cut(text, "@: there was no room for new keys "); key == "@" && ok {
				fmt.Sscan(of, &lost)
			} else if err == nil {
				added += v
			}
		}
		if added+lost != all || lost == 0 && n > 5000 {
			t.Errorf("kernel: %v: %d counted, %d without room, want %d", kernel, added, lost, all)
		}
	}
	// The counts of processes: of a forked child none, after an exec those of the first program, of a killed program all.
	for mode, want := range map[string]int{"fork": 4*5000 + 1000, "exec": 4 * 5000, "killed": 4 * 5000} {
		got, text := aggregated(t, bin, false, jalon.Aggregate{Kind: "count"}, "5000", mode)
		if got["@"] != strconv.Itoa(want) {
			t.Errorf("%s: %s, want %d", mode, text, want)
		}
	}
}

// drawn adds up the counts of histograms.
func drawn(text string) (n int64) {
	for line := range strings.Lines(text) {
		if before, _, ok := strings.Cut(line, "|"); ok {
			f := strings.Fields(before)
			v, _ := strconv.ParseInt(f[len(f)-1], 10, 64)
			n += v
		}
	}
	return n
}

// TestArgsAsKey: $args in a key are the parameters; at a return, what they were at the entry.
func TestArgsAsKey(t *testing.T) {
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "args.c"), filepath.Join(dir, "args")
	const text = `__attribute__((noinline)) int g(int a, char *s, long b) { a += b; b = 0; asm volatile("" :: "r"(s), "r"(b)); return a; }
int main(void) { for (int i = 0; i < 12; i++) g(i % 2, i % 3 ? "x" : "yy", -5); return 0; }`
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O2", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := fmt.Sprint(map[string]string{"@[0, yy, -5]": "2", "@[1, yy, -5]": "2", "@[0, x, -5]": "4", "@[1, x, -5]": "4"})
	for _, place := range []string{"g", "g%return"} {
		opt := one(place, "")
		opt.Aggregate = &jalon.Aggregate{Kind: "count", By: "$args"}
		res, err := start(t, jalon.Command(bin), opt).Wait()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		res.WriteMaps(&out, false)
		if got := keyed(out.String()); fmt.Sprint(got) != want {
			t.Errorf("%s: %v, want %s", place, got, want)
		}
	}
}

// TestStringsAsKeys: the text of strings that have a length is in keys; what lies behind it is not, and no page behind
// the string is read.
func TestStringsAsKeys(t *testing.T) {
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "strings.cc"), filepath.Join(dir, "strings")
	const text = `#include <string_view>
#include <string.h>
#include <sys/mman.h>
__attribute__((noinline)) void g(std::string_view s) { asm volatile("" :: "r"(s.data())); }
int main() {
	char *page = (char *)mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(page + 4096, 4096);
	memset(page, 'x', 4096);
	for (int n = 0; n <= 70; n++) g({page + 4096 - n, (size_t)n}); // up to the end of the page
	for (int n = 0; n <= 70; n++) g({page + 1000 + n, (size_t)n}); // more text behind
}`
	if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("g++", "-g", "-O1", "-std=c++17", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := map[string]string{}
	for n := range 64 {
		want["@["+strings.Repeat("x", n)+"]"] = "2"
	}
	want["@["+strings.Repeat("x", 64)+"]"] = "14"
	for _, kernel := range []bool{false, true} {
		opt := one("g", "")
		opt.Aggregate, opt.Kernel.Places = &jalon.Aggregate{Kind: "count", By: "s"}, kernel
		res, err := start(t, jalon.Command(bin), opt).Wait()
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		res.WriteMaps(&out, false)
		if got := keyed(out.String()); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("kernel %v: %v, faults %d", kernel, got, res.Sites[0].Faults)
		}
	}
}

package runner

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/script/interp"
	"github.com/jalon-trace/jalon/internal/session"
)

// fleeting calls step for ever new keys, each three times in all. With a second argument it calls next behind as many keys, and waits for a byte.
const fleeting = `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) void step(long key, const char *text) { sum += key + (long)text; }
__attribute__((noinline)) void next(long key) { sum += key; }
int main(int argc, char **argv) {
	for (long i = 0; i < atol(argv[1]); i++) {
		char text[32], first[32], c;
		snprintf(text, sizeof text, "%ld", i);
		snprintf(first, sizeof first, "%ld", i - i % 64);
		step(i, text);
		step(i, text);
		step(i - i % 64, first);
		if (argc > 2 && (i + 1) % atol(argv[2]) == 0) {
			next(i);
			if (read(0, &c, 1) != 1) return 1;
		}
	}
	return 0;
}
`

// pacer lets the program go on some ticks of the script behind each call of next.
type pacer struct {
	to   *os.File
	line []byte
	wait int
}

func (p *pacer) Write(b []byte) (int, error) {
	for _, c := range b {
		if c != '\n' {
			p.line = append(p.line, c)
			continue
		}
		switch string(p.line) {
		case "next":
			p.wait = 10
		case "tick":
			if p.wait--; p.wait == 0 {
				if _, err := p.to.Write([]byte("+")); err != nil {
					return 0, err
				}
			}
		}
		p.line = p.line[:0]
	}
	return len(b), nil
}

// lostText is a warning about updates of a map.
var lostText = regexp.MustCompile(`^the map (\S+?)(?: was full.*)?: (\d+) updates are lost`)

// lostOf adds up the updates that warnings report.
func lostOf(lost *uint64) func(text string) {
	return func(text string) {
		if m := lostText.FindStringSubmatch(text); m != nil {
			n, _ := strconv.ParseUint(m[2], 10, 64)
			*lost += n
		}
	}
}

// TestClearedKeys: a map that a timer prints and clears has room for ever new keys, in the process and in the kernel, and each update is printed once, or is
// counted as lost.
func TestClearedKeys(t *testing.T) {
	path := compileC(t, "fleeting", fleeting)
	const keys, most = 20 * 512, 1024
	for _, uprobes := range []bool{false, true} {
		if uprobes {
			needRoot(t)
		}
		for _, update := range []string{"[arg0] = count()", "[arg0] = hist(arg0 & 7)", "[arg0] = stats(1)", "[str(arg1, 16), 1] = count()"} {
			src := strings.NewReplacer("PROG", path, "UPDATE", update, "MOST", fmt.Sprint(most)).Replace(`config = { max_map_keys = MOST } uprobe:PROG:step { @kUPDATE; @n = count(); }
uprobe:PROG:next { printf("next\n"); } interval:ms:1 { print(@k); clear(@k); printf("tick\n"); }`)
			in, out, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			lost := uint64(0)
			got, m := runScript(t, src, Options{
				Options: interp.Options{Out: &pacer{to: out}}, IO: session.IO{In: in}, Argv: []string{path, fmt.Sprint(keys), "512"}, Uprobes: uprobes, Warn: lostOf(&lost),
			})
			if err := errors.Join(in.Close(), out.Close()); err != nil {
				t.Error(err)
			}
			if n := m.SiteMaps(); n != 2 {
				t.Fatalf("%d maps are at the sites", n)
			}
			n := countsOf(t, got, "@k")
			if hits := sumOf(numbersOf(t, got)["@n"]); hits != 3*keys || n+lost != hits {
				t.Errorf("uprobes %t, %s: %d updates are printed, %d lost, of %d", uprobes, update, n, lost, hits)
			}
			if lost > keys { // if no slots were given back, nine of ten are
				t.Errorf("uprobes %t, %s: %d updates of %d are lost", uprobes, update, lost, 3*keys)
			}
		}
	}
}

// countsOf adds up how many updates are shown for the keys of a map of counts, histograms or statistics.
func countsOf(t *testing.T, out, name string) (sum uint64) {
	t.Helper()
	in := false // a histogram
	for _, l := range strings.Split(out, "\n") {
		var n uint64
		switch at := strings.LastIndex(l, "]: "); {
		case strings.HasPrefix(l, name+"[") && at >= 0:
			if rest := l[at+len("]: "):]; strings.Contains(rest, "count") {
				_, _ = fmt.Sscanf(rest[strings.Index(rest, "count")+len("count"):], " = %d", &n)
			} else {
				_, _ = fmt.Sscanf(rest, "%d", &n)
			}
		case strings.HasPrefix(l, name+"[") && strings.HasSuffix(l, "]:"):
			in = true
		case in && (strings.HasPrefix(l, "[") || strings.HasPrefix(l, "(")):
			_, _ = fmt.Sscanf(l[strings.IndexAny(l, ")]")+1:], "%d", &n)
		default:
			in = false
		}
		sum += n
	}
	return sum
}

// TestClearedThreads: what threads have counted that end, while a timer prints and clears their map, is printed once.
func TestClearedThreads(t *testing.T) {
	path := compileC(t, "threads", threads, "-pthread")
	const rounds, calls = 40, 5000
	src := strings.ReplaceAll(`uprobe:PROG:step { @t[tid] = count(); @c[comm, arg0 & 3] = count(); @n = count(); }
interval:ms:1 { print(@t); clear(@t); print(@c); clear(@c); }`, "PROG", path)
	got, _ := runScript(t, src, Options{Argv: []string{path, fmt.Sprint(rounds), fmt.Sprint(calls)}})
	lines := numbersOf(t, got)
	if n := uint64(4 * rounds * calls); sumOf(lines["@t"]) != n || sumOf(lines["@c"]) != n || sumOf(lines["@n"]) != n {
		t.Errorf("%d by thread and %d by name, of %d", sumOf(lines["@t"]), sumOf(lines["@c"]), n)
	}
}

// TestMostKeys: a map has as many keys as max_map_keys says, and all other updates are counted as lost.
func TestMostKeys(t *testing.T) {
	path := compileC(t, "fleeting", fleeting)
	for _, uprobes := range []bool{false, true} {
		if uprobes {
			needRoot(t)
		}
		for _, most := range []int{1, 3, 50} {
			for _, update := range []string{"= count()", "+= 1", "= 1"} {
				lost := uint64(0)
				src := strings.NewReplacer("PROG", path, "UPDATE", update, "MOST", fmt.Sprint(most)).Replace(`config = { max_map_keys = MOST } uprobe:PROG:step { @k[arg0] UPDATE; @n = count(); }`)
				got, m := runScript(t, src, Options{Argv: []string{path, "200"}, Uprobes: uprobes, Warn: lostOf(&lost)})
				list := numbersOf(t, got)["@k"]
				if m.SiteMaps() != 2 || len(list) != most || update != "= 1" && sumOf(list)+lost != 600 {
					t.Errorf("uprobes %t, %s: %d maps at the sites, %d keys of at most %d, %d lost", uprobes, update, m.SiteMaps(), len(list), most, lost)
				}
			}
		}
	}
	lost, reported := uint64(0), false // of a map that would be too large
	add := lostOf(&lost)
	src := strings.ReplaceAll(`config = { max_map_keys = 1000000 } uprobe:PROG:step { @k[arg0] = hist(arg0, 5); @n = count(); } end { printf("%d keys\n", len(@k)); clear(@k); }`, "PROG", path)
	got, _ := runScript(t, src, Options{Argv: []string{path, "9000"}, Warn: func(text string) {
		add(text)
		reported = reported || strings.HasPrefix(text, "the map @k has room for ")
	}})
	var keys int
	if _, _ = fmt.Sscanf(got, "%d keys", &keys); !reported || keys < 64 || keys > 9000 || int(lost) > 27000-keys {
		t.Errorf("%s%d keys, %d updates lost, reported: %t", got, keys, lost, reported)
	}
}

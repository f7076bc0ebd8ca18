package dwarf

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

var (
	bpHead = regexp.MustCompile(`^(\d+)\s+breakpoint\s+keep y\s+(<MULTIPLE>|0x[0-9a-f]+)`)
	bpLoc  = regexp.MustCompile(`^(\d+)\.\d+\s+y\s+(0x[0-9a-f]+)`)
)

// gdbBreaks asks GDB for the addresses of each place; none where it refuses.
func gdbBreaks(t testing.TB, prog string, places []string) map[string][]uint64 {
	t.Helper()
	var cmds []string
	for i, p := range places {
		cmds = append(cmds, fmt.Sprintf("echo @%d\\n", i), "python\ntry:\n  gdb.execute('tbreak "+p+"')\nexcept gdb.error as e:\n  print('ERR', e)\nend")
	}
	cmds = append(cmds, "info breakpoints")
	out := gdb(t, prog, cmds...)
	num := map[string]string{} // breakpoint number -> place
	res := map[string][]uint64{}
	cur := ""
	set := regexp.MustCompile(`^Temporary breakpoint (\d+) at`)
	for _, l := range strings.Split(out, "\n") {
		l = strings.Replace(l, "breakpoint     del  y", "breakpoint     keep y", 1)
		l = strings.Replace(l, " del  y ", " keep y ", 1)
		if strings.HasPrefix(l, "@") {
			i, _ := strconv.Atoi(l[1:])
			cur = places[i]
		} else if m := set.FindStringSubmatch(l); m != nil {
			num[m[1]] = cur
		} else if m := bpHead.FindStringSubmatch(l); m != nil && m[2] != "<MULTIPLE>" {
			a, _ := strconv.ParseUint(m[2][2:], 16, 64)
			res[num[m[1]]] = append(res[num[m[1]]], a)
		} else if m := bpLoc.FindStringSubmatch(l); m != nil {
			a, _ := strconv.ParseUint(m[2][2:], 16, 64)
			res[num[m[1]]] = append(res[num[m[1]]], a)
		}
	}
	for p, a := range res {
		slices.Sort(a)
		res[p] = slices.Compact(a)
	}
	return res
}

func addrs(sites []Site) (out []uint64) {
	for _, s := range sites {
		out = append(out, s.Addr)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestSitesAgreeWithGDB compares function and line places with GDB's
// breakpoints, for every function and line of the test programs.
func TestSitesAgreeWithGDB(t *testing.T) {
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			prog := build(t, v, "prog.c", "other.c")
			m := open(t, prog)
			compareSites(t, m, prog, []string{"count_to", "walk", "sum_all", "mixed", "choose", "vla", "empty",
				"failed", "aligned", "checked", "main", "twice", "thrice", "from_header", "other", "nonsense", "_start", "_init"},
				[]string{"prog.c", "other.c", "shared.h"})
		})
	}
}

func compareSites(t *testing.T, m *Module, prog string, funcs, files []string) {
	t.Helper()
	places := slices.Clone(funcs)
	for _, f := range files {
		b, err := os.ReadFile("testdata/" + f)
		if err != nil {
			t.Fatal(err)
		}
		for l := range strings.Count(string(b), "\n") + 3 {
			places = append(places, f+":"+strconv.Itoa(l+1))
		}
	}
	want := gdbBreaks(t, prog, places)
	n := 0
	for _, p := range places {
		var got []Site
		var err error
		if file, line, ok := strings.Cut(p, ":"); ok {
			l, _ := strconv.Atoi(line)
			got, err = m.LineSites(file, l)
		} else {
			got, err = m.FuncSites(p)
		}
		var nf *debuginfo.NotFoundError
		if err != nil && !errors.As(err, &nf) {
			t.Errorf("%s: %v", p, err)
		}
		n += len(got)
		if !slices.Equal(addrs(got), want[p]) {
			t.Errorf("%s: got %#x, GDB has %#x", p, addrs(got), want[p])
		}
	}
	if n < 20 {
		t.Errorf("only %d sites compared", n)
	}
}

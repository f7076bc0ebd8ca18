package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/lang"
	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// TestKernelNumbers has which maps of a script are at its sites in the kernel.
func TestKernelNumbers(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`rawtracepoint:a { @s[tid] = nsecs; } rawtracepoint:b /@s[tid]/ { @h = hist(nsecs - @s[tid]); delete(@s, tid); }`, "@h @s"},
		{`rawtracepoint:a { @n[arg0]++; @l = arg1; }`, "@l @n"},
		{`rawtracepoint:a { @n[arg0] = 1; } rawtracepoint:b { delete(@n, arg0); }`, "@n"},
		{`rawtracepoint:a { @n[tid] = 1; } interval:s:1 { clear(@n); }`, ""},
		{`rawtracepoint:a { @n[tid] = 1; } interval:s:1 { print(@n); } end { clear(@n); }`, "@n"},
		{`rawtracepoint:a { @n[tid] = 1; printf("x"); }`, "@n"},
		{`rawtracepoint:a { @n[tid] = 1; } rawtracepoint:b /has_key(@n, tid)/ { printf("%d", @n[tid]); delete(@n, tid); }`, "@n"},
		{`let @n = lruhash(9); rawtracepoint:a { @n[tid] = 1; }`, ""},
		{`let @n = lruhash(9); rawtracepoint:a { @n[tid] = arg0; } rawtracepoint:b { print(str(@n[tid])); }`, "@n"},
		{`rawtracepoint:a { @f[tid] = arg0; @c++; } rawtracepoint:b /@f[tid]/ { print(str(@f[tid])); delete(@f, tid); if (++@c > 5) { exit(); } }`, "@f"},
		{`rawtracepoint:a { @f[tid] = arg0; @n = count(); exit(); } rawtracepoint:b { if (@f[tid] > 1) { print(str(@f[tid])); } @f[tid] = 0; @m = count(); }`, "@f"},
		{`rawtracepoint:a { @f[tid] = arg0; } rawtracepoint:b /@f[tid]/ { print(@f[tid]); delete(@f, tid); exit(); }`, ""}, // no address comes from it
		{`rawtracepoint:a /comm == "a" && strncmp(str(arg0), "text", 3) == 0/ { @n[tid] = 1; }`, "@n"},
		{`rawtracepoint:a /strcontains(comm, "a")/ { @n[tid] = 1; }`, ""},
		{`rawtracepoint:a { if (arg0) { exit(); @n = count(); } @m = count(); }`, ""},
		{`rawtracepoint:a { if (@m < arg0) { @m = arg0; } }`, ""}, // depends on the value before
	} {
		s, err := script.Parse("t", c.src)
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.Check(s, check.Options{Process: true})
		if err != nil {
			t.Fatal(err)
		}
		_, maps, err := Sites(p, Options{Process: true})
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		var list []string
		for _, m := range maps {
			list = append(list, m.Name)
		}
		slices.Sort(list)
		if got := strings.Join(list, " "); got != c.want {
			t.Errorf("%s\n%q, want %q", c.src, got, c.want)
		}
	}
}

// TestCommon has which maps of a script are in memory that the process has in common with the kernel, by what its sites do.
func TestCommon(t *testing.T) {
	for _, c := range []struct{ process, kernel, want string }{
		{`@s[tid] = nsecs;`, `if (@s[tid]) { @h = hist(nsecs - @s[tid]); delete(@s, tid); }`, "@s"},
		{`@n[tid]++; @k[arg0, "a"] += 2; @l = arg0;`, `@n[tid]--; @k[arg0, "a"]++; @l = 3;`, "@k @l @n"},
		{`@n[arg0] = 1;`, `delete(@n, arg0);`, "@n"},
		{`@n[tid]++;`, `delete(@n, tid);`, ""},                    // the sum and its element are two words
		{`@n[comm] = 1;`, `@n[comm] = 2;`, ""},                    // the process has no name of the thread
		{`@n[probe] = 1;`, `@n[probe] = 2;`, ""},                  // each engine numbers its sites
		{`@n[tid] = @n[tid] + 1;`, `@n[tid] = 0;`, ""},            // which may happen between reading and setting
		{`@n[tid] = @n[tid] + 1;`, `@last = @n[tid];`, "@n"},      // only the thread itself changes it
		{`if (@n[tid]) { delete(@n, tid); }`, `@n[tid] = 1;`, ""}, // likewise
		{`@n[tid] = 1;`, `@n[tid] = @n[tid] + 1;`, "@n"},          // the thread does not run meanwhile
		{`@n = arg0; @c = count();`, `@n = 1; @c = count();`, "@n"},
		{`@n[tid] = 1; printf("%d", @n[tid]);`, `@n[tid] = 1;`, "@n"},
		{`@n[tid] = 1; print(@n);`, `@n[tid] = 1;`, ""},
	} {
		for _, apart := range []bool{false, true} {
			s, err := script.Parse("t", "uprobe:/bin/true:main { "+c.process+" } rawtracepoint:a { "+c.kernel+" }")
			if err != nil {
				t.Fatal(err)
			}
			p, err := check.Check(s, check.Options{Process: true})
			if err != nil {
				t.Fatal(err)
			}
			_, maps, err := Sites(p, Options{Process: true, Apart: apart})
			if err != nil {
				t.Errorf("%s %s: %v", c.process, c.kernel, err)
			}
			var list []string
			for _, m := range maps {
				if m.Both {
					list = append(list, m.Name)
				} else if m.Fn == "" && strings.Contains(c.want, m.Name) {
					t.Errorf("%s %s: %s is at the sites of one engine", c.process, c.kernel, m.Name)
				}
			}
			slices.Sort(list)
			if got := strings.Join(list, " "); !apart && got != c.want || apart && got != "" {
				t.Errorf("apart: %t; %s %s\n%q, want %q", apart, c.process, c.kernel, got, c.want)
			}
		}
	}
}

// TestDivision has what of a probe is done at the site, in the order of its updates: + adds, = sets, - deletes, k keeps, l leaves
// without a record; then "record" if jalon executes something, and the maps at the sites.
func TestDivision(t *testing.T) {
	names := map[Do]string{Add: "+", Set: "=", Delete: "-", Keep: "k", Leave: "l"}
	for _, c := range []struct{ src, want string }{
		{`@ = count();`, "+ @"},
		{`@[tid, arg0] = sum(arg1); @b = hist(arg1, 2);`, "++ @ @b"},
		{`@x = arg0; @x[1] = 2;`, ""}, // an error of the script
		{`@x = arg0; @n++; @n -= 3; @k[arg0] += 2; delete(@k[arg0]);`, "=+++- @k @n @x"},
		{`@s[tid] = nsecs; $a = @s[tid]; @h = hist(nsecs - $a); delete(@s[tid]);`, "=k+- @h @s"},
		{`if (arg0) { @a = 1; } else { @b = count(); }`, "=+ @a @b"},
		{`if (arg0) { @a = 1; printf("x"); }`, "=l record @a"},
		{`@a = 1; printf("%d", @a);`, "=k record @a"},
		{`printf("x"); @n++;`, "+ record @n"},
		{`if (arg0) { return; } @n++;`, "+ @n"},
		{`unroll(3) { @n++; }`, "+++ @n"},
		{`while (arg0 > 5) { @n++; }`, "record"},
		{`@n = @n + 1;`, "record"}, // depends on the value before
		{`@n[tid] = @n[tid] + 1;`, "k= @n"},
		{`if (@m < arg0) { @m = arg0; }`, "record"},
		{`@n[arg0 % 3] = count(); @d = sum(arg0 / 1000);`, "++ @d @n"},
		{`@n[arg0 % 0] = count();`, "record"}, // jalon warns
		{`@n[arg0 / arg1] = count();`, "record"},
		{`@n[comm] = count(); @m[cpu, probe, func]++;`, "++ @m @n"},
		{`@n[probe] = count(); @m[strftime("%Y", nsecs)] = count();`, "+ record @n"},
		{`if (cpu == 1) { @n = count(); }`, "+ @n"},
		{`@n[str(arg0, 64)] = count(); @t[str(arg0)] = count();`, "+ record @n"},
		{`@n++; print(@n);`, "record"},
		{`@n++; clear(@n);`, "record"},
		{`@x = "text"; @y = (1, 2); @n++;`, "+ record @n"},
		{`@n |= 1; @i = (int32)arg0; @i += 1;`, "=+ record @i"},
		{`@n++; exit();`, "record"},
		{`@t = tseries(arg0, 1s, 3); @[ustack] = count();`, "+ record @"},
	} {
		s, err := script.Parse("t", "uprobe:/bin/true:main { "+c.src+" }")
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.Check(s, check.Options{Process: true})
		if err != nil {
			if c.want != "" {
				t.Errorf("%s: %v", c.src, err)
			}
			continue
		}
		sites, maps, err := Sites(p, Options{Process: true})
		if err != nil {
			t.Errorf("%s: %v", c.src, err)
			continue
		}
		got := ""
		for _, u := range sites[0].Updates {
			got += names[u.Do]
		}
		var list []string
		for _, m := range maps {
			list = append(list, m.Name)
		}
		slices.Sort(list)
		if !sites[0].NoRecord {
			list = append([]string{"record"}, list...)
		}
		if got = strings.TrimSpace(got + " " + strings.Join(list, " ")); got != c.want {
			t.Errorf("%s\n%q, want %q", c.src, got, c.want)
		}
		if len(sites[0].Done) == 0 && sites[0].NoRecord {
			t.Errorf("%s: nothing is done, and no record is left", c.src)
		}
		if again, _, err := Sites(p, Options{Process: true, InJalon: true}); err != nil || fmt.Sprint(again[0].Updates) != "[]" || again[0].NoRecord {
			t.Errorf("%s: in jalon: %v, %v", c.src, again[0].Updates, err)
		}
	}
}

// TestLongestName: names of entries of directories take no more room than they can have.
func TestLongestName(t *testing.T) {
	const types = "struct qstr { char *name; char *text; } struct other { char *name; } struct dentry { struct qstr d_name; struct qstr *p; struct other o; } "
	for _, c := range []struct {
		probe, x string
		want     uint64
	}{
		{"rawtracepoint:a", "$d.d_name.name", 255},
		{"rawtracepoint:a", "$d.p.name", 255},
		{"rawtracepoint:a", "$d.d_name.name, 11", 10},
		{"rawtracepoint:a", "$d.d_name.text", 1024},
		{"rawtracepoint:a", "$d.o.name", 1024},
		{"uprobe:/bin/true:main", "$d.d_name.name", 1024}, // the program's own struct qstr
	} {
		s, err := script.Parse("t", types+c.probe+" { $d = (struct dentry *)arg0; print(str("+c.x+")); }")
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.Check(s, check.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sites, _, err := Sites(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var call *lang.Call
		for _, item := range sites[0].Collect {
			if x, ok := item.X.(*lang.Call); ok && len(x.Args) == 2 {
				call = x
			}
		}
		if call == nil {
			t.Fatalf("%s is not collected: %#v", c.x, sites[0].Collect)
		}
		if n, ok := call.Args[1].(*lang.IntLit); !ok || n.Value != c.want {
			t.Errorf("%s: str(%s) has room for %#v, want %d", c.probe, c.x, call.Args[1], c.want)
		}
	}
}

// TestKernelOnly: probes that read what only the kernel knows are the kernel's, with those at the same functions.
func TestKernelOnly(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"uprobe:a:f { @[uid] = count(); }", "[true]"},
		{`uprobe:a:f { printf("%d", gid); }`, "[true]"},
		{"uprobe:a:f { print(cgroup); } uprobe:a:g { @ = count(); }", "[true false]"},
		{"uprobe:a:f { print(username); } uprobe:b:f { @ = count(); }", "[true false]"},
		{"uretprobe:a:f { @[pcomm] = count(); } uprobe:a:f { @t[tid] = nsecs; }", "[true true]"},
		{"uprobe:a:f { print(ppid); } uprobe:a:* { @[probe] = count(); }", "[true true]"},
		{"uprobe:a:f { signal(10); } uprobe:a:g { @ = count(); }", "[true false]"},
		{`uprobe:a:f { if (strcontains(comm, "x")) { signal("KILL"); } }`, "whether signal() is reached is not known at the site"},
		{`uprobe:a:f { $i = 0; while ($i < arg0) { signal_thread(5); $i++; } }`, "whether signal_thread() is reached is not known at the site"},
		{"uprobe:a:f { print(ppid); print(kstack); }", "there is no stack of the kernel at a place in a program"},
	} {
		s, err := script.Parse("t", c.src)
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.Check(s, check.Options{Process: true, Unsafe: true})
		if err != nil {
			t.Fatalf("%s: %v", c.src, err)
		}
		sites, _, err := Sites(p, Options{Process: true})
		var kernel []bool
		for _, s := range sites {
			kernel = append(kernel, s.Kernel)
		}
		if got := fmt.Sprint(kernel); got != c.want && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "parent")) {
			t.Errorf("%s: %s, %v, want %s", c.src, got, err, c.want)
		}
	}
}

// TestPlacesOfAProbe: the static tracepoints of a probe have one plan, with a place each; other places have their own.
func TestPlacesOfAProbe(t *testing.T) {
	for _, c := range []struct {
		src    string
		shared bool
	}{
		{`tracepoint:a:b, tracepoint:a:c { @n[tid] = count(); print(pid); }`, true},
		{`rawtracepoint:b, rawtracepoint:c { @n[tid] = count(); print(pid); }`, false},
	} {
		s, err := script.Parse("t", c.src)
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.Check(s, check.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sites, _, err := Sites(p, Options{})
		if err != nil || len(sites) != 2 {
			t.Fatalf("%s: %d sites, %v", c.src, len(sites), err)
		}
		a, b := sites[0], sites[1]
		if got := &a.Collect[0] == &b.Collect[0]; got != c.shared {
			t.Errorf("%s: one plan: %v", c.src, got)
		}
		if !strings.HasSuffix(a.Place, ":b") || !strings.HasSuffix(b.Place, ":c") || a.Point.Name != "b" || b.Point.Name != "c" {
			t.Errorf("%s: places %s, %s of %s, %s", c.src, a.Place, b.Place, a.Point.Name, b.Point.Name)
		}
	}
}

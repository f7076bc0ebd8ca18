package kernelguest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// Maps that sites in the kernel update have what jalon computes from a record of each hit, on every kernel: its verifier accepts
// all forms of keys and values.
func TestGuest_ScriptMaps(t *testing.T) {
	for _, script := range []string{
		"kprobe:vfs_read /pid == cpid/ { @ = count(); @k[arg2] = count(); @c[comm] = count(); @t[tid == pid, comm, arg2] = sum(arg2); EXTRA }" +
			"kretprobe:vfs_read /pid == cpid/ { @r[(int64)retval] = count(); if ((int64)retval > 8) { @large = sum(retval); } else { @small = count(); } EXTRA }",
		"kprobe:vfs_read /pid == cpid/ { @h = hist(arg2); @h4[comm] = hist(arg2, 4); @l = lhist(arg2, 0, 100, 7); @lo = min(arg2); @hi = max(arg2); @avg = avg(arg2); @all[comm] = stats(arg2); EXTRA }",
		"kprobe:vfs_read, kprobe:vfs_write, kprobe:vfs_open* /pid == cpid/ { @p[probe] = count(); @f[func, comm, cpu < 4096] = count(); EXTRA } " +
			"kretprobe:vfs_read /pid == cpid/ { @d[(int64)retval / 3, (int64)retval % 5, func] = sum(((int64)retval - 9) / 4); EXTRA }",
		"kprobe:vfs_read /pid == cpid/ { @[kstack] = count(); @two[kstack(2), comm] = sum(arg2); EXTRA }",
		"fentry:vfs_read /pid == cpid/ { @[args.count] = count(); @name[comm, args.file->f_flags & 3] = hist(args.count); EXTRA } " +
			"tracepoint:syscalls:sys_enter_pread64 /pid == cpid/ { @both[args.count] = count(); EXTRA } uprobe:" + calls + ":main { @both[arg0] = count(); EXTRA }",
		"kprobe:vfs_read /pid == cpid/ { @in[tid] = arg2; @n[arg2]++; @named[tid, comm] = arg2; EXTRA } " +
			"kretprobe:vfs_read /@in[tid]/ { @all = sum(@in[tid]); @last = @in[tid]; @texts = sum(@named[tid, comm]); delete(@in, tid); delete(@named, (tid, comm)); EXTRA }",
	} {
		// The same probes and maps three times in one run: exit() makes jalon execute a probe; with printf() the site and jalon do
		// parts of it.
		all := ""
		for i, extra := range []string{`if (pid == 1) { exit(); }`, "", `printf("");`} {
			all += mapName.ReplaceAllString(strings.ReplaceAll(script, "EXTRA", extra), fmt.Sprintf("@m%d$1", i)) + "\n"
		}
		p := testkit.Start(t, jalon, "run", "-q", "-e", all, "-c", calls+" reads")
		p.Wait()
		if p.Status != 0 || strings.Contains(p.Errs.String(), "warning") {
			t.Errorf("%s: status %d\n%s", script, p.Status, p.Errs.String())
		}
		of := func(i int) string {
			var maps []string
			for _, m := range regexp.MustCompile(`(?m)^@m`).Split(p.Out.String(), -1)[1:] {
				if m, ok := strings.CutPrefix(m, fmt.Sprint(i)); ok {
					maps = append(maps, strings.Split(strings.TrimSpace(m), "\n")...)
				}
			}
			if !strings.Contains(script, "kstack") {
				slices.Sort(maps) // elements with equal values have no order
			}
			return strings.Join(maps, "\n")
		}
		inJalon, atSite, parts := of(0), of(1), of(2)
		if inJalon != atSite || inJalon != parts || len(atSite) < 5 {
			t.Errorf("%s\nat the sites:\n%s\nin parts:\n%s\nin jalon:\n%s", script, atSite, parts, inJalon)
		}
	}
}

var mapName = regexp.MustCompile(`@(\w*)`)

// Maps of a script that is killed while the kernel updates them are gone.
func TestGuest_MapsOfKilledScript(t *testing.T) {
	before := remains(t)
	p := testkit.Start(t, jalon, "run", "-e", `tracepoint:syscalls:sys_enter_write { @w[comm] = count(); } kprobe:vfs_read { @[comm, kstack] = count(); @h = hist(arg2); @u[ustack, comm] = sum(arg2); } interval:ms:50 { printf("on\n"); print(@h); }`)
	p.AwaitOut("on\n")
	w := work(t, "works", "1")
	w.once()
	if now := remains(t); now["maps"] <= before["maps"]+4 || now["programs"] <= before["programs"] {
		t.Errorf("while the script runs there is %v", now)
	}
	p.Kill()
	w.once()
	gone(t, before)
}

// A pointer that a site puts into a map is followed at another site, in statements of jalon too.
func TestGuest_PointersInMaps(t *testing.T) {
	for _, kind := range []string{"", "let @f = lruhash(16); "} {
		p := testkit.Start(t, jalon, "run", "-q", "--maps", "-e", kind+`kprobe:vfs_read /pid == cpid/ { @f[tid] = (struct file *)arg0; @n++; }
kretprobe:vfs_read /has_key(@f, tid)/ {
	$f = @f[tid];
	$before = (int64)-1;
	$again = find(@last, tid, $before);
	printf("%s %d %d %d %d\n", str($f->f_path.dentry->d_name.name), $f->f_flags & 3, (int64)retval, $again ? $before : 0, @n);
	@last[tid] = (int64)retval;
	delete(@f, tid);
} end { clear(@last); clear(@n); }`, "-c", calls+" reads")
		p.Wait()
		want, last := "", 0
		for i, size := range []int{100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 4096, 4097, 5000, 20000} {
			want += fmt.Sprintf("known.bin 2 %d %d %d\n", size, last, i+1)
			last = size
		}
		if p.Status != 0 || strings.TrimRight(p.Out.String(), "\n")+"\n" != want || strings.Count(p.Errs.String(), "in the kernel: ") != 3 {
			t.Errorf("status %d\n%s%s\nwant\n%s", p.Status, p.Out.String(), p.Errs.String(), want)
		}
	}
}

// Loops that follow pointers are walked at the site, on every kernel: its verifier accepts each pass.
func TestGuest_Walks(t *testing.T) {
	for _, c := range []struct{ loop, want, maps string }{
		{ // a while that ends at what it reads: /tmp is a mount
			`while ($d != $d.d_parent) { printf("%s ", str($d.d_name.name)); $d = $d.d_parent; $n++; }`, "known.bin / 1\n", "",
		},
		{ // many passes, which go on at the place of a mount
			`$m = container_of(((struct file *)arg0).f_path.mnt, struct mount, mnt);
		for $i : 0..32 {
			if ($d == $d.d_parent || $d == $m.mnt.mnt_root) {
				if ($m == $m.mnt_parent) { break; }
				$d = $m.mnt_mountpoint; $m = $m.mnt_parent;
				continue;
			}
			printf("%s ", str($d.d_name.name));
			$d = $d.d_parent;
			$n++;
		}`, "known.bin tmp / 2\n", "",
		},
		{ // loops in loops
			`for $i : 0..4 { if ($d == $d.d_parent) { continue; } $k = 0; while ($k < 3) { $k++; if ($d == $d.d_parent) { break; } printf("%s ", str($d.d_name.name)); $d = $d.d_parent; $n++; } }`, "known.bin / 1\n", "",
		},
		{ // maps
			`while ($d != $d.d_parent) { @s = sum($d.d_name.len); if ($d.d_name.len > 3) { @c[pid == cpid] = count(); } @last[tid] = $d.d_name.len; $d = $d.d_parent; $n = @last[tid]; } delete(@last, tid);`, "/ 9\n", "\n\n@s: 126\n@c[true]: 14\n",
		},
	} {
		p := testkit.Start(t, jalon, "run", "-q", "-e", `kprobe:vfs_read /pid == cpid/ { $d = ((struct file *)arg0).f_path.dentry; $n = 0; `+c.loop+` printf("%s %d\n", str($d.d_name.name), $n); }`, "-c", calls+" reads")
		p.Wait()
		if got := strings.TrimRight(p.Out.String(), "\n") + "\n"; got != strings.Repeat(c.want, 14)+c.maps || strings.Contains(p.Errs.String(), "warning") {
			t.Errorf("%s:\n%s\n%s", c.loop, got, p.Errs.String())
		}
	}
	// Two static tracepoints have one long program.
	p := testkit.Start(t, jalon, "run", "-v", "-e", `tracepoint:syscalls:sys_exit_pread64, tracepoint:syscalls:sys_exit_readv /pid == cpid/ {
		$d = curtask.fs.pwd.dentry;
		for $i : 0..60 { if ($d == $d.d_parent) { break; } printf("%s ", str($d.d_name.name)); $d = $d.d_parent; }
		printf("%s %d\n", probe, args.ret); }`, "-c", calls+" reads")
	p.Wait()
	for _, want := range []string{"tracepoint:syscalls:sys_exit_pread64 20000\n", "tracepoint:syscalls:sys_exit_readv 42\n"} {
		if strings.Count(p.Out.String(), want) != 1 {
			t.Errorf("%q is missing in\n%s\n%s", want, p.Out.String(), p.Errs.String())
		}
	}
	if !strings.Contains(p.Errs.String(), ", 2 sites") {
		t.Errorf("the two have no program in common:\n%s", p.Errs.String())
	}
}

// Conditions on text are decided at the sites, and pointers in maps are followed in a script that ends at one of them.
func TestGuest_TextConditions(t *testing.T) {
	const enter, exit = "tracepoint:syscalls:sys_enter_openat ", "tracepoint:syscalls:sys_exit_openat "
	for _, cond := range []string{
		`strncmp(comm, "cal", 3) == 0 && strncmp(comm, "calm", 4) != 0`, `comm == "calls" && strncmp(str(args.filename), "/none/and/more", 5)`,
		`pid == cpid && str(args.filename) != "/none"`, `pid == cpid && (str(args.filename, 2) == "/" || str(args.filename) == "known.bin")`,
	} {
		p := testkit.Start(t, jalon, "run", "-q", "--maps", "-e", enter+"/"+cond+"/ { @f[tid] = args.filename; } "+exit+
			`/@f[tid]/ { printf("%s %d\n", str(@f[tid], 32), args.ret > 0); delete(@f, tid); if (++@c == 1) { exit(); } } end { clear(@c); }`, "-c", calls+" reads")
		p.Wait()
		if out := p.Out.String(); p.Status != 0 || strings.Count(out, "known.bin 1\n") != 1 || !strings.Contains(p.Errs.String(), "@f in the kernel: ") {
			t.Errorf("%s: status %d\n%s%s", cond, p.Status, out, p.Errs.String())
		}
	}
}

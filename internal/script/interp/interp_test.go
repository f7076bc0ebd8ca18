package interp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// output runs a script and returns what it prints, maps included.
func output(t *testing.T, src string, json bool) string {
	t.Helper()
	s, err := script.Parse("t", src)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	p, err := check.Check(s, check.Options{Unsafe: true, Params: []string{"hello", "42"}})
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	if err := Refuse(p, nil, false); err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	var b strings.Builder
	now := time.Date(2026, 11, 23, 5, 6, 7, 890123000, time.UTC)
	m := New(p, Options{
		Out: &b, Err: &b, JSON: json, Now: func() time.Time { return now }, Boot: func() uint64 { return 1e9 }, Mono: func() uint64 { return 2e9 },
		System: func(c string) ([]byte, error) { return []byte("run " + c + "\n"), nil },
	})
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := m.Loop(ctx, ctx, nil, func() {}); err != nil {
		b.WriteString(err.Error())
	}
	m.PrintMaps()
	for _, l := range m.Repeated() {
		b.WriteString(l + "\n")
	}
	return b.String()
}

var bar = strings.Repeat("@", 52)

func TestRun(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`begin { printf("%d %s %x\n", 1 + 2 * 3, "a", 255); }`, "7 a ff\n"},
		{`begin { @x = 5; @y["a", 1] = 2; @y["b", 0] += 3; @y["a", 1]++; }`, "@x: 5\n@y[a, 1]: 3\n@y[b, 0]: 3\n"},
		{
			`begin { @c = count(); @c = count(); @s = sum(5); @s = sum(-7); @a = avg(1); @a = avg(4); @m = min(3); @m = min(-2); @n = max(3); @n = max(9); }`,
			"@c: 2\n@s: -2\n@a: 2\n@m: -2\n@n: 9\n",
		},
		{`begin { $i = 0.0; @h = hist($i / $i); @h = hist(2.5); }`, "warning: the value is not a number (NaN): it is left out\n  --> t:1:24\n   |\n 1 | begin { $i = 0.0; @h = hist($i / $i); @h = hist(2.5); }\n   |                        ^^^^^^^^^^^^^\n@h:\n[2, 4)                 1 |" + bar + "|\n\n"},
		{
			`begin { @s = sum(0.5); @s = sum(1); @a[1] = avg(0.5); @a[1] = avg(1.0); @m = min(0.5); @m = min(-0.25); @n = max(1); @n = max(2.5); @t = stats(0.5); @t = stats(0.25); @x = 0.1; @x += 2; @y = @s + 1; @z = (double)@s;
			print(@a, 1, 3); print((int64)@s); if (@s > 1.4 && @s) { print(-@s); } printf("%f %d\n", @s, (int32)@n); }`,
			"@a[1]: 0.25\n1\n-1.5\n1.500000 2\n@s: 1.5\n@a[1]: 0.75\n@m: -0.25\n@n: 2.5\n@t: { .count = 2, .average = 0.375, .total = 0.75 }\n@x: 2.1\n@y: 2.5\n@z: 1.5\n",
		},
		{`begin { @[1] = sum(0.5); @[2] = sum(-0.5); @[3] = sum(0.25); print(@, 2); zero(@); @l = lhist(-0.5, 0, 2, 1); @l = lhist(1.9, 0, 2, 1); @l = lhist(2.5, 0, 2, 1); @h = hist(0.3); }`,
			"@[3]: 0.25\n@[1]: 0.5\n" +
				"@[1]: 0\n@[2]: 0\n@[3]: 0\n@l:\n(..., 0)               1 |" + bar + "|\n[0, 1)                 0 |" + strings.Repeat(" ", 52) + "|\n[1, 2)                 1 |" + bar + "|\n[2, ...)               1 |" + bar + "|\n\n" +
				"@h:\n[0.25, 0.5)            1 |" + bar + "|\n\n"},
		{`begin { @ = stats(1); @ = stats(2); @ = stats(3); }`, "@: { .count = 3, .average = 2, .total = 6 }\n"},
		{`begin { @ = hist(5); } end { print(@); clear(@); }`, "@:\n[4, 8)                 1 |" + strings.Repeat("@", 52) + "|\n\n"},
		{`begin { @ = lhist(15, 0, 100, 10); }`, "@:\n[10, 20)               1 |" + strings.Repeat("@", 52) + "|\n\n"},
		{`begin { $i = 0; while ($i < 10) { $i++; if ($i == 3) { continue } if ($i == 6) { break } @l[$i] = $i * $i; } }`, "@l[1]: 1\n@l[2]: 4\n@l[4]: 16\n@l[5]: 25\n"},
		{`begin { for ($i : 0..5) { @sum += $i } unroll(3) { @u++ } }`, "@sum: 10\n@u: 3\n"},
		{`begin { @m[1] = "a"; @m[2] = "b"; for ($kv : @m) { printf("%d=%s ", $kv.0, $kv.1); if ($kv.0 == 1) { delete(@m, 2) } } }`, "1=a @m[1]: a\n"},
		{
			`begin { $t = (1, "x", (2, true)); print($t); print($t.2.0); print($t[1]); $r = (a=1, b="c"); print($r); print($r.b); print(()); }`,
			"(1, x, (2, true))\n2\nx\n{ .a = 1, .b = c }\nc\n()\n",
		},
		{`begin { $a = (int8)300; $b = (uint16)-1; $c = (uint64)-1; $d = (int32)$c; print(($a, $b, $c, $d)); }`, "(44, 65535, 18446744073709551615, -1)\n"},
		{
			`begin { $a = (uint8[4])pton("1.2.3.4"); print($a); print(ntop($a)); print((uint32)$a); $b = (int8[8])12345; printf("%x %x\n", $b[0], $b[1]); }`,
			"[1,2,3,4]\n1.2.3.4\n67305985\n39 30\n",
		},
		{`begin { $x = -7; print(($x / 2, $x % 3, $x >> 1, ~$x, !$x, -$x)); $u = (uint8)200; print($u + 100); }`, "(-3, -1, -4, 6, false, 7)\n300\n"},
		{`begin { $z = $# - 2; print(5 / $z); print(5 % $z); }`, "warning: division by 0; the result is 1\n  --> t:1:28\n   |\n 1 | begin { $z = $# - 2; print(5 / $z); print(5 % $z); }\n   |                            ^^^^^^\n1\nwarning: division by 0; the result is 1\n  --> t:1:43\n   |\n 1 | begin { $z = $# - 2; print(5 / $z); print(5 % $z); }\n   |                                           ^^^^^^\n1\n"},
		{`begin { print(str($1)); print($2 + 1); print($#); print(str($1 + 2)); print(getopt("a", 7)); }`, "hello\n43\n2\nllo\n7\n"},
		{`begin { print("a" == "a"); print("a" < "b"); print((1, "x") == (1, "x")); print(comm == "interp.test"); print("abc"[1]); }`, "true\ntrue\ntrue\ntrue\n98\n"},
		{`begin { $a = 5; print($a++); print($a); print(--$a); print($a > 4 ? "big" : "small"); print($a ?: 1); $b = if ($a == 5) { 1 } else { 2 }; print($b); }`, "5\n6\n5\nbig\n5\n1\n"},
		{
			`begin { print(strlen("abc")); print(strstr("hello", "ll")); print(strcontains("ab", "z")); print(str_concat("a", "b")); print(strncmp("abc", "abd", 2)); print(bswap((uint16)0x1234)); print(strerror(2)); print(signal_name(9)); }`,
			"3\n2\nfalse\nab\n0\n13330\nNo such file or directory\nKilled\n",
		},
		{`begin { time("%H:%M:%S %F\n"); print(strftime("%H:%M:%S.%f", nsecs)); print(nsecs(monotonic)); print(elapsed); }`, "05:06:07 2026-11-23\n05:06:07.890123\n2000000000\n0\n"},
		{`fn sq($x : int64) : int64 { if ($x == 0) { return 0; } return $x * $x; } begin { print(sq(7)); print(sq(0)); }`, "49\n0\n"},
		{`fn f($n : int64) : int64 { if ($n < 2) { return $n; } return f($n - 1) + f($n - 2); } begin { print(f(15)); }`, "610\n"},
		{`macro sq(x) { x * x } macro inc($v) { $v += 1 } begin { $a = 3; inc($a); print(sq($a)); }`, "16\n"},
		{`begin { errorf("bad %d", 1); warnf("w"); exit(); print("never"); } end { print("end") }`, "t:1:9: error: bad 1\nt:1:30: warning: w\nend\n"},
		{`begin /1 == 2/ { print("no") } begin /pid/ { print("yes") }`, "yes\n"},
		{`interval:us:10 { @n++; if (@n == 3) { exit() } } end { print(@n); print(@n == 3); clear(@n) }`, "@n: 3\ntrue\n"},
		{`let @m = hash(2); begin { @m[1] = 1; @m[2] = 2; @m[3] = 3; }`, "warning: the map @m is full, with 2 elements; the update is lost\n  --> t:1:49\n   |\n 1 | let @m = hash(2); begin { @m[1] = 1; @m[2] = 2; @m[3] = 3; }\n   |                                                 ^^^^^^^^^\n   = hint: config = { max_map_keys = N } or let @m = hash(N) makes room\n@m[1]: 1\n@m[2]: 2\n"},
		{`let @m = lruhash(2); begin { @m[1] = 1; @m[2] = 2; $x = @m[1]; @m[3] = 3; }`, "@m[1]: 1\n@m[3]: 3\n"},
		{`begin { for ($i : 0..10) { @[$i] = $i } print(@, 2); print(@, 2, 3); clear(@); }`, "@[8]: 8\n@[9]: 9\n@[8]: 2\n@[9]: 3\n"},
		{
			`begin { @a[1] = 1; print(has_key(@a, 1)); print(has_key(@a, 2)); if (find(@a, 1, $v)) { print($v) } print(len(@a)); print(@a[1]); zero(@a); print(delete(@a, 7)); }`,
			"true\nfalse\n1\n1\n1\nfalse\n@a[1]: 0\n",
		},
		{`begin { system("echo %s", "x"); cat("/nonexistent"); print(config.max_strlen); print(1.5 * 3); $e = 1e3; print($e / 3); }`, "run echo x\nt:1:33: error: open /nonexistent: no such file or directory\n1024\n4.5\n333\n"},
		{
			`enum C { RED = -2, GREEN, BLUE = 7 }; enum B { MOST = 0xffffffffffffffff };
			begin { @a[RED] = RED; @a[BLUE] = BLUE; @a[GREEN] = GREEN; @m[MOST] = sum(1); print(RED < BLUE); printf("%d %s %lu\n", RED, RED, MOST); }`,
			"true\n-2 RED 18446744073709551615\n@a[RED]: RED\n@a[GREEN]: GREEN\n@a[BLUE]: BLUE\n@m[MOST]: 1\n",
		},
		{`enum E { ONE = 1, TWO }; begin { $e = TWO; printf("%s %d\n", $e, $e); print(ONE); @[ONE] = 1; }`, "TWO 2\nONE\n@[ONE]: 1\n"},
		{`begin { $r = { $x = 5; $x + 1 }; print($r); if ($r == 6) { if (1) { return; } } print("never"); }`, "6\n"},
		{`begin { print(sizeof(int32)); if comptime (sizeof(int64) == 8) { print("8") } else { print("no") } print(probe); print(probetype); }`, "4\n8\nbegin\nspecial\n"},
		{`begin { @ = tseries(5, 100ms, 3, "sum"); @ = tseries(6, 100ms, 3, "sum"); }`, "@:\n             10                                                 12\nhh:mm:ss.ms  |___________________________________________________|\n05:06:07.800 |                         *                         | 11\n             v___________________________________________________v\n             10                                                 12\n\n"},
	} {
		got := output(t, c.src, false)
		if strings.Contains(got, "hh:mm:ss") {
			got = strings.ReplaceAll(got, time.Unix(0, time.Date(2026, 11, 23, 5, 6, 7, 8e8, time.UTC).UnixNano()).Format("15:04:05.000"), "05:06:07.800")
		}
		if got != c.want {
			t.Errorf("%s\n got %q\nwant %q", c.src, got, c.want)
		}
	}
}

// TestNegativeEnumerators: enumerators are signed numbers in JSON, as in C, if one of them is negative.
func TestNegativeEnumerators(t *testing.T) {
	const src = `enum C { RED = -2, BLUE = 7 }; enum B { MOST = 0xffffffffffffffff };
		begin { print(RED); print((BLUE, RED)); @a[RED] = RED; @a[BLUE] = BLUE; @b[(enum C)-2, 1] = sum(RED); @m = MOST; }`
	const want = `{"type": "value", "data": -2}
{"type": "value", "data": [7,-2]}
{"type": "map", "data": {"@a": {"RED": -2, "BLUE": 7}}}
{"type": "map", "data": {"@b": {"RED,1": -2}}}
{"type": "map", "data": {"@m": "18446744073709551615"}}
`
	if got := output(t, src, true); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestJSONLines(t *testing.T) {
	const src = `begin { printf("a\n"); print((1, "x")); @m["k"] = 1; @s = stats(2); time("%H"); warnf("w"); }`
	const want = `{"type": "printf", "data": "a\n"}
{"type": "value", "data": [1,"x"]}
{"type": "time", "data": "05"}
{"type": "warnf", "msg": "w", "filename": "t", "line": 1, "col": 81}
{"type": "map", "data": {"@m": {"k": 1}}}
{"type": "stats", "data": {"@s": {"count": 1, "average": 2, "total": 2}}}
`
	if got := output(t, src, true); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRefuse: what cannot run here is reported before anything runs.
func TestRefuse(t *testing.T) {
	for src, want := range map[string]string{
		"begin { print(cgroup) }":              "cgroup cannot be used",
		"begin { $x = *(int8 *)5; }":           "memory cannot be used",
		"begin { $x = curtask; }":              "curtask cannot be used",
		"begin { $x = curtask.pid; }":          "memory cannot be used",
		"begin { debugf(\"x\") }":              "debugf() cannot be used",
		"begin { if comptime 0 { kstack } }":   "",
		"begin { print(sizeof(curtask.pid)) }": "",
	} {
		s, err := script.Parse("t", "struct task_struct { int pid; };\n"+src)
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.Check(s, check.Options{})
		if err != nil {
			t.Fatalf("%s: %v", src, err)
		}
		err = Refuse(p, nil, false)
		if got := err; (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("%s: %v", src, err)
		}
	}
}

// TestInterrupted: a script that never ends by itself is ended by its context.
func TestInterrupted(t *testing.T) {
	s, err := script.Parse("t", "begin { $i = 0; while (1) { $i++ } }")
	if err != nil {
		t.Fatal(err)
	}
	p, err := check.Check(s, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	m := New(p, Options{Now: time.Now})
	if err := m.Loop(ctx, ctx, nil, func() {}); err != nil {
		t.Error(err)
	}
}

// TestEndlessLoop: a loop that does not end is an error: other probes would wait for ever.
func TestEndlessLoop(t *testing.T) {
	s, err := script.Parse("t", "begin { $i = 0; while ($i < 5) { $j = 1; } }")
	if err != nil {
		t.Fatal(err)
	}
	p, err := check.Check(s, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := New(p, Options{Now: time.Now})
	if err := m.Loop(t.Context(), t.Context(), nil, func() {}); err == nil || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("%v", err)
	}
}

func FuzzRun(f *testing.F) {
	f.Add(`begin { $i = 0; while ($i < 10) { $i++; @[$i, "a"] = count(); } print(@); } fn f($a : int8) : int8 { return $a }`)
	f.Add(`begin { $t = (1, "x", (a=2, b=1.5)); print($t.2.b); @h = hist(-$t.0); @l = lhist(5, 0, 9, 3); print("abc"[$t.0]) }`)
	f.Fuzz(func(t *testing.T, src string) {
		s, err := script.Parse("t", src)
		if err != nil {
			return
		}
		p, err := check.Check(s, check.Options{Params: []string{"a", "1"}})
		if err != nil || Refuse(p, nil, false) != nil {
			return
		}
		var b strings.Builder
		m := New(p, Options{Out: &b, Err: &b, Now: time.Now, Boot: func() uint64 { return 1 }, Mono: func() uint64 { return 1 }, System: func(string) ([]byte, error) { return nil, nil }})
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		_ = m.Loop(ctx, ctx, nil, func() {})
		m.PrintMaps()
	})
}

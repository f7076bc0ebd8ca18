package test

import (
	"strings"
	"testing"
)

// TestScriptArgs reads parameters by their names at the first instruction of functions, where a compiler without
// optimisation has not stored them yet: where the calling convention passes them, or they are refused.
func TestScriptArgs(t *testing.T) {
	for _, flags := range [][]string{{"-O0"}, {"-O2"}, {"-O0", "-gsplit-dwarf"}} {
		exe := compile(t, "gcc", "scriptargs.c", append([]string{"-g"}, flags...)...)
		for _, c := range []struct{ script, want string }{
			{"uprobe:%s:ints { print((args.a, args.b, args.c, args.d, args.e, args.f, args.g, args.h)) }", "(-1, -2, -3, -4, 200, true, 7, -8)\n"},
			{"uprobe:%s:ints { print(args) }", "{ .a = -1, .b = -2, .c = -3, .d = -4, .e = 200, .f = true, .g = 7, .h = -8 }\n"},
			{"uprobe:%s:ints { print((a, h)) }", "(-1, -8)\n"},
			{"uprobe:%s:large { print((args.a, str(args.s))) }", "(11, text)\n"},
			{"uprobe:%s:mixed { print((args.a, c, x, y, b)) }", "(21, 22, 1.5, 2.5, { .a = 10, .b = 20, .c = 30 })\n"},
			{"uprobe:%s:mixed { print(args) }", "{ .x = 1.5, .a = 21, .y = 2.5, .b = { .a = 10, .b = 20, .c = 30 }, .c = 22 }\n"},
			{"uprobe:%s:mixed* { print(args.x) }", "1.5\n3\n"},
			{"uretprobe:%s:mixed* { print(retval / 2) }", "28.5\n1.5\n"},
			{"uprobe:%s:objects { print(after) }", "6\n"},
		} {
			script := strings.ReplaceAll(c.script, "%s", exe)
			for _, how := range [][]string{{"-c", exe}, {"--", exe}} {
				args := append([]string{"run", "-q", "-e", script}, how...)
				if r := jalon(t, args...); strings.TrimRight(r.stdout, "\n") != strings.TrimRight(c.want, "\n") {
					t.Errorf("%v %s %s:\n%s%s\nwant %s", flags, how[0], script, r.stdout, r.stderr, c.want)
				}
			}
		}
		if flags[0] != "-O0" {
			continue
		}
		for script, want := range map[string]string{
			"uprobe:%s:mixed { print(uid); print(args.x) }": "the probe is in the kernel, because uid cannot be read by code in a process",
			"uprobe:%s:ints { print(local) }":               "local has no value yet at the first instruction",
			"uprobe:%s:foreign { print(args) }":             "where a is at the first instruction of foreign is not known",
		} {
			r := jalon(t, "run", "-e", strings.ReplaceAll(script, "%s", exe), "-c", exe)
			if r.status != 1 || !strings.Contains(r.stderr, want) {
				t.Errorf("%v %s: status %d\n%s%s\nwant %s", flags, script, r.status, r.stdout, r.stderr, want)
			}
		}
	}
}

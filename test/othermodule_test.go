package test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherModules: variables of libraries have their values at places of a program, by their bare names: the program's copy
// of a library's, the first of several, one that the program replaces, thread-local ones, and those that no library exports
// if there is only one. Those which the program only declares are found too.
func TestOtherModules(t *testing.T) {
	need(t, "gcc", "clang")
	first := compile(t, "gcc", "othermodule_lib.c", "-g", "-O1", "-shared", "-fPIC", "-DFIRST")
	second := compile(t, "gcc", "othermodule_lib.c", "-g", "-O1", "-shared", "-fPIC", "-DSECOND")
	link := []string{"-g", "-O1", first, second, "-Wl,-rpath," + filepath.Dir(first)}
	const list = "om_copied.a, om_alias, om_other, om_thread, om_hidden, om_only, om_both, om_replaced, errno, optind"
	const want = "om_copied.a=12 om_alias=22 om_other=22 om_thread=32 om_hidden=42 om_only=52 om_both=71 om_replaced=91 errno=0 optind=1\n"
	for _, build := range []string{"gcc", "gcc -no-pie", "gcc -mno-direct-extern-access", "clang", "clang -fPIC", "gcc -gsplit-dwarf"} {
		t.Run(build, func(t *testing.T) {
			words := strings.Fields(build)
			prog := compile(t, words[0], "othermodule.c", append(words[1:], link...)...)
			res := jalon(t, "trace", "-c", list, "om_place", "--", prog)
			if !strings.Contains(res.stdout, want) || !strings.Contains(res.stderr, `"om_only" is the one of `+first) {
				t.Errorf("status %d: %s%s", res.status, res.stdout, res.stderr)
			}
			res = jalon(t, "trace", "-c", "errno, $retval", "om_place%return if errno == 3", "--", prog)
			if !strings.Contains(res.stdout, "errno=3 $retval=3\n") {
				t.Errorf("in a condition: status %d: %s%s", res.status, res.stdout, res.stderr)
			}
			res = jalon(t, "trace", "-c", "om_twice", "om_place", "--", prog)
			if res.status == 0 || !strings.Contains(res.stderr, "other modules have several: at ") {
				t.Errorf("several: status %d: %s%s", res.status, res.stdout, res.stderr)
			}
		})
	}
}

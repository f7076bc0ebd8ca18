package test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// shown is a number in JSON; a character is an object of its code and its text.
func shown(v any) string {
	if m, ok := v.(map[string]any); ok {
		v = m["value"]
	}
	return fmt.Sprint(v)
}

// TestPassed: at a function's first instruction a parameter has the value that the caller passed, or no
// value, even if the compiler describes only its later value, or the frame that the function has not made yet. The
// program prints the passed values; GDB shows the later value, or what is in the frame.
func TestPassed(t *testing.T) {
	need(t, "gcc", "clang")
	for build, least := range map[string]int{
		"clang -O1 -gdwarf-5": 40, "clang -O2 -gdwarf-4": 40, "clang -O3 -gdwarf-5": 40, "gcc -O2 -gdwarf-5": 40,
		// Not optimised: the parameters are not in the frame yet.
		"clang -O0": 75, "clang -O0 -fomit-frame-pointer": 75, "gcc -O0": 75, "gcc -O0 -fomit-frame-pointer": 75,
	} {
		t.Run(build, func(t *testing.T) {
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "passed.c", append(flags[1:], "-g", "-w")...)
			checkPassed(t, prog, least, func(f string) string { return f + "+0" })
		})
	}
}

// TestPassedTypes: parameters of all classes of the calling convention, at the first instruction of functions that are
// not optimised, by all names of the place and by both engines. What is not certain has no value.
func TestPassedTypes(t *testing.T) {
	need(t, "g++", "clang++")
	for build, least := range map[string]int{
		"g++ -O0": 250, "g++ -O0 -fomit-frame-pointer": 250, "g++ -O0 -gdwarf-4": 250, "g++ -Og": 200, "g++ -O0 -fsanitize=address": 150,
		"clang++ -O0": 240, "clang++ -O0 -fomit-frame-pointer": 240, "clang++ -O0 -gdwarf-4": 200, "clang++ -O1": 100,
	} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "passedtypes.cc", append(flags[1:], "-g", "-w")...)
			checkPassed(t, prog, least, func(f string) string { return f + "+0" })
			if strings.HasPrefix(build, "clang++ -O0") { // whose frame base is a register, which the epilogue restores
				checkPassed(t, prog, 200, func(f string) string { return f + "%return" })
			}
			if strings.HasSuffix(build, "++ -O0") {
				named := func(f string) string { return "uprobe:" + prog + ":" + f }
				checkPassed(t, prog, least, named)
				checkPassed(t, prog, least-60, named, "--engine=kernel") // which has no vector registers
			}
		})
	}
}

// callsOf are the functions that a program prints, and the values that it says were passed by each call.
func callsOf(t *testing.T, prog string) map[string][]map[string]string {
	t.Helper()
	out, err := exec.Command(prog).Output()
	if err != nil {
		t.Fatal(err)
	}
	passed := map[string][]map[string]string{}
	for l := range strings.Lines(string(out)) {
		w := strings.Fields(l)
		args := map[string]string{}
		for _, x := range w[1:] {
			name, value, _ := strings.Cut(x, "=")
			args[name] = value
		}
		passed[w[0]] = append(passed[w[0]], args)
	}
	return passed
}

// checkPassed traces the functions that a program prints, at their first instruction.
func checkPassed(t *testing.T, prog string, least int, place func(string) string, options ...string) {
	t.Helper()
	passed := callsOf(t, prog)
	file := filepath.Join(t.TempDir(), "events")
	cmd := append([]string{"trace", "-q", "-f", "json", "-o", file, "-c", "$args"}, options...)
	functions := map[string]string{}
	for f := range passed {
		functions[place(f)] = f
		cmd = append(cmd, place(f))
	}
	if res := jalon(t, append(cmd, "--", prog)...); res.status != 0 {
		t.Fatal(res.stderr)
	}
	hits := map[string]int{}
	right, missing := 0, map[string]bool{}
	for _, e := range readEvents(t, file) {
		f, ok := functions[e.Place]
		if !ok {
			t.Fatalf("an event of %q", e.Place)
		}
		n := hits[f]
		if hits[f]++; n >= len(passed[f]) {
			continue
		}
		args, _ := e.Values["$args"].(map[string]any)
		for name, want := range passed[f][n] {
			got, ok := member(args, name)
			for key := range e.Errors {
				if strings.HasPrefix("$args."+name+".", key+".") {
					ok = false
				}
			}
			switch {
			case !ok:
				missing[f+"."+name] = true
			case !sameNumber(got, want):
				t.Errorf("%s hit %d: %s = %s, %s was passed", place(f), n, name, got, want)
			default:
				right++
			}
		}
	}
	for f, list := range passed {
		if hits[f] != len(list) {
			t.Errorf("%s: %d events, %d calls", place(f), hits[f], len(list))
		}
	}
	t.Logf("%d values right, none of %v", right, missing)
	if right < least {
		t.Errorf("only %d values right", right)
	}
}

// member is a value of an object in JSON by a name such as a.b[1].
func member(object any, name string) (string, bool) {
	for name != "" {
		part, rest, _ := strings.Cut(name, ".")
		key, index, isElement := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		m, ok := object.(map[string]any)
		if !ok || m[key] == nil {
			return "", false
		}
		if object = m[key]; isElement {
			list, ok := object.([]any)
			n, err := strconv.Atoi(index)
			if text, isText := object.(string); isText && err == nil && n < len(text) {
				return strconv.Itoa(int(text[n])), true
			}
			if !ok || err != nil || n >= len(list) {
				return "", false
			}
			object = list[n]
		}
		name = rest
	}
	return shown(object), true
}

// sameNumber compares a value in JSON with what a program has printed.
func sameNumber(got, want string) bool {
	switch got {
	case want:
		return true
	case "true", "false":
		return want == map[string]string{"true": "1", "false": "0"}[got]
	}
	a, err1 := strconv.ParseFloat(got, 64)
	b, err2 := strconv.ParseFloat(want, 64)
	return err1 == nil && err2 == nil && a == b && len(want) < 16
}

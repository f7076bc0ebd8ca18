package test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestReleasedFrames: where the end of a function has released the frame, before it pops the registers that it has
// saved, variables of the frame have their values or none, at each instruction.
func TestReleasedFrames(t *testing.T) {
	need(t, "gcc", "clang", "objdump")
	for _, build := range []string{
		"gcc -O0", "gcc -Og", "gcc -O2", "gcc -O0 -DALIGNED", "gcc -Og -DALIGNED", "gcc -O2 -DALIGNED",
		"clang -O0", "clang -O2", "clang -O0 -DALIGNED", "clang -O2 -DALIGNED",
	} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			flags := strings.Fields(build)
			prog := compile(t, flags[0], "popped.c", append(flags[1:], "-g", "-no-pie", "-fno-pie")...)
			file := filepath.Join(t.TempDir(), "events")
			args := []string{"trace", "-q", "-f", "json", "-o", file, "-c", "x, y, far[3], aligned[2]"}
			code := run(t, "objdump", "-d", "--no-show-raw-insn", "--disassemble=big", prog).stdout
			insts := regexp.MustCompile(`(?m)^ +([0-9a-f]+):\t(\S+)(.*)$`).FindAllStringSubmatch(code, -1)
			end := len(insts) - 1
			for ; end > 0 && insts[end][2] != "ret"; end-- {
			}
			first := end
			for ; first > 3 && !releases(insts[first][2], insts[first][3]); first-- {
			}
			insts = insts[first-3 : end+1]
			for _, m := range insts {
				args = append(args, "*0x"+m[1])
			}
			r := jalon(t, append(args, "--", prog)...)
			right, missing, hits, released := 0, 0, map[string]int64{}, map[string]bool{}
			behind := false
			for _, m := range insts {
				released["*0x"+m[1]] = behind
				behind = behind || releases(m[2], m[3])
			}
			for _, e := range readEvents(t, file) {
				i := hits[e.Place]
				hits[e.Place]++
				a, b := i+3, i*5
				for name, want := range map[string]int64{"x": a * 3, "y": b + 7, "far[3]": 3*a + b, "aligned[2]": 2*a + b + 1} {
					v, ok := e.Values[name]
					switch {
					case !ok || v == nil:
						missing++
						if !released[e.Place] && flags[1] == "-O0" {
							t.Errorf("%s: hit %d: no %s: %s", e.Place, i, name, e.Errors[name])
						}
					case fmt.Sprint(v) == strconv.FormatInt(want, 10):
						right++
					default:
						t.Errorf("%s: hit %d: %s is %v, want %d or none", e.Place, i, name, v, want)
					}
				}
			}
			if len(hits) < 4 || right == 0 || missing == 0 {
				t.Errorf("%d instructions, %d values right, %d missing: %s", len(hits), right, missing, r.stderr)
			}
		})
	}
}

// releases reports whether an instruction releases a frame.
func releases(name, operands string) bool {
	return name == "leave" || strings.HasSuffix(operands, ",%rsp") && !strings.Contains(operands, "%r10")
}

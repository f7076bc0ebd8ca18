package gdb

import (
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// stepThrough are commands that print the pc of each instruction from the call of steps
// to its return.
const stepThrough = `python
def step_through():
    for n in range(2000):
        pc = int(gdb.parse_and_eval("(long)$pc"))
        print("at 0x%x" % pc)
        if "finished" in str(gdb.parse_and_eval("$pc")): break
        gdb.execute("stepi", to_string=True)
step_through()
end
`

var atPC = regexp.MustCompile(`(?m)^at (0x[0-9a-f]+)$`)

func pcs(text string) []string {
	var list []string
	for _, m := range atPC.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// instructions are the addresses of functions' instructions, by objdump; repeated has
// those with a repeat prefix.
func instructions(t *testing.T, prog string, functions ...string) (list []string, repeated map[string]bool) {
	t.Helper()
	need(t, "objdump")
	repeated = map[string]bool{}
	for _, f := range functions {
		out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", "--disassemble="+f, prog).Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^ +([0-9a-f]+):\t(rep)?`).FindAllStringSubmatch(string(out), -1) {
			list = append(list, "0x"+m[1])
			repeated["0x"+m[1]] = m[2] != ""
		}
	}
	return list, repeated
}

func sameSteps(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		if i == len(got) || i == len(want) || got[i] != want[i] {
			lo := max(i-3, 0)
			t.Errorf("%s: step %d of %d goes to %s, GDB alone goes to %s\nhere  %v\nalone %v", what, i, len(want), at(got, i), at(want, i), got[lo:min(i+3, len(got))], want[lo:min(i+3, len(want))])
			return
		}
	}
}

// TestSteps: stepping through code with tracepoints has the same sequence of pcs as in GDB without jalon,
// at any position of the tracepoints.
func TestSteps(t *testing.T) {
	prog := compile(t, "gcc", "steps.c", "-g", "-O1", "-no-pie")
	native := talk(t, conversation{alone: true, file: prog, quiet: true, script: "break begun\nrun\n" + stepThrough + "kill\n"})
	want := pcs(native.text)
	if len(want) < 80 {
		t.Fatalf("GDB makes %d steps", len(want))
	}
	insns, repeated := instructions(t, prog, "steps", "small")
	for k := 1; k <= 5; k++ {
		for from := range k {
			t.Run(fmt.Sprintf("every %d from %d", k, from), func(t *testing.T) {
				t.Parallel()
				var script strings.Builder
				script.WriteString("break begun\ncontinue\n")
				sites := 0
				for i := from; i < len(insns); i += k {
					fmt.Fprintf(&script, "trace *%s\n", insns[i])
					sites++
				}
				script.WriteString("tstart\n" + stepThrough + "tstop\ntstatus\nkill\n")
				s := talk(t, conversation{args: []string{prog}, quiet: true, script: script.String()})
				sameSteps(t, fmt.Sprintf("%d tracepoints", sites), pcs(s.text), want)
				hits := 0
				for n, pc := range want {
					if repeated[pc] && want[n-1] == pc {
						continue // an iteration of an instruction that was hit when it began
					}
					for i := from; i < len(insns); i += k {
						if insns[i] == pc {
							hits++
						}
					}
				}
				s.inOrder(fmt.Sprintf("Collected %d trace frames", hits))
			})
		}
	}
}

// TestWhileSteppingDisplaced: while-stepping over code with other tracepoints collects the pcs through
// which GDB steps without jalon.
func TestWhileSteppingDisplaced(t *testing.T) {
	prog := compile(t, "gcc", "steps.c", "-g", "-O1", "-no-pie")
	native := talk(t, conversation{alone: true, file: prog, quiet: true, script: "break *steps\nrun\n" + stepThrough + "kill\n"})
	want := pcs(native.text)
	insns, _ := instructions(t, prog, "steps", "small")
	steps := len(want) - 1
	for k := 1; k <= 3; k++ {
		t.Run(fmt.Sprintf("every %d", k), func(t *testing.T) {
			t.Parallel()
			var script strings.Builder
			fmt.Fprintf(&script, "break finished\ntrace *%s\nactions\nwhile-stepping %d\ncollect $rip\nend\nend\n", insns[0], steps)
			for i := 1; i < len(insns); i += k {
				fmt.Fprintf(&script, "trace *%s if 0\n", insns[i])
			}
			script.WriteString(`tstart
continue
tstop
python
gdb.execute("tfind start", to_string=True)
for n in range(2000):
    frame = int(gdb.parse_and_eval("$trace_frame"))
    if frame < 0: break
    print("at 0x%x" % int(gdb.parse_and_eval("(long)$pc")))
    try: gdb.execute("tfind", to_string=True)
    except gdb.error: break
end
`)
			s := talk(t, conversation{args: []string{prog}, quiet: true, script: script.String()})
			sameSteps(t, "while-stepping", pcs(s.text), want)
		})
	}
}

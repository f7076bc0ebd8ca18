package dwarf

import (
	"bufio"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/debuginfo"
	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/frame"
)

// regByName are readelf's names of the columns.
var regByName = map[string]int{
	"rax": 0, "rdx": 1, "rcx": 2, "rbx": 3, "rsi": 4, "rdi": 5, "rbp": 6, "rsp": 7,
	"r8": 8, "r9": 9, "r10": 10, "r11": 11, "r12": 12, "r13": 13, "r14": 14, "r15": 15, "ra": 16,
}

var (
	fdeLine = regexp.MustCompile(`^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=[0-9a-f]+ pc=([0-9a-f]+)\.\.([0-9a-f]+)`)
	regNote = regexp.MustCompile(` \([a-z0-9]+\)`)
	rowLine = regexp.MustCompile(`^([0-9a-f]{16}) (\S+)\s*(.*)$`)
)

// TestUnwindAgreesWithReadelf compares every row of .eh_frame with readelf's
// interpretation.
func TestUnwindAgreesWithReadelf(t *testing.T) {
	files := []string{
		"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
		build(t, variants[0], "prog.c", "other.c"), build(t, variants[len(variants)-1], "prog.c", "other.c"),
	}
	for _, f := range files {
		t.Run(f, func(t *testing.T) { compareFrames(t, f) })
	}
}

func compareFrames(t *testing.T, path string) {
	m := open(t, path)
	cmd := exec.Command("readelf", "-W", "--debug-dump=frames-interp", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	var cols []string
	inFDE, section := false, false
	rows, bad := 0, 0
	for sc.Scan() {
		l := sc.Text()
		switch {
		case strings.HasPrefix(l, "Contents of the "):
			section = strings.Contains(l, ".eh_frame")
		case fdeLine.MatchString(l):
			inFDE = true
		case strings.Contains(l, " CIE "):
			inFDE = false
		case strings.HasPrefix(strings.TrimSpace(l), "LOC"):
			cols = strings.Fields(l)[2:]
		}
		r := rowLine.FindStringSubmatch(l)
		if r == nil || !inFDE || !section {
			continue
		}
		pc, _ := strconv.ParseUint(r[1], 16, 64)
		rows++
		rules := strings.Fields(regNote.ReplaceAllString(r[3], ""))
		if msg := compareRow(m, pc, r[2], cols, rules); msg != "" {
			if bad++; bad < 10 {
				t.Errorf("%#x: %s: %s", pc, l, msg)
			}
		}
	}
	cmd.Wait() // readelf warns of a missing debug file through its exit status
	t.Log(rows, "rows")
	if rows < 10 {
		t.Error("hardly any rows compared")
	}
}

func compareRow(m *Module, pc uint64, cfa string, cols, rules []string) string {
	r, err := m.Unwind(pc)
	if err != nil {
		return err.Error()
	}
	if got := cfaText(r); cfa != "exp" && got != cfa {
		return "CFA " + got
	}
	for i, c := range cols {
		if i >= len(rules) {
			break
		}
		got := "u"
		if rule, ok := r.Regs[regByName[c]]; ok {
			got = ruleText(rule)
		}
		if got != rules[i] && !(rules[i] == "exp" || rules[i] == "vexp") {
			return c + " " + got
		}
	}
	return ""
}

func cfaText(r *frame.Rule) string {
	if len(r.CFA) == 0 || r.CFA[0].Code != debuginfo.OpReg {
		return "?"
	}
	off := int64(0)
	if len(r.CFA) > 1 {
		off = r.CFA[1].Arg
	}
	for n, i := range regByName {
		if int64(i) == r.CFA[0].Arg {
			return fmt.Sprintf("%s%+d", n, off)
		}
	}
	return "?"
}

func ruleText(r frame.RegRule) string {
	switch r.Kind {
	case frame.Undefined:
		return "u"
	case frame.SameValue:
		return "s"
	case frame.AtCFA:
		return fmt.Sprintf("c%+d", r.Offset)
	case frame.IsCFA:
		return fmt.Sprintf("v%+d", r.Offset)
	case frame.InOther:
		return fmt.Sprint("r", r.Reg)
	}
	return "exp"
}

package patch

import (
	"bufio"
	"bytes"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"
)

// line is one instruction as objdump sees it.
type line struct {
	addr uint64
	code []byte
	text string
}

// programs returns the files of this machine that the oracle tests sweep.
func programs(t testing.TB) []string {
	t.Helper()
	var out []string
	for _, p := range []string{
		"/usr/lib/x86_64-linux-gnu/libc.so.6", "/bin/bash", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "/usr/bin/python3.11", "/usr/bin/gdb",
		gofmtPath(t),
	} {
		if _, err := os.Stat(p); err == nil {
			out = append(out, p)
		}
	}
	if len(out) < 2 {
		t.Fatal("neither libc nor bash found: nothing to sweep")
	}
	return out
}

// objdump calls f for every instruction of a file's executable sections.
func objdump(t testing.TB, path string, f func(line)) {
	t.Helper()
	cmd := exec.Command("objdump", "-dw", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		if l, ok := parseLine(sc.Bytes()); ok {
			f(l)
		}
	}
}

func parseLine(s []byte) (line, bool) {
	a, rest, ok := bytes.Cut(s, []byte(":\t"))
	if !ok {
		return line{}, false
	}
	addr, err := strconv.ParseUint(string(bytes.TrimSpace(a)), 16, 64)
	if err != nil {
		return line{}, false
	}
	h, text, _ := bytes.Cut(rest, []byte("\t"))
	code, err := hex.DecodeString(string(bytes.ReplaceAll(h, []byte(" "), nil)))
	if err != nil {
		return line{}, false
	}
	return line{addr, code, string(bytes.TrimSpace(text))}, true
}

// barePrefix matches what objdump prints for a prefix that belongs to nothing.
var barePrefix = regexp.MustCompile(`^(rex\S*|data16|addr32|repz|repnz|lock|[c-g]s|ss|bnd|notrack)( rex\S*)?$`)

// odd reports lines that say nothing about a length: data, stray prefixes, and
// fwait, which objdump joins with what follows.
func (l line) odd() bool {
	return strings.Contains(l.text, "(bad)") || barePrefix.MatchString(l.text) || l.code[0] == 0x9b && len(l.code) > 1 || l.text == "..."
}

// TestLengths: lengths, targets, rip-relative operands and the set of registers are objdump's over whole
// programs. Refused instructions are listed and must be rare: data in text, and encodings on which
// processors disagree.
func TestLengths(t *testing.T) {
	for _, path := range programs(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			lengths(t, path)
		})
	}
}

func lengths(t *testing.T, path string) {
	n, wrong, bad := 0, 0, 0
	refused, seen := map[string]int{}, map[string]int{}
	objdump(t, path, func(l line) {
		n++
		if l.odd() {
			bad++
			return
		}
		in, err := Decode(l.code, l.addr)
		switch {
		case err != nil:
			refused[fmt.Sprintf("% x  %s", l.code, l.text)]++
		case in.Len != len(l.code):
			if wrong++; wrong < 20 {
				t.Errorf("%#x: % x %s: length %d", l.addr, l.code, l.text, in.Len)
			}
		default:
			checkTarget(t, l, &in)
			reportOnce(t, seen, l, checkRegisters(l, &in))
		}
	})
	t.Logf("%d instructions, %d not code for objdump, %d wrong, refused %d forms", n, bad, wrong, len(refused))
	if n < 1000 {
		t.Errorf("objdump showed %d instructions only", n)
	}
	var list []string
	for k, c := range refused {
		list = append(list, fmt.Sprintf("%5d %s", c, k))
	}
	sort.Strings(list)
	for _, r := range list[:min(len(list), 40)] {
		t.Log("refused", r)
	}
	if len(list) > n/1000 {
		t.Errorf("%d distinct instructions refused of %d", len(list), n)
	}
}

var (
	branchTarget = regexp.MustCompile(`^(?:bnd |notrack |addr32 |data16 |rex.W |repz )*(j\w+|call|loop\w*|xbegin)(?:,p[nt])? +(?:\S+ )?([0-9a-f]+) <`)
	ripTarget    = regexp.MustCompile(`\(%[re]ip\).*# ([0-9a-f]+)`)
)

// checkTarget compares branch targets and rip-relative operands.
func checkTarget(t *testing.T, l line, in *Inst) {
	if m := branchTarget.FindStringSubmatch(l.text); m != nil {
		if want, _ := strconv.ParseUint(m[2], 16, 64); want != in.Target {
			t.Errorf("%#x: % x %s: target %#x (%s)", l.addr, l.code, l.text, in.Target, in.Class)
		}
	} else if in.Target != 0 && !strings.Contains(l.text, "<") && !strings.Contains(l.text, " 0x") {
		t.Errorf("%#x: % x %s: a target %#x", l.addr, l.code, l.text, in.Target)
	}
	m := ripTarget.FindStringSubmatch(l.text)
	if (m != nil) != (in.RIPOff != 0) {
		t.Errorf("%#x: % x %s: rip-relative operand at %d", l.addr, l.code, l.text, in.RIPOff)
	} else if m != nil {
		if want, _ := strconv.ParseUint(m[1], 16, 64); want != in.RIPTarget {
			t.Errorf("%#x: % x %s: rip target %#x", l.addr, l.code, l.text, in.RIPTarget)
		}
	}
}

// textOf returns the executable sections of a file.
func textOf(t testing.TB, path string) []Region {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []Region
	for _, s := range f.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR != 0 {
			b, err := s.Data()
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, Region{Addr: s.Addr, Bytes: b})
		}
	}
	return out
}

// objdumpRaw calls f for every instruction of a flat file at address 0.
func objdumpRaw(t testing.TB, path string, f func(line)) {
	t.Helper()
	out, err := exec.Command("objdump", "-D", "-w", "-z", "-b", "binary", "-m", "i386:x86-64", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	for s := range bytes.Lines(out) {
		if l, ok := parseLine(bytes.TrimRight(s, "\n")); ok {
			f(l)
		}
	}
}

// encodingName names the table line of an instruction.
func encodingName(in *Inst) string {
	return fmt.Sprintf("space %d opcode %02x pfx %+v", in.space, in.opcode, in.pfx.rep)
}

func logCounts(t testing.TB, what string, m map[string]int) {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return m[keys[i]] > m[keys[j]] })
	t.Logf("%s: %d forms", what, len(keys))
	for _, k := range keys[:min(len(keys), 60)] {
		t.Logf("%6d %s", m[k], k)
	}
}

// gofmtPath is a large Go program that every Go installation has.
func gofmtPath(t testing.TB) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(root)), "bin", "gofmt")
}

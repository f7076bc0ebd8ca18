package printk

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo/tracefs"
	"github.com/jalon-trace/jalon/test/testkit"
)

const recordSize = 1024

// cEvent is an event as C source: a struct for its record, a function that shows
// the values of its arguments.
type cEvent struct {
	ev     *tracefs.Event
	format *Format
}

// TestArgumentsAgainstGCC compiles the argument expressions of the kernel's
// print formats as the C that they are and compares the values of all of them
// on random records.
func TestArgumentsAgainstGCC(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skipf("needs gcc: %v", err)
	}
	seed := uint64(testkit.Seed(t, 20240607))
	rng := rand.New(rand.NewPCG(seed, 1))
	tfs := running(t)
	r := kernelResolver(t, tfs)
	r.Variable = func(name string) (uint64, bool) {
		v, ok := map[string]uint64{"vmemmap_base": 0xffffea0000000000}[name]
		return v, ok
	}
	r.Jiffies = func([]byte) (uint64, bool) { return 4295000000, true }
	var events []cEvent
	left := 0
	for _, ev := range allEvents(t, tfs) {
		f, err := Parse(ev.PrintFmt, ev.Fields)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(ev.PrintFmt, "trace_seq_printf") {
			left++ // KVM's own functions: TestStatements has them
			continue
		}
		if len(f.args) > 0 {
			events = append(events, cEvent{ev, f})
		}
	}
	bin := compileC(t, gcc, events, r)
	var input []byte
	var records [][]byte
	const rounds = 5
	for range rounds {
		for i, e := range events {
			rec := randomRecord(rng, e.ev)
			records = append(records, rec)
			input = binary.LittleEndian.AppendUint32(input, uint32(i))
			input = append(input, rec...)
		}
	}
	cmd := exec.Command(bin)
	cmd.Stdin = bytes.NewReader(input)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != len(records) {
		t.Fatalf("%d lines for %d records", len(lines), len(records))
	}
	values, wrong := 0, 0
	for i, rec := range records {
		e := events[i%len(events)]
		got := strings.Fields(showArguments(e.format, rec, r))
		want := strings.Fields(lines[i])
		values += len(want)
		if strings.Join(got, " ") == strings.Join(want, " ") {
			continue
		}
		if wrong++; wrong <= 10 {
			t.Errorf("%s:%s (seed %d)\n  got  %s\n  want %s\n  %s\n  record %x", e.ev.System, e.ev.Name, seed, got, want, e.ev.PrintFmt, rec)
		}
	}
	t.Logf("%d values of %d events compared, %d records different; %d events left out", values, len(events), wrong, left)
}

// compileC makes the program that shows the arguments of the events.
func compileC(t *testing.T, gcc string, events []cEvent, r *Resolver) string {
	t.Helper()
	helpers, err := os.ReadFile("testdata/helpers.c")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#define RECORD %d\n%s\n", recordSize, helpers)
	defined := map[string]bool{}
	for _, e := range events {
		for _, name := range e.format.Names() {
			if v, ok := r.Enumerator(name); ok && !defined[name] {
				defined[name] = true
				suffix := map[*ctype.Type]string{ctype.UIntT: "u", ctype.LongT: "l"}[enumeratorType(v)]
				fmt.Fprintf(&b, "#define %s (%d%s)\n", name, v, suffix)
			}
		}
	}
	for i, e := range events {
		b.WriteString(structC(i, e.ev))
		_, args, _ := strings.Cut(e.ev.PrintFmt[stringLength(e.ev.PrintFmt):], ",")
		fmt.Fprintf(&b, "static void ev_%d(struct rec_%d *REC)\n{\n", i, i)
		for _, a := range splitArguments(args) {
			fmt.Fprintf(&b, "SHOW((%s))\n", a)
		}
		b.WriteString("}\n")
	}
	b.WriteString("static void (*const events[])() = {\n")
	for i := range events {
		fmt.Fprintf(&b, "ev_%d,\n", i)
	}
	b.WriteString(`};
int main(void)
{
	static char buf[RECORD + 64];
	unsigned int i;
	rec_start = buf;
	while (read(0, &i, 4) == 4) {
		size_t n = 0;
		while (n < RECORD)
			n += read(0, buf + n, RECORD - n);
		seq_end = seq;
		events[i](buf);
		printf("\n");
	}
	return 0;
}
`)
	dir := t.TempDir()
	src := filepath.Join(dir, "formats.c")
	if err := os.WriteFile(src, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "formats")
	cmd := exec.Command(gcc, "-w", "-O0", "-funsigned-char", "-fno-strict-aliasing", "-o", bin, src)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%.4000s", err, out)
	}
	return bin
}

// structC declares a record with each field at its offset.
func structC(i int, ev *tracefs.Event) string {
	var b strings.Builder
	fmt.Fprintf(&b, "struct rec_%d { union { char __all[RECORD];\n", i)
	for k, f := range ev.Fields {
		elem, dims, name := f.Type, "", f.Name
		if _, _, dyn := ctype.Dynamic(f.Type); dyn {
			elem, name = ctype.UIntT, "__data_loc_"+name
		} else if s := f.Type.Strip(); s.Kind == ctype.Array {
			elem, dims = s.Elem, fmt.Sprintf("[%d]", max(s.Count, 0))
		}
		fmt.Fprintf(&b, "struct __attribute__((packed)) { char __pad_%d[%d]; %s %s%s; };\n", k, f.Offset, typeC(elem, f, dims != ""), name, dims)
	}
	b.WriteString("}; };\n")
	return b.String()
}

func typeC(t *ctype.Type, f tracefs.Field, elem bool) string {
	s := t.Strip()
	switch {
	case s.Kind == ctype.Pointer && s.Elem.Strip().Kind == ctype.Char:
		return "char *"
	case s.Kind == ctype.Pointer:
		return "void *"
	case s.Kind == ctype.Bool:
		return "_Bool"
	case elem && s.Kind == ctype.Char && s.Name == "char":
		return "char"
	case elem:
		return intC(s.Size, s.Signed)
	}
	return intC(f.Size, f.Signed)
}

func intC(size int64, signed bool) string {
	name := map[int64]string{1: "char", 2: "short", 4: "int", 8: "long"}[size]
	if signed {
		return "signed " + name
	}
	return "unsigned " + name
}

// stringLength is the length of the format string, of all its parts.
func stringLength(s string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			for i++; s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case s[i] == ',':
			return i
		}
	}
	return len(s)
}

// splitArguments splits at the commas outside parentheses.
func splitArguments(s string) (out []string) {
	depth, start := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth--
		case '"', '\'':
			for q := s[i]; ; {
				if i++; s[i] == '\\' {
					i++
				} else if s[i] == q {
					break
				}
			}
		case ',':
			if depth == 0 {
				out = append(out, s[start:i])
				start = i + 1
			}
		}
	}
	return append(out, s[start:])
}

// interesting are the values at the edges of C's types.
var interesting = []uint64{0, 1, 2, 3, 4, 7, 8, 0x10, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, ^uint64(0)}

// randomRecord makes a record whose fields have edge cases and random bits, and
// whose dynamic arrays are inside of it. Its end is zero.
func randomRecord(rng *rand.Rand, ev *tracefs.Event) []byte {
	rec := make([]byte, recordSize)
	for i := range recordSize * 3 / 4 {
		rec[i] = byte(rng.Uint32())
	}
	for _, f := range ev.Fields {
		var w [8]byte
		switch rng.IntN(3) {
		case 0:
			binary.LittleEndian.PutUint64(w[:], interesting[rng.IntN(len(interesting))])
		case 1:
			// Few bits, so that tables of names are met.
			binary.LittleEndian.PutUint64(w[:], 1<<rng.IntN(64)|uint64(rng.IntN(32)))
		default:
			binary.LittleEndian.PutUint64(w[:], rng.Uint64())
		}
		_, _, dyn := ctype.Dynamic(f.Type)
		switch {
		case dyn:
			binary.LittleEndian.PutUint32(w[:], uint32(rng.IntN(8)*8)<<16|uint32(256+rng.IntN(256)))
		case f.Type.Strip().Kind == ctype.Bool:
			w[0] &= 1
		case strings.HasSuffix(f.Name, "len") || strings.HasSuffix(f.Name, "_nents"):
			// Lengths of what follows in the record: an array helper must not leave it.
			w = [8]byte{byte(rng.IntN(16))}
		}
		if f.Size <= 8 {
			copy(rec[f.Offset:f.Offset+f.Size], w[:])
		}
	}
	return rec
}

// showArguments writes the values as the C program does.
func showArguments(f *Format, rec []byte, r *Resolver) string {
	e := &env{rec: block{b: rec}, r: r}
	var out []string
	for _, a := range f.args {
		v := decay(a.eval(e))
		switch {
		case v.fail != "":
			out = append(out, "("+strings.ReplaceAll(v.fail, " ", "_")+")")
		case v.blk == &e.rec:
			out = append(out, fmt.Sprintf("rec+%d", v.off))
		case v.blk != nil:
			out = append(out, "t:"+hex.EncodeToString(cString(v)))
		default:
			out = append(out, fmt.Sprintf("%x", v.n))
		}
	}
	return strings.Join(out, " ")
}

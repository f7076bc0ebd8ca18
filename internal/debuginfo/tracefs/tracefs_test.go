package tracefs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/ctype"
	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// tree makes a directory like tracefs with the given formats.
func tree(t *testing.T, formats map[string]string) *FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range formats {
		dir := filepath.Join(root, "events", filepath.FromSlash(name))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "format"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return OpenAt(root)
}

const common = `format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

`

func format(name string, fields ...string) string {
	return "name: " + name + "\nID: 7\n" + common + "\tfield:" + strings.Join(fields, "\n\tfield:") + "\n\nprint fmt: \"a\nb\", 1\n"
}

func TestEvent(t *testing.T) {
	f := tree(t, map[string]string{"g/e": format("e",
		"char comm[16];	offset:8;	size:16;	signed:0;",
		"const char * filename;	offset:24;	size:8;	signed:0;",
		"int dfd;	offset:32;	size:8;	signed:0;",
		"__data_loc char[] msg;	offset:40;	size:4;	signed:0;",
		"__rel_loc u64[] rel;	offset:44;	size:4;	signed:0;",
		"__data_loc cpumask_t mask;	offset:48;	size:4;	signed:0;",
		"enum e small;	offset:52;	size:1;	signed:0;",
		"odd_t odd;	offset:54;	size:2;	signed:1;",
		"struct file * file;	offset:56;	size:8;	signed:0;",
		"int (*func)(void);	offset:64;	size:8;	signed:0;",
		"char name[NAME_LEN];	offset:72;	size:10;	signed:0;",
		"char status;	offset:53;	size:1;	signed:1;",
		"u8 grid[2][3];	offset:82;	size:6;	signed:0;",
		"odd_t odds[4];	offset:88;	size:16;	signed:0;",
		"unsigned long args[];	offset:104;	size:0;	signed:0;",
	)})
	f.Types = func(name string) *ctype.Type {
		if name == "enum e" {
			e := &ctype.Type{Kind: ctype.Enum, Name: "e", Size: 4}
			e.SetEnumerators([]ctype.Enumerator{{Name: "A", Value: 3}})
			return e
		}
		return nil
	}
	ev, err := f.Event("g", "e")
	if err != nil {
		t.Fatal(err)
	}
	if ev.ID != 7 || ev.Name != "e" || ev.System != "g" || ev.PrintFmt != "\"a\nb\", 1" {
		t.Errorf("event %+v", ev)
	}
	for name, want := range map[string]string{
		"comm": "array[16] of char", "filename": "pointer to char", "dfd": "int",
		"msg": "__data_loc = array[-1] of char", "rel": "__rel_loc = array[-1] of u64 = unsigned long long",
		"mask": "__data_loc = array[-1] of cpumask_t = unsigned long", "small": "enum e/1",
		"odd": "odd_t = short", "file": "pointer to struct file", "func": "pointer to void",
		"name": "array[10] of char", "grid": "array[2] of array[3] of u8 = unsigned char",
		"status": "char signed", "odds": "array[4] of odd_t = unsigned int", "args": "array[-1] of unsigned long",
	} {
		if got := describe(ev.Field(name).Type); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if e := ev.Field("small").Type.Enumerators(); len(e) != 1 || e[0].Value != 3 {
		t.Errorf("enumerators of the narrow enum: %v", e)
	}
	checkRecord(t, ev)
}

// checkRecord compares the struct with the lines of the file.
func checkRecord(t *testing.T, ev *Event) {
	t.Helper()
	r := ev.Record()
	n := 0
	for _, m := range r.Fields() {
		f := ev.Field(m.Name)
		if f == nil || m.BitOffset != f.Offset*8 || f.Offset+f.Size > r.Size {
			t.Errorf("%s: member %s at bit %d of %d bytes, field %+v", ev.Name, m.Name, m.BitOffset, r.Size, f)
			continue
		}
		n++
	}
	if n != len(ev.Fields)-4 {
		t.Errorf("%s: %d members of %d fields", ev.Name, n, len(ev.Fields))
	}
}

var kindWords = map[ctype.Kind]string{ctype.Struct: "struct ", ctype.Union: "union "}

func describe(t *ctype.Type) string {
	switch t.Kind {
	case ctype.Typedef:
		return t.Name + " = " + describe(t.Elem)
	case ctype.Pointer:
		return "pointer to " + describe(t.Elem)
	case ctype.Array:
		return "array[" + strconv.FormatInt(t.Count, 10) + "] of " + describe(t.Elem)
	case ctype.Enum:
		return "enum " + t.Name + "/" + strconv.FormatInt(t.Size, 10)
	}
	if t.Kind == ctype.Char && t.Name == "char" && t.Signed {
		return "char signed"
	}
	return kindWords[t.Kind] + t.Name
}

func TestDynamic(t *testing.T) {
	for _, c := range []struct {
		t       *ctype.Type
		rel, ok bool
	}{
		{dynamic(dataLoc, ctype.CharT), false, true},
		{dynamic(relLoc, ctype.ULongT), true, true},
		{dynamic(dataLoc, ctype.CharT).Strip(), false, false},
		{dynamic("gfp_t", ctype.CharT), false, false},
		{ctype.UIntT, false, false},
		{nil, false, false},
	} {
		elem, rel, ok := ctype.Dynamic(c.t)
		if rel != c.rel || ok != c.ok || ok != (elem != nil) {
			t.Errorf("%+v: %v %v %v", c.t, elem, rel, ok)
		}
	}
}

func TestList(t *testing.T) {
	f := tree(t, map[string]string{
		"sched/sched_switch": "", "sched/sched_wakeup": "", "irq/irq_handler_entry": "",
		"ftrace/print":                     "",
		"syscalls/sys_enter_newstat":       strings.ReplaceAll(format("sys_enter_newstat", "int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;", "const char * filename;\toffset:16;\tsize:8;\tsigned:0;"), "\t\n", "\n"),
		"syscalls/sys_exit_newstat":        format("sys_exit_newstat", "int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;", "long ret;\toffset:16;\tsize:8;\tsigned:1;"),
		"syscalls/sys_enter_unpaired_call": "",
	})
	systems, err := f.Systems()
	if want := []string{"irq", "sched", "syscalls"}; err != nil || !slices.Equal(systems, want) {
		t.Errorf("systems %v, %v", systems, err)
	}
	names, err := f.Match("s[bc]*", "*w??*")
	if want := []Name{{"sched", "sched_switch"}, {"sched", "sched_wakeup"}}; err != nil || !slices.Equal(names, want) {
		t.Errorf("match %v, %v", names, err)
	}
	for _, c := range []struct{ system, event, nearest string }{
		{"sched", "sched_swich", "sched:sched_switch"},
		{"irq", "sched_wakeup", "sched:sched_wakeup"},
		{"shed", "sched_swtch", "sched:sched_switch"},
		{"sched", "*nothing*", ""},
		{"..", "x", ""},
		{"sched", "../irq/irq_handler_entry", ""},
	} {
		_, err := f.Match(c.system, c.event)
		if c.system == ".." || strings.Contains(c.event, "/") {
			_, err = f.Event(c.system, c.event)
		}
		var nf *debuginfo.NotFoundError
		if !errors.As(err, &nf) || strings.Join(nf.Nearest, " ") != c.nearest {
			t.Errorf("%s:%s: %v, nearest %+v", c.system, c.event, err, nf)
		}
	}
	s, err := f.Syscall("stat")
	if err != nil || s.Name != "newstat" || len(s.Args) != 1 || s.Args[0].Name != "filename" || s.Exit.Field("ret") == nil {
		t.Errorf("system call: %+v, %v", s, err)
	}
	if len(s.Exit.SyscallArgs()) != 0 {
		t.Error("an exit has arguments")
	}
	var nf *debuginfo.NotFoundError
	if _, err := f.Syscall("newstt"); !errors.As(err, &nf) || !slices.Contains(nf.Nearest, "newstat") {
		t.Errorf("unknown system call: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	_, err := open([]string{filepath.Join(t.TempDir(), "none")})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "mount -t tracefs") {
		t.Errorf("absent: %v", err)
	}
	second := t.TempDir()
	if err := os.Mkdir(filepath.Join(second, "events"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := open([]string{filepath.Join(t.TempDir(), "none"), second})
	if err != nil || f.Root() != second {
		t.Errorf("second place: %v, %v", f, err)
	}
}

func TestBadFormats(t *testing.T) {
	good := format("e", "int a;\toffset:8;\tsize:4;\tsigned:1;")
	if _, err := ParseFormat([]byte(good), nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"\nprint fmt:", "\n", "no line \"print fmt:\""},
		{"name: e", "", "no line \"name:\""},
		{"ID: 7", "", "no line \"ID:\""},
		{"ID: 7", "ID: x", "not a number"},
		{"int a", "int", "no type and name"},
		{"int a", "", "has no declaration"},
		{"offset:8", "offset:-8", "not a number"},
		{"offset:8", "offset:9999999", "no offset and size below"},
		{"format:", "rubbish", "no colon"},
	} {
		_, err := ParseFormat([]byte(strings.Replace(good, c.old, c.new, 1)), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %q", c.new, c.old, err, c.want)
		}
	}
}

func TestParseStrings(t *testing.T) {
	got := parseStrings("0xffffffff81000000 : \"a \\\"b\\\"\\n\"\n0x10 : \"\"\nrubbish\n0xzz : \"x\"\n")
	if len(got) != 2 || got[0xffffffff81000000] != "a \"b\"\n" || got[0x10] != "" {
		t.Errorf("%v", got)
	}
}

func FuzzParseFormat(f *testing.F) {
	f.Add([]byte(format("e", "char comm[16];	offset:8;	size:16;	signed:0;", "__data_loc char[] msg;	offset:40;	size:4;	signed:0;")))
	f.Add([]byte(format("e", "enum x y[2][1000000];	offset:8;	size:16;	signed:0;", "int (*f)(x);	offset:40;	size:3;	signed:0;")))
	f.Fuzz(func(t *testing.T, text []byte) {
		ev, err := ParseFormat(text, func(name string) *ctype.Type {
			if len(name)%2 == 0 {
				return nil
			}
			return &ctype.Type{Kind: ctype.Struct, Name: name, Incomplete: true}
		})
		if err != nil {
			return
		}
		for _, m := range ev.Record().Fields() {
			if m.Type == nil || m.BitOffset < 0 {
				t.Errorf("member %q: %+v", m.Name, m)
			}
			ctype.Dynamic(m.Type)
		}
	})
}

func TestHZ(t *testing.T) {
	text := strings.Replace(format("writeback_single_inode", "int a;\toffset:8;\tsize:4;\tsigned:1;"),
		"print fmt: ", "print fmt: \"age=%lu\", (jiffies - REC->dirtied_when) / 250, ", 1)
	for _, c := range []struct {
		text string
		hz   uint64
	}{{text, 250}, {strings.Replace(text, "250", "HZ", 1), 0}} {
		hz, ok := tree(t, map[string]string{"writeback/writeback_single_inode": c.text}).HZ()
		if hz != c.hz || ok != (c.hz > 0) {
			t.Errorf("HZ %d, %v; want %d", hz, ok, c.hz)
		}
	}
}

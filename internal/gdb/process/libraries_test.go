package process

import (
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/test/testkit"
)

// fakeMemory has words at addresses, and 0 in the rest of their pages.
type fakeMemory map[uint64][]byte

func (m fakeMemory) put(addr uint64, b []byte) {
	for i, c := range b {
		page := (addr + uint64(i)) &^ 4095
		if m[page] == nil {
			m[page] = make([]byte, 4096)
		}
		m[page][addr+uint64(i)-page] = c
	}
}

func (m fakeMemory) words(addr uint64, words ...uint64) {
	for i, w := range words {
		m.put(addr+8*uint64(i), binary.LittleEndian.AppendUint64(nil, w))
	}
}

func (m fakeMemory) read(addr uint64, b []byte) error {
	for i := range b {
		page := m[(addr+uint64(i))&^4095]
		if page == nil {
			return unix.EFAULT
		}
		b[i] = page[(addr+uint64(i))&4095]
	}
	return nil
}

func auxOf(pairs ...uint64) []byte {
	var b []byte
	for _, p := range append(pairs, 0, 0) {
		b = binary.LittleEndian.AppendUint64(b, p)
	}
	return b
}

// crafted is a program with one namespace of two libraries and one of one.
func crafted() (fakeMemory, []byte) {
	m := fakeMemory{}
	const at = 0x10000
	m.words(at+64, 4<<32|6, 64, 64, 64, 168, 168, 8) // PT_PHDR, p_vaddr 64
	m.words(at+64+56, 4<<32|1, 0, 0, 0, 4096, 4096, 4096)
	m.words(at+64+112, 4<<32|2, 0x800, 0x800, 0x800, 64, 64, 8) // PT_DYNAMIC
	m.words(at+0x800, 1, 1, 21, 0x20000, 0, 0)                  // DT_NEEDED, DT_DEBUG
	m.words(0x20000, 2, 0x30000, 0, 0, 0, 0x21000)
	m.words(0x21000, 1, 0x40000)
	m.words(0x30000, at, 0x50000, 0x101, 0x31000, 0)
	m.words(0x31000, 0x7000, 0x50010, 0x102, 0x32000, 0x30000)
	m.words(0x32000, 0x8000, 0x50ffd, 0x103, 0, 0x31000)
	m.words(0x40000, 0x9000, 0x50020, 0x104, 0, 0)
	m.put(0x50010, []byte("/lib/a<b>.so\x00"))
	m.put(0x50ffd, []byte("/c.so\x00"))
	m.put(0x50020, []byte("other\x00"))
	return m, auxOf(3, at+64, 4, 56, 5, 3, 6, 4096)
}

type svr4List struct {
	Main      string `xml:"main-lm,attr"`
	Libraries []struct {
		Name      string `xml:"name,attr"`
		LinkMap   string `xml:"lm,attr"`
		Base      string `xml:"l_addr,attr"`
		Dynamic   string `xml:"l_ld,attr"`
		Namespace string `xml:"lmid,attr"`
	} `xml:"library"`
}

func parseList(t *testing.T, doc []byte, err error) svr4List {
	t.Helper()
	var l svr4List
	if err == nil {
		err = xml.Unmarshal(doc, &l)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestCraftedLibraries(t *testing.T) {
	m, aux := crafted()
	const (
		a     = "{/lib/a<b>.so 0x31000 0x7000 0x102 0x20000}"
		c     = "{/c.so 0x32000 0x8000 0x103 0x20000}"
		other = "{other 0x40000 0x9000 0x104 0x21000}"
	)
	cases := []struct {
		name, annex string
		change      func()
		want        string
	}{
		{"all", "", nil, "{0x30000 [" + a + " " + c + " " + other + "]}"},
		{"zeroes", "start=0;prev=0", nil, "{0x30000 [" + a + " " + c + " " + other + "]}"},
		{"from", "start=32000;prev=31000;lmid=20000", nil, "{ [" + c + "]}"},
		{"unknown words", "x=1;start=40000;=;lmid=21000;y", nil, "{0x40000 []}"},
		{"wrong prev", "start=32000;prev=1", nil, "{ []}"},
		{"unreadable", "start=1000000;", nil, "{ []}"},
		{"cycle", "", func() { m.words(0x32018, 0x31000) }, "{0x30000 [" + a + " " + c + " " + other + "]}"},
		{"namespaces in a cycle", "", func() {
			m.words(0x21000, 2)
			m.words(0x21028, 0x20000)
		}, "{0x30000 [" + a + " " + c + " " + other + "]}"},
		{"damaged", "", func() { m.words(0x32020, 5) }, "{0x30000 [" + a + " " + other + "]}"},
		{"no version", "", func() { m.words(0x20000, 0) }, "{ []}"},
		{"too early", "", func() { m.words(0x10818, 0) }, "{ []}"},
	}
	for _, tc := range cases {
		m, _ = crafted()
		if tc.change != nil {
			tc.change()
		}
		doc, err := Libraries(m.read, aux, tc.annex)
		if got := fmt.Sprint(parseList(t, doc, err)); got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

func TestNoLibraries(t *testing.T) {
	m, aux := crafted()
	if _, err := Libraries(m.read, nil, ""); !errors.Is(err, image.ErrNoHeaders) {
		t.Error(err)
	}
	m.words(0x10810, 20) // no DT_DEBUG
	if _, err := Libraries(m.read, aux, ""); !errors.Is(err, image.ErrNoLinker) {
		t.Error(err)
	}
	m.words(0x10000+64+112, 4<<32|4) // no PT_DYNAMIC
	if _, err := Libraries(m.read, aux, ""); !errors.Is(err, image.ErrNoLinker) {
		t.Error(err)
	}
}

// FuzzLibraries reads lists from memory of which every page is the same.
func FuzzLibraries(f *testing.F) {
	m, aux := crafted()
	for _, page := range slices.Sorted(maps.Keys(m)) {
		f.Add(aux, m[page], "start=30000;prev=0")
	}
	f.Fuzz(func(t *testing.T, auxv, page []byte, annex string) {
		budget := 1 << 16
		read := func(addr uint64, b []byte) error {
			budget -= len(b)
			if len(page) == 0 || budget < 0 {
				return unix.EFAULT
			}
			for i := range b {
				b[i] = page[(addr+uint64(i))%uint64(len(page))]
			}
			return nil
		}
		doc, err := Libraries(read, auxv, annex)
		if err == nil && xml.Unmarshal(doc, new(svr4List)) != nil {
			t.Errorf("not XML: %q", doc)
		}
	})
}

// running starts a program that writes a byte when it is where the test wants it.
func running(t *testing.T, path string, env []string, args ...string) *child {
	t.Helper()
	return runningIn(t, "", path, env, args...)
}

// runningIn does so with a directory as the root.
func runningIn(t *testing.T, root, path string, env []string, args ...string) *child {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &unix.SysProcAttr{Chroot: root}
	return &child{t: t, pid: testkit.StartReady(t, cmd), cmd: cmd}
}

func (c *child) auxv() []byte {
	c.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", c.pid))
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// plugins compiles a library under two names.
func plugins(t *testing.T) []string {
	t.Helper()
	flags := []string{"-shared", "-fPIC", "-ftls-model=global-dynamic"}
	return []string{compile(t, "plugin.c", flags...), compile(t, "plugin.c", flags...)}
}

// The libraries of a real process are those that native GDB finds: names, and the
// addresses of their code.
func TestLibrariesAgainstGDB(t *testing.T) {
	for i, flags := range [][]string{{"-pie"}, {"-no-pie"}} {
		c := running(t, compile(t, "loader.c", flags...), nil, plugins(t)...)
		doc, err := Libraries(c.memory(), c.auxv(), "")
		list := parseList(t, doc, err)
		got := map[string]string{}
		spaces := map[string]bool{}
		for _, l := range list.Libraries {
			// ld.so is in every namespace, and only once in memory.
			if at := textStart(t, l.Name, l.Base); at != "" && got[at] == "" {
				got[at] = l.Name
			}
			spaces[l.Namespace] = true
		}
		if len(spaces) != 2 {
			t.Errorf("%d namespaces instead of 2:\n%s", len(spaces), doc)
		}
		out := testkit.GDB(t, []string{"-p", fmt.Sprint(c.pid)}, "info sharedlibrary")
		want := map[string]string{}
		for _, m := range regexp.MustCompile(`(?m)^0x0*([0-9a-f]+)\s+0x.*?(/\S+)$`).FindAllStringSubmatch(out, -1) {
			want["0x"+m[1]] = m[2]
		}
		if !maps.Equal(got, want) || len(want) < 4 {
			t.Errorf("%v:\n%v\nGDB shows\n%v\n%s", flags, got, want, doc)
		}
		if i == 0 {
			sameAsGdbserver(t, c, "libraries-svr4", "", doc)
		}
	}
}

func TestStaticProgram(t *testing.T) {
	c := running(t, compile(t, "stand.c", "-static"), nil)
	if _, err := Libraries(c.memory(), c.auxv(), ""); !errors.Is(err, image.ErrNoLinker) {
		t.Error(err)
	}
}

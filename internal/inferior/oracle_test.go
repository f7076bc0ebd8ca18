package inferior

import (
	"bytes"
	"debug/elf"
	"encoding/xml"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// gdbserverObjects asks the real gdbserver for objects of a process, by annex.
func gdbserverObjects(t *testing.T, pid int, object string, annexes ...string) map[string][]byte {
	t.Helper()
	const piece, pieces = 0x3000, 40
	commands := []string{
		"set sysroot /", "set auto-solib-add off",
		fmt.Sprintf("target remote | gdbserver --once --attach - %d", pid),
	}
	for _, annex := range annexes {
		for i := range pieces { // those behind the end are empty
			commands = append(commands, fmt.Sprintf("maint packet qXfer:%s:read:%s:%x,%x", object, annex, i*piece, piece))
		}
	}
	out := gdb(t, nil, append(commands, "detach")...)
	found := map[string][]byte{}
	last := map[string]bool{}
	answers := regexp.MustCompile(`(?m)^sending: qXfer:[^:]*:read:([^:]*):.*\nreceived: "([lm])(.*)"$`)
	for _, m := range answers.FindAllStringSubmatch(out, -1) {
		found[m[1]] = append(found[m[1]], unescape(t, m[3])...)
		last[m[1]] = last[m[1]] || m[2] == "l"
	}
	for _, annex := range annexes {
		if !last[annex] || len(found[annex]) == 0 {
			t.Fatalf("no whole object %s %q from gdbserver:\n%s", object, annex, out)
		}
	}
	return found
}

// unescape undoes how GDB shows what is not printable, and how binary data is sent.
func unescape(t *testing.T, shown string) []byte {
	t.Helper()
	escapes := regexp.MustCompile(`\\x[0-9a-f]{2}|\\[0-7]{3}`)
	b := escapes.ReplaceAllFunc([]byte(shown), func(b []byte) []byte {
		base := 8
		if b[1] == 'x' {
			base, b = 16, b[1:]
		}
		n, err := strconv.ParseUint(string(b[1:]), base, 8)
		if err != nil {
			t.Fatal(err)
		}
		return []byte{byte(n)}
	})
	return regexp.MustCompile(`(?s)\}.`).ReplaceAllFunc(b, func(b []byte) []byte { return []byte{b[1] ^ 0x20} })
}

// element is any XML element.
type element struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Inner   []element  `xml:",any"`
}

// clean drops the white space between elements.
func (e *element) clean() {
	e.Text = strings.TrimSpace(e.Text)
	for i := range e.Inner {
		e.Inner[i].clean()
	}
}

func parseElement(t *testing.T, doc []byte) element {
	t.Helper()
	var e element
	if err := xml.Unmarshal(doc, &e); err != nil {
		t.Fatalf("%v: %q", err, doc)
	}
	e.clean()
	return e
}

func sameAsGdbserver(t *testing.T, c *child, object, annex string, doc []byte) {
	t.Helper()
	theirs := gdbserverObjects(t, c.pid, object, annex)[annex]
	if !reflect.DeepEqual(parseElement(t, doc), parseElement(t, theirs)) {
		t.Errorf("%s:\n%s\ngdbserver says\n%s", object, doc, bytes.ReplaceAll(theirs, []byte("><"), []byte(">\n<")))
	}
}

// textStart is where the section .text of a library is that was moved by base; ""
// if it has no file.
func textStart(t *testing.T, path, base string) string {
	t.Helper()
	if !strings.HasPrefix(path, "/") {
		return ""
	}
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n, err := strconv.ParseUint(strings.TrimPrefix(base, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%#x", n+f.Section(".text").Addr)
}

package process

import (
	"bytes"
	"debug/elf"
	"encoding/xml"
	"fmt"
	"io"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// peer is the real gdbserver, attached to a process.
type peer struct {
	t    *testing.T
	conn *rsp.Conn
}

// pipe is its standard input and output.
type pipe struct {
	io.WriteCloser
	io.Reader
}

// gdbserver attaches one to a process; it lets go of it at the end of the test, or
// when it is closed.
func gdbserver(t *testing.T, pid int) *peer {
	t.Helper()
	cmd := exec.Command("gdbserver", "--once", "--attach", "-", strconv.Itoa(pid))
	var messages bytes.Buffer
	cmd.Stderr = &messages
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &peer{t, rsp.NewConn(pipe{in, out}, rsp.LinkConfig{Client: true, PacketSize: 1 << 17})}
	t.Cleanup(func() {
		p.ask("D")
		_ = p.conn.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("gdbserver: %v\n%s", err, &messages)
		}
	})
	p.ask("qSupported:xmlRegisters=i386")
	p.ask("?") // chooses the thread that questions are about
	return p
}

// ask gives the answer to a packet.
func (p *peer) ask(packet string) string {
	p.t.Helper()
	if err := p.conn.Send([]byte(packet)); err != nil {
		p.t.Fatal(err)
	}
	e := <-p.conn.Events()
	if e.Kind != rsp.EventPacket {
		p.t.Fatalf("gdbserver does not answer %q: %+v", packet, e)
	}
	return string(e.Payload)
}

// object reads an object completely, whatever its length: the objects of the system list
// all processes.
func (p *peer) object(name, annex string) []byte {
	p.t.Helper()
	const piece = 0x3000
	var doc []byte
	for {
		answer := p.ask(fmt.Sprintf("qXfer:%s:read:%s:%x,%x", name, annex, len(doc), piece))
		if answer == "" || answer[0] != 'm' && answer[0] != 'l' {
			p.t.Fatalf("gdbserver's answer for %s %q: %q", name, annex, answer)
		}
		doc = append(doc, answer[1:]...)
		if answer[0] == 'l' {
			return doc
		}
	}
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
	theirs := gdbserver(t, c.pid).object(object, annex)
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

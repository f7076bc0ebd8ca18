package hostile

import (
	"bytes"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestEndlessAnswer: the listener at the control socket is not jalon, and its reply has no end. jalon gives
// up after a bounded amount of memory.
func TestEndlessAnswer(t *testing.T) {
	path := filepath.Join(dir, "endless.sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for block := bytes.Repeat([]byte("A"), 1<<20); err == nil; {
				_, err = c.Write(block)
			}
			_ = c.Close()
		}
	}()
	args, peak := testkit.Peak(t, jalon, "control", path, "status")
	p := testkit.Start(t, args...).Wait()
	used := peak()
	t.Logf("%d MiB: %s", used>>20, p.Errs.String())
	if p.Status != 1 || !strings.Contains(p.Errs.String(), "it is not from jalon") || used > mostMemory {
		t.Errorf("status %d, %d MiB: %s", p.Status, used>>20, p.Errs.String())
	}
}

package hostile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// TestSwappedDescriptor: a process that shares the descriptor table of the traced program replaces the
// shared memory's descriptor by another file at any time. That file is never changed, regardless of its
// owner, and jalon ends with a result or an error.
func TestSwappedDescriptor(t *testing.T) {
	asRoot(t)
	prog := compile(t, "swapfd")
	for _, owner := range []int{0, nobody} {
		victim := filepath.Join(dir, fmt.Sprintf("victim-%d", owner))
		content := bytes.Repeat([]byte("content\n"), 1000)
		if err := os.WriteFile(victim, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(victim, owner, owner); err != nil {
			t.Fatal(err)
		}
		var traced, refused int
		for range 12 {
			target := asNobody(t, prog, victim).AwaitOut("ready")
			p := testkit.Start(t, jalon, "trace", "-p", fmt.Sprint(target.Pid()), "work", "-v", "-c", "n", "-n", "1").Wait()
			switch errs := p.Errs.String(); {
			case p.Status == 0 && strings.Contains(errs, "(jump"):
				traced++
			case strings.Contains(errs, "is not the memory that jalon created"), strings.Contains(errs, "another file mapped"),
				strings.Contains(errs, "shared memory"):
				refused++
			default:
				t.Errorf("status %d: %s", p.Status, errs)
			}
			letGo(t, target)
			target.Kill()
			now, err := os.ReadFile(victim)
			if err != nil || !bytes.Equal(now, content) {
				t.Fatalf("the file of user %d was changed: %d bytes now, %d before (%v)", owner, len(now), len(content), err)
			}
		}
		t.Logf("file of user %d: traced %d, refused %d", owner, traced, refused)
	}
}

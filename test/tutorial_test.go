package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTutorial runs the commands of docs/tutorial.md, one behind the other in one directory. What is to be printed
// stands beside each.
func TestTutorial(t *testing.T) {
	text, err := os.ReadFile("../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile("(?s)<!-- expect: ([^\n]*) -->\n```sh\n([^`]*)\n```").FindAllStringSubmatch(string(text), -1)
	if n := strings.Count(string(text), "```sh\n"); len(steps) != n || n < 15 {
		t.Fatalf("%d of %d commands of the tutorial have the form that this test reads", len(steps), n)
	}
	dir := t.TempDir()
	source, err := os.ReadFile("../examples/tutorial/shop.c")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shop.c"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(jalonBin, filepath.Join(dir, "jalon")); err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		cmd := exec.Command("/bin/sh", "-c", s[2])
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		r := startCmd(t, cmd).wait()
		if out := r.stdout + r.stderr; !regexp.MustCompile(s[1]).MatchString(out) {
			t.Errorf("%s\n%s\nno match of %s", s[2], out, s[1])
		}
	}
}

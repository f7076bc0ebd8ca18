package process

import (
	"math/rand"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/gdb/stub"
	"github.com/jalon-trace/jalon/test/testkit"
)

func TestShellArgs(t *testing.T) {
	argv := []string{"/bin/echo", "a b", "it's", "", "$HOME", "-n"}
	if got := shellArgs(argv, false); !slices.Equal(got, argv) {
		t.Errorf("%q", got)
	}
	want := []string{"/bin/sh", "-c", `exec /bin/echo 'a b' 'it'\''s' '' '$HOME' -n`}
	if got := shellArgs(argv, true); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A real shell hands all texts on as they are.
func TestShellQuoting(t *testing.T) {
	r := rand.New(rand.NewSource(testkit.Seed(t, 1)))
	alphabet := []rune("ab \t\n'\"\\$`*?[]{}()<>|&;!#~=%^-é\x01")
	argv := []string{"/usr/bin/printf", `%s\036`, "", "~", "a=b", "!!", "*", "--", "\xff\xfe"}
	for range 300 {
		var b strings.Builder
		for range r.Intn(8) {
			b.WriteRune(alphabet[r.Intn(len(alphabet))])
		}
		argv = append(argv, b.String())
	}
	sh := shellArgs(argv, true)
	out, err := exec.Command(sh[0], sh[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\x1e"), "\x1e")
	if !slices.Equal(got, argv[2:]) {
		t.Errorf("%q\nwant\n%q", got, argv[2:])
	}
}

func TestEnvironment(t *testing.T) {
	base := []string{"A=1", "B=2=3", "C=", "D", "AB=4"}
	for _, c := range []struct {
		set   map[string]string
		unset []string
		want  []string
	}{
		{nil, nil, base},
		{map[string]string{"Z": "", "B": "new"}, nil, []string{"A=1", "C=", "D", "AB=4", "B=new", "Z="}},
		{nil, []string{"A", "D", "none"}, []string{"B=2=3", "C=", "AB=4"}},
		{map[string]string{"A": "set"}, []string{"A"}, []string{"B=2=3", "C=", "D", "AB=4", "A=set"}},
	} {
		if got := environment(base, c.set, c.unset); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestExpandHome(t *testing.T) {
	for _, c := range [][3]string{
		{"~", "/home/u", "/home/u"},
		{"~/", "/home/u", "/home/u/"},
		{"~/a/~", "/home/u", "/home/u/a/~"},
		{"~x", "/home/u", "~x"},
		{"", "/home/u", ""},
		{"/a", "/home/u", "/a"},
		{"~/a", "", "~/a"},
	} {
		if got := expandHome(c[0], c[1]); got != c[2] {
			t.Errorf("%q at %q: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestCannotExec(t *testing.T) {
	target, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	for name, want := range map[string]string{
		"/dev/null": "Cannot exec /dev/null: Permission denied", "/none/such": "Cannot exec /none/such: No such file or directory",
	} {
		if _, err := target.Launch(stub.LaunchOptions{Args: []string{name}}); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

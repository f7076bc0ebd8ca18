package image

import (
	"os"
	"path/filepath"
	"testing"
)

// TestProvider: a function that a file takes from others is that of the library in which
// the dynamic linker finds it.
func TestProvider(t *testing.T) {
	shared := []string{"-shared", "-fPIC"}
	hidden, used, preloaded := compile(t, "work.c", append(shared, "-DHIDDEN")...), compile(t, "work.c", shared...), compile(t, "work.c", shared...)
	prog := compile(t, "imports.c", "-Wl,--no-as-needed", hidden, used)
	name := func(m *Module) string {
		if m == nil {
			return ""
		}
		return m.Path
	}
	// Libraries are named by their paths here.
	find := func(needed string) string {
		if _, err := os.Stat(needed); err != nil {
			return ""
		}
		return needed
	}
	f := files(t)
	for fn, want := range map[string]string{"work": used, "other": hidden, "strdup": "", "main": ""} {
		if got := name(f.Provider(prog, fn, find)); got != want {
			t.Errorf("%s as a new process would have it: %q, want %q", fn, got, want)
		}
	}
	if list := f.Linked(prog, find); len(list) != 2 || list[0].Path != hidden || list[1].Path != used {
		t.Errorf("linked with %d libraries", len(list))
	}
	for _, tt := range []struct {
		env  string
		want string
	}{{"X=", used}, {"LD_PRELOAD=" + preloaded, preloaded}} {
		im := start(t, prog, tt.env).image(t)
		m := im.Modules()[0]
		for fn, want := range map[string]string{"work": tt.want, "strdup": ""} { // it does not take strdup from others
			if p, err := im.Provider(m, fn); err != nil || name(p) != want {
				t.Errorf("%s: %s: %q, %v, want %q", tt.env, fn, name(p), err, want)
			}
		}
		if p, err := im.Provider(m, "printf"); err != nil || filepath.Base(name(p)) != "libc.so.6" {
			t.Errorf("printf: %q, %v", name(p), err)
		}
	}
}

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
		if got := name(im.Provider(m, "work")); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.env, got, tt.want)
		}
		if got := name(im.Provider(m, "strdup")); got != "" {
			t.Errorf("a function that the program does not take from others: %q", got)
		}
		if got := filepath.Base(name(im.Provider(m, "printf"))); got != "libc.so.6" {
			t.Errorf("printf: %q", got)
		}
	}
}

package test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestReloaded: libraries that are loaded at the same address in turn, so that stacks through them are equal, have their own names in a
// recording: each stack is named once, for the libraries of its time.
func TestReloaded(t *testing.T) {
	prog := compile(t, "gcc", "reloaded.c", "-g", "-O1", "-rdynamic")
	lib := func(name string) string {
		return compile(t, "gcc", "reloaded.c", "-g", "-O1", "-shared", "-fPIC", "-DNAME="+name)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if r := jalon(t, "record", "-o", dir, "hit", "-c", "$bt", "--", prog, lib("first"), lib("other"), "3"); r.status != 0 {
		t.Fatalf("status %d: %s", r.status, r.stderr)
	}
	var got []string
	for _, word := range strings.Fields(jalon(t, "report", dir).stdout) {
		if name, _, _ := strings.Cut(word, "+"); name == "first" || name == "other" {
			got = append(got, name)
		}
	}
	if want := []string{"first", "other", "first", "other", "first", "other"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

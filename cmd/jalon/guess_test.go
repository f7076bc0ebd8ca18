package main

import "testing"

// TestFunctionsNamedAsCommands: a function may be called as a command of another tool.
func TestFunctionsNamedAsCommands(t *testing.T) {
	for _, place := range []string{"probe if (i % 2 == 0)", "trace if(x)", "at if n", "b  if n > 1", "probe", "on%return if $retval < 0"} {
		if text := otherPlace(place); text != "" {
			t.Errorf("%s: %s", place, text)
		}
	}
	for _, place := range []string{"probe main.c:4 if n > 1", "break main", "b iffy"} {
		if otherPlace(place) == "" {
			t.Errorf("%s is taken for a place", place)
		}
	}
}

// TestOrdinaryPlaces: no form of another tool looks like a place that is not compared with them.
func TestOrdinaryPlaces(t *testing.T) {
	for _, place := range []string{
		"main", "_start", "f2", "break", "entry", "timer", "profile", "libc", "syncfs", "main.c:4", "src/a-b.x.cc:120", "./f.rs:9", "p.c:1", "lib.so:12", "3.c:4",
	} {
		if !ordinary(place) {
			t.Errorf("%s is compared with all forms", place)
		}
		for _, p := range otherPlaces {
			if m := p.form.FindStringSubmatch(place); m != nil {
				t.Errorf("%s: %s", place, p.text(m))
			}
		}
	}
	for _, place := range []string{"42", "sys_read", "SyS_read", "syscalls", "main.c", ":4", "libc:f*", "p:f", "f$return", "r:f.c", "timer.s(1)", "a b", ""} {
		if ordinary(place) {
			t.Errorf("%s is not compared with the forms of other tools", place)
		}
	}
}

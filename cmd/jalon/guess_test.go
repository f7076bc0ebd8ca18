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

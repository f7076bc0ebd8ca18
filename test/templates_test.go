package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTemplates: functions that are instances of templates are found by the names that GDB
// writes ("save tracepoints") and by those of the debug information, on the command line and
// in files.
func TestTemplates(t *testing.T) {
	need(t, "g++", "clang++")
	names := map[string]string{
		"ns::Box<int>::get":                          "get",
		"ns::Box<int>::get(int)":                     "get",
		"ns::Box<unsigned long>::get":                "get",
		"ns::Box<long unsigned int>::get":            "get",
		"ns::big<long>":                              "big",
		"ns::big<long int>":                          "big",
		"ns::big<long>(long, long)":                  "big",
		"ns::big<unsigned short>":                    "big",
		"ns::add<int, 3>":                            "add",
		"ns::add<int,3>":                             "add",
		"ns::Box<unsigned long>::get(unsigned long)": "get",
		// A star in a name of C++ is no pattern.
		"ns::via<int (*)(char const*)>":    "via",
		"ns::via<int(*)(const char *)>":    "via",
		"ns::via<int (*)( char const * )>": "via",
		"ns::Int::operator*":               "operator*",
	}
	for _, cc := range []string{"g++", "clang++"} {
		prog := compile(t, cc, "templates.cc", "-g", "-O1")
		for name, want := range names {
			file := filepath.Join(t.TempDir(), "tracepoints")
			if err := os.WriteFile(file, []byte("trace "+name+"\n  actions\n    collect $args\n  end\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{name, "-c", "$args"}, {"-x", file}} {
				r := trace(t, append(args, "--", prog)...)
				if len(r.events) != 1 || !strings.Contains(r.events[0].Function, want) {
					t.Errorf("%s: %v: %d events: %s", cc, args, len(r.events), r.stderr)
				}
			}
		}
	}
}

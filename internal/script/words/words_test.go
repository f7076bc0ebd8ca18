package words

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/types"
)

var update = flag.Bool("update", false, "rewrite docs/bpftrace-language.md")

func TestReference(t *testing.T) {
	const file = "../../../docs/bpftrace-language.md"
	if *update {
		if err := os.WriteFile(file, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil || string(text) != Reference() {
		t.Errorf("%s is not what the tables give (make generate): %v", file, err)
	}
}

// TestRows checks that the tables are complete and consistent.
func TestRows(t *testing.T) {
	for _, rows := range [][]*Word{Words, MapFuncs} {
		last := ""
		for _, w := range rows {
			if !(w.Name > last) && w.Name != "argN" {
				t.Errorf("%s is not in alphabetical order", w.Name)
			}
			last = w.Name
			if w.Name == "argN" {
				last = "args"
			}
			if w.Doc == "" || len(w.Forms) == 0 || w.Min > w.Max || len(w.Args) > w.Max {
				t.Errorf("the row of %s is not complete", w.Name)
			}
			if w.Bare && w.Min > 0 {
				t.Errorf("%s needs arguments and can be written without", w.Name)
			}
			if w.Bare && w.Result == nil {
				t.Errorf("the word %s has no type", w.Name)
			}
			for _, p := range w.Providers {
				if script.FindProvider(p) == nil {
					t.Errorf("%s: there is no probe %s", w.Name, p)
				}
			}
		}
	}
	for _, n := range []string{"arg0", "arg12", "pid", "__builtin_pid"} {
		if Find(n) == nil {
			t.Errorf("%s is not found", n)
		}
	}
	for _, n := range []string{"arg", "argx", "arg1x", "nothing", ""} {
		if Find(n) != nil {
			t.Errorf("%s is found", n)
		}
	}
}

func TestConfig(t *testing.T) {
	c := &Config{}
	for _, s := range []struct {
		key, text string
		kind      types.Kind
		want      string // "" for an error
	}{
		{"max_strlen", "64", types.Int, "64"},
		{"BPFTRACE_MAX_STRLEN", "65", types.Int, "65"},
		{"STRLEN", "66", types.Int, "66"},
		{"max_strlen", "true", types.Bool, ""},
		{"stack_mode", "PERF", types.String, "perf"},
		{"stack_mode", "x", types.String, ""},
		{"stack_mode", "1", types.Int, ""},
		{"print_maps_on_exit", "0", types.Int, "false"},
		{"print_maps_on_exit", "true", types.Bool, "true"},
		{"print_maps_on_exit", "2", types.Int, ""},
		{"license", "Dual MIT/GPL", types.String, "Dual MIT/GPL"},
		{"str_trunc_trailer", "...", types.String, "..."},
	} {
		_, err := c.Set(s.key, Value{s.kind, s.text})
		key := strings.TrimPrefix(strings.ToLower(s.key), "bpftrace_")
		if to := renamed[key]; to != "" {
			key = to
		}
		if (err == nil) != (s.want != "") || err == nil && c.Word(key) != s.want {
			t.Errorf("%s = %s: %v, %q", s.key, s.text, err, c.Word(key))
		}
	}
	if c.Int("max_map_keys") != 4096 || !c.Bool("cpp_demangle") {
		t.Error("defaults")
	}
	if _, err := c.Set("no_cpp_demangle", Value{types.Int, "1"}); err != nil || c.Bool("cpp_demangle") {
		t.Error("no_cpp_demangle", err)
	}
}

func TestSignals(t *testing.T) {
	for name, n := range map[string]int{"SIGKILL": 9, "kill": 9, "SIGSYS": 31, "USR1": 10, "NONE": 0, "": 0} {
		if SignalNumber(name) != n {
			t.Errorf("%s is %d", name, SignalNumber(name))
		}
	}
}

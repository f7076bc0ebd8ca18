package completion

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// The command line of the tests.
type testTrace struct {
	Places  []string `arg:"" optional:""`
	Pid     int      `short:"p" help:"A process. More."`
	Collect []string `short:"c"`
	Format  string   `short:"f" enum:"text,json" default:"text"`
	Quiet   bool     `short:"q"`
	Secret  bool     `hidden:""`
}

type testCLI struct {
	Trace  testTrace `cmd:"" help:"Trace: places"`
	List   struct{}  `cmd:""`
	Hidden struct{}  `cmd:"" hidden:""`
}

// fakeSource shows in its candidates what it was asked for.
type fakeSource struct{}

func (fakeSource) Places(prefix string, t Target) []Candidate {
	return []Candidate{{Text: "tracepoint:", Help: "static"}, {Text: "tracepoint:sched:a"}, {Text: "f(int, char*)"}, {Text: "of_" + t.Program + t.Pid}}
}

func (fakeSource) Names(prefix string, t Target) []Candidate {
	return []Candidate{{Text: "len"}, {Text: "args->len"}, {Text: "args->line"}, {Text: "$args"}, {Text: "at_" + t.Place}}
}

func (fakeSource) Recordings() []Candidate { return []Candidate{{"run1", "process 12"}} }

func (fakeSource) Processes() []Candidate { return []Candidate{{"12", "srv"}, {"34", "sh"}} }

func model(t testing.TB) *kong.Application {
	parser, err := kong.New(&testCLI{}, kong.Name("jalon"))
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

func TestComplete(t *testing.T) {
	app := model(t)
	for _, c := range []struct{ left, right, want string }{
		{"jalon ", "", "list trace"},
		{"jalon tr", "", "trace"},
		{"jalon --", "", ""},
		{"jalon unknown x", "", ""},
		{"jalon trace --f", "", "--format"},
		{"jalon trace --s", "", ""}, // hidden
		{"jalon trace -f ", "", "json text"},
		{"jalon trace -f j", "", "json"},
		{"jalon trace --format=t", "", "--format=text"},
		{"jalon trace -p ", "", "12 34"},
		{"jalon trace --pid=3", "", "--pid=34"},
		{"jalon trace trac", "", "tracepoint: tracepoint:sched:a"},
		{"jalon trace of", " -- ./prog arg", "of_./prog"},
		{"jalon trace of", "tail -- ./prog", "of_./prog"},
		{"jalon trace -p 77 of", "", "of_77"},
		{"jalon trace -q of", " -p 78", "of_78"},
		{"jalon trace f -- ./pro", "", ""}, // a file
		{"jalon trace 'f if le", "", "f if len"},
		{"jalon trace 'f if at", "", "f if at_f"},
		{"jalon trace 'f if len > 3 && args->l", "", "f if len > 3 && args->len|f if len > 3 && args->line"},
		{"jalon trace f -c 'len, $", "", "len, $args"},
		{"jalon trace 'g if x' -c at", "", "at_g"},
		{"jalon trace g -c at", " other", "at_g"},
		{`jalon trace "f if 'a' == le`, "", "f if 'a' == len"},
	} {
		var got []string
		for _, x := range Complete(app, c.left, c.right, fakeSource{}) {
			got = append(got, x.Text)
		}
		sep := " "
		if strings.Contains(c.want, "|") || strings.Contains(c.left, "'") || strings.Contains(c.left, `"`) {
			sep = "|"
		}
		if s := strings.Join(got, sep); s != c.want {
			t.Errorf("%s<TAB>%s: %q, not %q", c.left, c.right, s, c.want)
		}
	}
}

// TestLines: bash divides words at colons unless a quote is open, and takes what is inserted as it is.
func TestLines(t *testing.T) {
	list := []Candidate{{"tracepoint:sched:a(int, char*)", "What. More"}}
	for _, c := range []struct{ shell, left, want string }{
		{"bash", "jalon trace tracepoint:sch", `sched:a\(int,\ char\*\)`},
		{"bash", "jalon trace trac", `tracepoint:sched:a\(int,\ char\*\)`},
		{"bash", "jalon trace 'tracepoint:sch", "tracepoint:sched:a(int, char*)"},
		{"zsh", "jalon trace tracepoint:sch", "tracepoint:sched:a(int, char*)"},
		{"fish", "jalon trace tracepoint:sch", "tracepoint:sched:a(int, char*)\tWhat"},
	} {
		if got := Lines(c.shell, c.left, list); got != c.want+"\n" {
			t.Errorf("%s, %s: %q", c.shell, c.left, got)
		}
	}
}

// FuzzComplete: any line gives candidates that are lines and begin with what was typed.
func FuzzComplete(f *testing.F) {
	f.Add("jalon trace 'f if le", " -- x")
	f.Add(`jalon trace "a\`, "")
	f.Add("jalon trace --format=", "b c")
	app := model(f)
	f.Fuzz(func(t *testing.T, left, right string) {
		list := Complete(app, left, right, fakeSource{})
		words := splitLine(left)
		for _, x := range list {
			if strings.ContainsAny(x.Text, "\n") && !strings.Contains(left, "\n") || !strings.HasPrefix(x.Text, words[len(words)-1].text) {
				t.Fatalf("%q: %q", left, x.Text)
			}
		}
		for _, shell := range Shells {
			Lines(shell, left, list)
		}
	})
}

// TestScripts: the shells accept the scripts, and offer what jalon prints.
func TestScripts(t *testing.T) {
	jalon := `jalon() { [ "$1 $3 $4" = "complete jalon trace x:f  -p 7" ] && printf '%s\n' f:one f:two; }`
	for shell, program := range map[string]string{
		"bash": jalon + "\n. ./jalon.bash\nCOMP_LINE='jalon trace x:f -p 7' COMP_POINT=15 COMP_CWORD=2\n_jalon\nprintf '%s\\n' \"${COMPREPLY[@]}\"",
		"zsh":  jalon + "\ncompdef() { : }\ncompadd() { print -l -- ${(P)@[-1]} }\n. ./jalon.zsh\nwords=(jalon trace x:f -p 7) CURRENT=3\n_jalon",
		"fish": "function jalon\n[ \"$argv[1] $argv[3] $argv[4]\" = 'complete jalon trace x:f ' ]; and printf '%s\\n' x:f:one x:f:two\nend\nsource ./jalon.fish\ncomplete -C 'jalon trace x:f'",
	} {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Fatalf("%v (make test installs it)", err)
			}
			out, err := exec.Command(shell, "-c", program).CombinedOutput()
			got := strings.Fields(string(out))
			want := []string{"f:one", "f:two"}
			if shell == "fish" {
				want = []string{"x:f:one", "x:f:two"}
			}
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

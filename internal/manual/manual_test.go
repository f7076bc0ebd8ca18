package manual

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestWrite: the page shows commands, arguments, flags and tables, and nothing hidden; text that roff would take for a
// request is text.
func TestWrite(t *testing.T) {
	var cli struct {
		Do struct {
			What   []string `arg:"" help:".what it does: a\\b"`
			Limit  int      `short:"n" default:"7" help:"How many"`
			Secret bool     `hidden:""`
		} `cmd:"" help:"Do it"`
		Hidden struct{} `cmd:"" hidden:""`
	}
	parser, err := kong.New(&cli, kong.Name("prog"), kong.Description("A program"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	err = Write(&b, parser.Model, Page{Version: "1.2", Statuses: []Status{{"0", "all is well"}}, Examples: []Example{{"An example", "prog do 'x'"}}})
	if err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		".TH PROG 1 \"\" \"prog 1.2\"", `prog \- a program`, ".SS \"prog do\"\nDo it", ".I WHAT\n\\&.what it does: a\\eb",
		`\fB\-n\fR, \fB\-\-limit\fR=\fI7\fR` + "\nHow many. Default: 7", ".B 0\nall is well", `.B prog do \(aqx\(aq`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	if strings.Contains(strings.ToLower(text), "secret") || strings.Contains(text, "idden") {
		t.Errorf("hidden things:\n%s", text)
	}
	if groff, err := exec.LookPath("groff"); err == nil { // on machines that have it, it has no complaints
		cmd := exec.Command(groff, "-man", "-Tascii", "-ww", "-z")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("groff: %v\n%s", err, out)
		}
	}
}

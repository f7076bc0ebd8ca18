package test

import (
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/probe"
)

// jalon list --kinds and the help of trace list every kind of place.
func TestListKinds(t *testing.T) {
	list, help := jalon(t, "list", "--kinds").stdout, strings.Join(strings.Fields(jalon(t, "trace", "--help").stdout), " ")
	for _, k := range probe.Kinds() {
		if !strings.Contains(list, k.Form+"\n    "+strings.ReplaceAll(k.Where, "`", "")+"\n") {
			t.Errorf("jalon list --kinds does not say what %s is:\n%s", k.Form, list)
		}
		if !strings.Contains(help, k.Form) {
			t.Errorf("jalon trace --help does not show %s", k.Form)
		}
	}
	for _, want := range []string{"by the kernel: kprobe, one program for all sites", "by the kernel: fentry\n", "short: t:\n"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
}

package interp

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
)

// TestWarn: what goes wrong while a script runs is reported once with its position, and how often it was at the end.
func TestWarn(t *testing.T) {
	const src = `let @f = hash(1); begin { for ($i : 0..3) { $a = (1, 2); @f[$i] = $i; print(@none[$i]); delete(@f, 7); print(6 / $i); warnf("w%d", $i); } }`
	for _, c := range []struct {
		opts           Options
		want, repeated string // parts of them, in order
	}{
		{Options{}, "t:1:110|t:1:119: warning: w0|t:1:58|t:1:119: warning: w1", "t:1:58: the map is full; the update is lost (2 times)"},
		{Options{Helpers: true}, "no such element; the value is 0|t:1:77|no such element to delete|t:1:89", "t:1:77: the map has no such element; the value is 0 (3 times)|t:1:89: the map has no such element to delete (3 times)|(2 times)"},
		{Options{NoWarn: true}, "0\n1\n0\n6\n0\n3\n", ""},
		{Options{JSON: true, Helpers: true}, `{"type": "helper_error", "msg": "Success", "helper": "map_lookup_elem", "retcode": 0, "filename": "t", "line": 1, "col": 77}|{"type": "runtime_error", "msg": "division by 0; the result is 1", "filename": "t", "line": 1, "col": 110}|"map_update_elem", "retcode": -7`, ""},
	} {
		s, err := script.Parse("t", src)
		if err != nil {
			t.Fatal(err)
		}
		p, err := check.Check(s, check.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		c.opts.Out, c.opts.Err, c.opts.Now = &b, &b, time.Now
		m := New(p, c.opts)
		if err := m.Loop(context.Background(), context.Background(), nil, func() {}); err != nil {
			t.Fatal(err)
		}
		inOrder(t, b.String(), c.want)
		inOrder(t, strings.Join(m.Repeated(), "\n"), c.repeated)
		if c.opts.NoWarn && b.String() != c.want {
			t.Errorf("%+v: %q", c.opts, b.String())
		}
	}
}

// inOrder checks that a text has parts, separated by |, one after the other.
func inOrder(t *testing.T, text, parts string) {
	t.Helper()
	rest := text
	for _, p := range strings.Split(parts, "|") {
		_, after, ok := strings.Cut(rest, p)
		if !ok {
			t.Errorf("%q is missing in\n%s", p, text)
			return
		}
		rest = after
	}
}

package arming

import (
	"errors"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// TestLeftOut: one bad address is a warning, a tracepoint without any an error.
func TestLeftOut(t *testing.T) {
	list, err := tracepoint.FromArgs([]string{"f", "g"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tps := Track(list)
	var warned []string
	s := &Process{Tracepoints: tps, Config: Config{Warn: func(m string) { warned = append(warned, m) }}}
	progs := []*engine.Program{{Key: tps[0]}, {Key: tps[0]}, {Key: tps[1]}}
	left := leftOut{}
	bad := errors.New("too far")
	good := left.sortOut(progs, []error{nil, bad, bad})
	if len(good) != 1 || good[0] != progs[0] {
		t.Fatalf("kept %d", len(good))
	}
	if err := s.unresolvable(good, left); err == nil || strings.Count(err.Error(), "too far") != 1 || !strings.Contains(err.Error(), "| g") {
		t.Errorf("unresolvable: %v", err)
	}
	tps[0].programs = good
	if err := s.reportSkipped(left); err == nil || strings.Contains(err.Error(), "| f") || tps[0].refused || !tps[1].refused {
		t.Errorf("reported: %v", err)
	}
	if len(warned) != 1 || warned[0] != "f: 1 of 2 addresses are skipped: too far" {
		t.Errorf("warned %q", warned)
	}
	s.armed = true
	if err := s.unresolvable(good, left); err != nil {
		t.Errorf("a later arming goes on: %v", err)
	}
}

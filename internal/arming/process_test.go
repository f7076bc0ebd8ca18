package arming

import (
	"errors"
	"strings"
	"testing"

	"github.com/jalon-trace/jalon/internal/engine"
	"github.com/jalon-trace/jalon/internal/tracepoint"
)

// site is a site with an address.
type site struct {
	engine.Site
	addr uint64
}

func (s site) Addr() uint64 { return s.addr }

// TestSkipped: one bad address of a tracepoint is a warning; a tracepoint with only bad addresses is an
// error, which names the tracepoint, the place, the address and the cause.
func TestSkipped(t *testing.T) {
	list, err := tracepoint.FromArgs([]string{"f", "g", "h"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, tp := range list {
		tp.Number = i + 1
	}
	tps := Track(list)
	var warned []string
	s := &Process{Tracepoints: tps, Config: Config{Warn: func(m string) { warned = append(warned, m) }}}
	progs := []*engine.Program{{Key: tps[0]}, {Key: tps[0]}, {Key: tps[1], Site: site{addr: 0x401136}}, {Key: tps[2]}}
	skip := skipped{}
	bad := errors.New("too far")
	good := skip.filter(progs, []error{nil, bad, bad, bad})
	if len(good) != 1 || good[0] != progs[0] {
		t.Fatalf("%d programs are installed", len(good))
	}
	err = s.unresolvable(good, skip)
	for _, want := range []string{"error: tracepoint 2 at g (0x401136): not installed: too far\n", "| g", "error: tracepoint 3 at h: not installed: too far\n"} {
		if err == nil || strings.Count(err.Error(), want) != 1 {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	if err != nil && strings.Contains(err.Error(), "tracepoint 1") {
		t.Errorf("an installed tracepoint is an error: %v", err)
	}
	tps[0].programs = good
	if err := s.reportSkipped(skip); err == nil || strings.Contains(err.Error(), "| f") || tps[0].refused || !tps[1].refused {
		t.Errorf("reported: %v", err)
	}
	if len(warned) != 1 || warned[0] != "f: 1 of 2 addresses are skipped: too far" {
		t.Errorf("warned %q", warned)
	}
	s.armed = true
	if err := s.unresolvable(good, skip); err != nil {
		t.Errorf("a later arming returns the error again: %v", err)
	}
}

package test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestGlobOfMany: a glob of C++ names in a program without debug information matches every function, and
// reports the skipped ones.
func TestGlobOfMany(t *testing.T) {
	prog := compile(t, "gcc", "many.c", "-O1")
	r := trace(t, "*many::f*", "--", prog)
	if r.sum.Sites != 10000 || r.sum.Hits != 2 || r.status != 0 {
		t.Errorf("%d sites, %d hits, status %d: %s", r.sum.Sites, r.sum.Hits, r.status, tail(r.stderr))
	}
	// One function by its name with scopes, as GDB finds it.
	r = trace(t, "many::f9999", "--", prog)
	if r.sum.Sites != 1 || r.sum.Hits != 1 {
		t.Errorf("many::f9999: %+v", r.sum)
	}
	r = trace(t, "many::*[0ab]*", "--", prog)
	if !strings.Contains(r.stderr, "1 of 3440 addresses are skipped: ") {
		t.Errorf("the skipped addresses are not reported: %s", tail(r.stderr))
	}
}

// TestGlobOfLater: a pattern reaches every function of a library that is loaded later, as
// many as there are.
func TestGlobOfLater(t *testing.T) {
	lib := compile(t, "gcc", "many.c", "-O1", "-shared", "-fPIC", "-Wl,-Bsymbolic")
	prog := compile(t, "gcc", "later.c", "-O1")
	if r := jalon(t, "trace", "uprobe:"+lib+":*many::f*", "--", prog, lib, "_ZN4many5f2711Ev"); r.status != 2 || !strings.Contains(r.stderr, "--pending") {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	r := trace(t, "--pending", "uprobe:"+lib+":*many::f[0-2]*", "--", prog, lib, "_ZN4many5f2711Ev")
	if r.sum.Sites != 3000 || r.sum.Hits != 1 || r.status != 0 || strings.Contains(r.stderr, "are skipped") {
		t.Errorf("%d sites, %d hits, status %d: %s", r.sum.Sites, r.sum.Hits, r.status, tail(r.stderr))
	}
}

// TestArmingInterrupted: signals end jalon at once while it arms, and the program is released.
func TestArmingInterrupted(t *testing.T) {
	prog := compile(t, "gcc", "many.c", "-O1")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			p := start(t, prog, "for ever").AwaitOut("ready")
			j := start(t, jalonBin, "trace", "--dump-ir", "-p", fmt.Sprint(p.Pid()), "many::f* if ($rdi == 3)")
			j.AwaitErr("entry") // code is made for the first of ten thousand sites
			sent := time.Now()
			j.Signal(sig)
			j.Wait()
			t.Logf("ended after %v", time.Since(sent))
			if !strings.Contains(j.Errs.String(), "ended before the tracepoints were in place") {
				t.Errorf("%v does not end the arming: %s", sig, tail(j.Errs.String()))
			}
			if strings.Contains(j.Errs.String(), "jalon: armed") {
				t.Errorf("nothing is armed: %s", tail(j.Errs.String()))
			}
			if tracerOf(p.Pid()) != 0 || !alive(p.Pid()) {
				t.Error("jalon has not detached from the program")
			}
		})
	}
}

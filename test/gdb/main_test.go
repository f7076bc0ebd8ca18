// Package gdb tests jalon gdbserver with a real GDB, which runs scripts on known programs. If GDB's output
// is the same on every machine, it is compared with goldens; `go test -update` renews them.
package gdb

import (
	"flag"
	"os"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

var (
	jalonBin string
	tempDir  string // readable by every user; removed at the end

	update = flag.Bool("update", false, "renew the goldens")
)

// full enables the heavier repetitions.
var full = os.Getenv("JALON_FULL") != ""

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(withJalon(m.Run))
}

// withJalon builds jalon once for all tests.
func withJalon(run func() int) int {
	return testkit.WithJalon("../../cmd/jalon", func(dir, bin string) int {
		tempDir, jalonBin = dir, bin
		return run()
	})
}

// State that all tests of the package share.
var (
	start      = testkit.Start
	startCmd   = testkit.StartCmd
	eventually = testkit.Eventually
	alive      = testkit.Alive
	tracerOf   = testkit.TracerOf
	tail       = testkit.Tail
	need       = testkit.Need
)

const patience = testkit.Patience

var programs = testkit.Builder{From: "programs"}

// compile builds programs/SRC with a compiler and flags and returns the path of the
// program; the same build is made once only.
func compile(t testing.TB, cc, src string, flags ...string) string {
	t.Helper()
	need(t, cc)
	return programs.Compile(t, tempDir, cc, src, flags...)
}

// running is a program that a test has started.
type running = testkit.Process

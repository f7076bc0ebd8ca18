// Package gdb tests jalon gdbserver as its user has it: a real GDB runs scripts
// against it, on programs that do known things. What GDB prints is compared with
// goldens where every machine prints the same; `go test -update` renews them.
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

// full asks for the heavier repetitions.
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

// What the tests across packages share.
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

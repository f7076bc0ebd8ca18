// Package torture traces programs that nobody wrote for jalon, and small ones that live
// every kind of life a process can have, and compares each run with an untraced one:
// the same output, the same end, exact counts where they are known.
//
// The short form is part of `make test`. `make torture` sets JALON_TORTURE=1: more
// programs, more rounds, every form. JALON_TORTURE_ROUNDS (default 6) is the number of
// rounds a swept program gets, JALON_TORTURE_SEED repeats a run, JALON_TORTURE_WAY limits
// lives to one way of tracing them.
package torture

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

var (
	jalonBin string // the built program
	tempDir  string // readable by every user; removed at the end

	long = os.Getenv("JALON_TORTURE") != ""
	seed = number("JALON_TORTURE_SEED", rand.Uint64())
)

func TestMain(m *testing.M) {
	os.Exit(testkit.WithJalon("../../cmd/jalon", func(dir, bin string) int {
		tempDir, jalonBin = dir, bin
		status := m.Run()
		results.print(os.Stdout)
		return status
	}))
}

// number is what an environment variable says, or def.
func number(name string, def uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 0, 64); err == nil {
		return n
	}
	return def
}

var programs = testkit.Builder{From: "programs"}

func compile(t testing.TB, cc, src string, flags ...string) string {
	t.Helper()
	return programs.Compile(t, tempDir, cc, src, flags...)
}

// needed reports whether the programs of a test are installed: `make torture` installs
// more than `make test` does, and only there a missing one is a failure. What is left
// out is counted in the table.
func needed(t testing.TB, names ...string) bool {
	t.Helper()
	if long {
		testkit.Need(t, names...)
		return true
	}
	for _, n := range names {
		if _, err := exec.LookPath(n); err != nil {
			results.add(row{table: "left out", name: fmt.Sprintf("%s: %v", t.Name(), err)})
			return false
		}
	}
	return true
}

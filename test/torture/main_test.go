// Package torture traces programs of the distribution, and small programs for every kind of process life cycle.
// It compares each run with an untraced one: the same output, the same end, and exact counts where they are
// known.
//
//   - TestEveryInstruction sweeps programs and libraries (libc, libcrypto, libsqlite3,
//     python, lua, redis-server, git, cc1 ...): tracepoints at thousands of instructions a
//     round, under conditions that are false, true, and that fault, while the programs
//     work on what has a known result
//   - TestGlobs places tracepoints on all functions of programs of java, node, Go and Rust,
//     and of the run-time systems under them
//   - TestLives and TestKinds lead every kind of a process's life, and build one in every
//     way, with every way to trace
//   - TestFound repeats what once went wrong
//
// The short form is part of `make test`. It takes one part, the same each time: some of the
// lives, some of the kinds, two of the swept programs, one of the languages.
// JALON_TORTURE_SEED=N takes another part. `make torture` sets JALON_TORTURE=1: everything,
// every instruction, with a random seed, which is printed. JALON_TORTURE_ROUNDS limits the
// rounds that each form of a sweep gets (0, the default: all that it takes),
// JALON_TORTURE_WAY limits lives to one way of tracing them.
package torture

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/test/testkit"
)

var (
	jalonBin string // the built program
	tempDir  string // readable by every user; removed at the end

	long = os.Getenv("JALON_TORTURE") != ""
	seed = number("JALON_TORTURE_SEED", usualSeed())
)

// usualSeed is the same in every `make test`, so that a run of it depends on nothing but the code.
func usualSeed() uint64 {
	if long {
		return uint64(time.Now().Unix())
	}
	return 20781
}

func TestMain(m *testing.M) {
	flag.Parse()
	if !long { // programs wait more than they compute: for the kernel and for each other
		if err := flag.Set("test.parallel", "4"); err != nil {
			panic(err)
		}
	}
	os.Exit(testkit.WithJalon("../../cmd/jalon", func(dir, bin string) int {
		tempDir, jalonBin = dir, bin
		status := m.Run()
		results.all.Print(os.Stdout, fmt.Sprintf("torture (seed %d)", seed))
		return status
	}))
}

// turn reports whether the named part runs today, which is the case once in the given number of days, and
// selects one of n choices: a different one each time, so that all have been selected after n times that
// many days.
func turn(name string, every, n int) (choice int, ok bool) {
	h := fnv.New32a()
	h.Write([]byte(name))
	day := seed + uint64(h.Sum32())
	return int(day / uint64(every) % uint64(n)), day%uint64(every) == 0
}

// number returns the number in an environment variable, or def.
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

// needed reports whether the programs of a test are installed: `make torture` installs more than `make
// test`, and only there a missing one is a failure. Skipped parts are counted in the table.
func needed(t testing.TB, names ...string) bool {
	t.Helper()
	if long {
		testkit.Need(t, names...)
		return true
	}
	for _, n := range names {
		if _, err := exec.LookPath(n); err != nil {
			results.add(t, row{table: "left out", name: fmt.Sprintf("%s: %v", t.Name(), err)})
			return false
		}
	}
	return true
}

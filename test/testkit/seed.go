package testkit

import (
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// seedVar is the variable that changes the seeds of all random tests: a number, or "random" for one by chance.
const seedVar = "JALON_SEED"

// chosen is what is added to the seeds of tests: 0 in `make test`, so that each run of it does the same.
var chosen = sync.OnceValue(func() int64 {
	text := os.Getenv(seedVar)
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n
	}
	if text == "random" || text == "" && os.Getenv("JALON_FULL") != "" {
		return time.Now().UnixNano() % 1e9
	}
	return 0
})

// Seed returns the seed of a random test: its own, which is the same each time, or another one as JALON_SEED
// demands; the long forms of tests (JALON_FULL=1) take a random one. A failed test prints how to repeat it.
func Seed(t testing.TB, own int64) int64 {
	t.Helper()
	n := chosen()
	if n != 0 {
		t.Logf("%s=%d", seedVar, n)
	}
	return own + n*1_000_003
}

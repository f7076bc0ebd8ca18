package debuginfo

import (
	"math/rand"
	"slices"
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// plain is the edit distance by the table of its definition.
func plain(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diag
			if a[i] != b[j] {
				d++
			}
			diag = row[j+1]
			row[j+1] = min(d, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func TestDistance(t *testing.T) {
	seed := testkit.Seed(t, 3)
	r := rand.New(rand.NewSource(seed))
	word := func(most int) string {
		b := make([]byte, r.Intn(most))
		for i := range b {
			b[i] = "abc_"[r.Intn(4)]
		}
		return string(b)
	}
	for range 20000 {
		a, b := word(65), word(90)
		if got, want := newMatcher(a).distance(b), plain(a, b); got != want {
			t.Fatalf("seed %d: distance of %q and %q is %d, want %d", seed, a, b, got, want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"task_struct", "tasklet_struct", "task_group", "vm_area_struct", "vm_struct", "x", "sched_switch"}
	for name, want := range map[string][]string{
		"task_strukt":   {"task_struct"},
		"vm_area":       {"vm_area_struct"},
		"sched_swithc":  {"sched_switch"},
		"qqqqqqqqqqqqq": nil,
		"y":             nil,
		"":              nil,
	} {
		if got := Nearest(name, names, 5); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
		like := Like(name)
		for _, n := range want {
			if !like(n) {
				t.Errorf("Like(%q) drops %q", name, n)
			}
		}
	}
	if got := Nearest("task_struct", names, 1); !slices.Equal(got, []string{"task_struct"}) {
		t.Errorf("one: %v", got)
	}
}

package torture

import (
	"testing"

	"github.com/jalon-trace/jalon/test/testkit"
)

// row is the result of one program, in one part of the table that is printed at the end.
type row struct {
	table, name string

	runs, sites, refused, hits uint64
	harmed                     uint64
	note                       string
}

// tally collects rows; those of one table and name are summed.
type tally struct{ all testkit.Tally }

var results tally

// add adds a row, and saves it at once for the table that `make torture` prints: a run of hours that is
// interrupted keeps its counts.
func (c *tally) add(t testing.TB, r row) {
	t.Helper()
	count := testkit.Count{Table: r.table, Name: r.name, Rounds: r.runs, Sites: r.sites, Refused: r.refused, Hits: r.hits, Harmed: r.harmed, Note: r.note}
	c.all.Add(count)
	if err := count.Save(); err != nil {
		t.Errorf("counts: %v", err)
	}
}

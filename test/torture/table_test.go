package torture

import "github.com/jalon-trace/jalon/test/testkit"

// row is what came of one program, in one of the parts of the table that is printed at
// the end.
type row struct {
	table, name string

	runs, sites, refused, hits uint64
	harmed                     uint64
	note                       string
}

// tally collects rows; those of one table and name are summed.
type tally struct{ all testkit.Tally }

var results tally

func (c *tally) add(r row) {
	c.all.Add(testkit.Count{Table: r.table, Name: r.name, Rounds: r.runs, Sites: r.sites, Refused: r.refused, Hits: r.hits, Harmed: r.harmed, Note: r.note})
}

// save leaves the rows for the table that `make torture` prints.
func (c *tally) save() (err error) {
	c.all.Each(func(r testkit.Count) {
		if e := r.Save(); err == nil {
			err = e
		}
	})
	return err
}

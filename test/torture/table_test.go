package torture

import (
	"fmt"
	"io"
	"sort"
	"sync"
	"text/tabwriter"
)

// row is what came of one program, in one of the tables that are printed at the end.
type row struct {
	table, name string

	runs, sites, refused, hits uint64
	harmed                     uint64
	note                       string
}

// tally collects rows; those of one table and name are summed.
type tally struct {
	mu   sync.Mutex
	rows map[[2]string]*row
}

var results tally

func (c *tally) add(r row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[[2]string]*row{}
	}
	key := [2]string{r.table, r.name}
	sum := c.rows[key]
	if sum == nil {
		sum = &row{table: r.table, name: r.name}
		c.rows[key] = sum
	}
	sum.runs += r.runs
	sum.sites += r.sites
	sum.refused += r.refused
	sum.hits += r.hits
	sum.harmed += r.harmed
	if r.note != "" {
		sum.note = r.note
	}
}

// print writes the tables, each with its sums.
func (c *tally) print(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	byTable := map[string][]*row{}
	for _, r := range c.rows {
		byTable[r.table] = append(byTable[r.table], r)
	}
	names := make([]string, 0, len(byTable))
	for name := range byTable {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		rows := byTable[name]
		sort.Slice(rows, func(i, j int) bool { return rows[i].name < rows[j].name })
		tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintf(tw, "%s (seed %d)\truns\tsites\trefused\thits\tharmed\t\t\n", name, seed)
		var sum row
		for _, r := range rows {
			fmt.Fprintf(tw, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t\n", r.name, r.runs, r.sites, r.refused, r.hits, r.harmed, r.note)
			sum.runs += r.runs
			sum.sites += r.sites
			sum.refused += r.refused
			sum.hits += r.hits
			sum.harmed += r.harmed
		}
		fmt.Fprintf(tw, "%d in all\t%d\t%d\t%d\t%d\t%d\t\t\n", len(rows), sum.runs, sum.sites, sum.refused, sum.hits, sum.harmed)
		_ = tw.Flush()
		fmt.Fprintln(w)
	}
}

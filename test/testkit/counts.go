package testkit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sort"
	"sync"
	"testing"
	"text/tabwriter"
)

// Count has the results of trying to harm a program: a row of the table that `make torture` prints at its
// end.
type Count struct {
	Table, Name string
	// Rounds is how many runs of a program were traced (or attached to, or killed).
	Rounds, Sites, Refused, Hits, Harmed uint64
	Note                                 string
}

// countsFile names the file in which packages leave their counts, if any.
const countsFile = "JALON_COUNTS"

// Save adds the count to those that `make torture` prints, if it runs.
func (c Count) Save() error {
	name := os.Getenv(countsFile)
	if name == "" {
		return nil
	}
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n')) // in one piece: packages run at the same time
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// Counted saves the count when the test ends; a test that has failed has harmed.
func Counted(t testing.TB, c *Count) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			c.Harmed = max(c.Harmed, 1)
		}
		if err := c.Save(); err != nil {
			t.Error(err)
		}
	})
}

// Tally sums counts of one table and name.
type Tally struct {
	mu   sync.Mutex
	rows map[[2]string]*Count
}

// Add adds a count; the last note that is not empty stays.
func (c *Tally) Add(r Count) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[[2]string]*Count{}
	}
	key := [2]string{r.Table, r.Name}
	sum := c.rows[key]
	if sum == nil {
		sum = &Count{Table: r.Table, Name: r.Name}
		c.rows[key] = sum
	}
	sum.add(&r)
	if r.Note != "" {
		sum.Note = r.Note
	}
}

func (c *Count) add(r *Count) {
	c.Rounds += r.Rounds
	c.Sites += r.Sites
	c.Refused += r.Refused
	c.Hits += r.Hits
	c.Harmed += r.Harmed
}

// Read adds counts that were saved.
func (c *Tally) Read(r io.Reader) error {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		var row Count
		if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
			return fmt.Errorf("%q: %w", sc.Text(), err)
		}
		c.Add(row)
	}
	return sc.Err()
}

// Each calls f for every row.
func (c *Tally) Each(f func(Count)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.rows {
		f(*r)
	}
}

// Print writes one table with all rows, and the sums of each of its parts.
func (c *Tally) Print(w io.Writer, title string) {
	parts := map[string][]Count{}
	c.Each(func(r Count) { parts[r.Table] = append(parts[r.Table], r) })
	names := make([]string, 0, len(parts))
	for name := range parts {
		names = append(names, name)
	}
	sort.Strings(names)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(tw, "%s\trounds\tsites\trefused\thits\tharmed\t\t\n", title)
	var all Count
	for _, name := range names {
		rows := parts[name]
		sort.Slice(rows, func(i, j int) bool { return rows[i].Name < rows[j].Name })
		sum := Count{Name: fmt.Sprintf("%s (%d)", name, len(rows))}
		for i := range rows {
			sum.add(&rows[i])
		}
		all.add(&sum)
		sum.print(tw)
		for i := range rows {
			rows[i].print(tw)
		}
	}
	all.Name = "all"
	all.print(tw)
	_ = tw.Flush()
}

func (c *Count) print(w io.Writer) {
	fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t\n", c.Name, c.Rounds, c.Sites, c.Refused, c.Hits, c.Harmed, c.Note)
}

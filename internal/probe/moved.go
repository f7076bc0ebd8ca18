package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// SitesOfLine returns the sites of a source line. A line without code means the next line that has some, but not one of a
// function that begins behind the line: a user who names a line of a comment, or of an older source, does not mean
// another function. (GDB 13 moves there, and prints the line.)
func SitesOfLine(m Module, file string, line int) ([]Site, error) {
	all, err := m.LineSites(file, line)
	if err != nil {
		return nil, err
	}
	sites := slices.DeleteFunc(slices.Clone(all), func(s Site) bool { return s.Begins > 0 })
	if len(sites) == 0 && len(all) > 0 {
		s := all[0]
		return nil, &debuginfo.NotFoundError{
			What: "code at", Name: fmt.Sprintf("%s:%d", file, line),
			Hint: fmt.Sprintf("the next line with code is in another function: %s, which begins at line %d; its place is %[1]s, or %[3]s:%[4]d", s.Beginning, s.Begins, file, s.ActualLine),
		}
	}
	return sites, nil
}

// Moved says where a line place without code is traced; "" if its line has code. Sites are its sites.
func Moved(sites []Site) string {
	if len(sites) == 0 || sites[0].Asked == 0 {
		return ""
	}
	var in []string
	for i := range sites {
		if f := sites[i].Func; f != "" && !slices.Contains(in, f) {
			in = append(in, f)
		}
	}
	text := fmt.Sprintf("line %d has no code; traced at line %d", sites[0].Asked, sites[0].ActualLine)
	switch more := len(in) - mostNamed; {
	case len(in) == 0:
		return text
	case more > 0:
		return text + ", in " + strings.Join(in[:mostNamed], ", ") + fmt.Sprintf(" and %d more functions", more)
	}
	return text + ", in " + strings.Join(in, ", ")
}

// mostNamed is how many functions a message names.
const mostNamed = 4

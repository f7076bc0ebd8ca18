package script

import "fmt"

// placeText writes the parts of a place that are set.
func placeText(pl *Place) string {
	s := pl.Provider.Name
	add := func(format string, v any, set bool) {
		if set {
			s += " " + fmt.Sprintf(format, v)
		}
	}
	add("%s", pl.Target, pl.Target != "")
	add("%s", pl.Namespace, pl.Namespace != "")
	add("%s", pl.Language, pl.Language != "")
	add("%s", pl.Name, pl.Name != "")
	add("+%d", pl.Offset, pl.Offset != 0)
	add("@%d", pl.Address, pl.HasAddr)
	add("%s", fmt.Sprintf("%s:%d:%d", pl.File, pl.Line, pl.Col), pl.File != "")
	add("%dns", pl.Nanos, pl.Nanos != 0)
	add("%dhz", pl.Hertz, pl.Hertz != 0)
	add("%dx", pl.Count, pl.Count != 0)
	add("%d", pl.Length, pl.Length != 0)
	add("%s", pl.Mode, pl.Mode != "")
	add("%s", pl.Pin, pl.Pin != "")
	return s
}

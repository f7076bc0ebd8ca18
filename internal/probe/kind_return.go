package probe

import "strings"

// Return is FUNC%return.
var Return = kind(Kind{
	Form: "[FILE:]FUNC%return", Where: "the returns of a function of a program, and the jumps by which it hands over to another function (tail calls)",
	Names:  "`retval`, local variables, globals, registers",
	Attach: "uretprobe", Find: Finder.Returns, Sites: fromEntry, Returns: true, Own: "$retval",
})

// ReturnSuffix marks the place.
const ReturnSuffix = "%return"

// returns reads FUNC%return.
func (p *parser) returns(pl *Place) (*Place, error) {
	name, ok := strings.CutSuffix(pl.Func, ReturnSuffix)
	switch {
	case !ok:
		return pl, nil
	case name == "":
		return nil, p.fail("a function is missing before "+ReturnSuffix, Return.Form)
	case pl.Kind != Function:
		return nil, p.fail("a place at the returns of a function has no offset", Return.Form)
	}
	pl.Kind, pl.Func = Return, strings.TrimSpace(name)
	return pl, nil
}

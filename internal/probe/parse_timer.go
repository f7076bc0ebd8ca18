package probe

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units are the units of profile: and interval:; 0 means times per second.
var units = map[string]time.Duration{"hz": 0, "s": time.Second, "ms": time.Millisecond, "us": time.Microsecond}

// timer parses N (Hz), UNIT:N, or a number followed by its unit: 99hz, 10ms.
func (p *parser) timer(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 2)
	if err != nil {
		return err
	}
	unit, n := part{"hz", rest.lo}, list[len(list)-1]
	if len(list) == 2 {
		unit = list[0]
	} else if digits := strings.TrimLeft(rest.s, "0123456789"); digits != "" && digits != rest.s {
		k := len(rest.s) - len(digits)
		n, unit = part{rest.s[:k], rest.lo}, part{digits, rest.lo + k}
	}
	length, ok := units[unit.s]
	if !ok {
		return p.failAt(unit, fmt.Sprintf("there is no unit %s", strconv.Quote(unit.s)), "the units are hz (times a second), s, ms and us")
	}
	count, err := p.number(n, "the rate or time")
	switch {
	case err != nil:
		return err
	case length == 0:
		pl.Freq = count
	case count > uint64(math.MaxInt64/length):
		return p.failAt(n, "this time is too long", "")
	default:
		pl.Period = time.Duration(count) * length
	}
	return nil
}

// aliases makes a table of lines "NAME ALIAS ...".
func aliases(lines ...string) map[string]string {
	m := map[string]string{}
	for _, l := range lines {
		words := strings.Fields(l)
		for _, w := range words {
			m[w] = words[0]
		}
	}
	return m
}

// counter parses EVENT[:COUNT].
func (p *parser) counter(pl *Place, rest part) error {
	list, err := p.parts(rest, 1, 2)
	if err != nil {
		return err
	}
	if pl.Event, err = p.oneOf(list[0], pl.Kind.Words[0]+" event", pl.Kind.events); err != nil || len(list) == 1 {
		return err
	}
	pl.Count, err = p.number(list[1], "the count")
	return err
}

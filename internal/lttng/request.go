package lttng

import (
	"fmt"
	"strings"
)

// flagsOfRequest is what LTTng's field rwbs has, computed from the kernel's text of that name. The text is an F for a flush before, the
// operation (W, D, DE, F, R or N), then F (forced access), A (read ahead), S (synchronous) and M (metadata), each if it applies, and a NUL.
var flagsOfRequest = func() string {
	at := func(i int) string { return fmt.Sprintf("args->rwbs[%d]", i) }
	// has is whether the text has a letter at the places from i on.
	var has func(i int, letter byte) string
	has = func(i int, letter byte) string {
		if i == lastFlag {
			return fmt.Sprintf("%s == '%c'", at(i), letter)
		}
		return fmt.Sprintf("%s && (%s == '%c' || %s)", at(i), at(i), letter, has(i+1, letter))
	}
	before := fmt.Sprintf("(%s == 'F' && %s)", at(0), at(1))
	operation := func(letter byte) string {
		return fmt.Sprintf("(%s ? %s : %s) == '%c'", before, at(1), at(0), letter)
	}
	second := fmt.Sprintf("(%s ? %s : %s)", before, at(2), at(1))
	var terms []string
	for _, f := range []struct {
		when string
		bit  int
	}{
		{operation('W'), 0},
		{operation('D'), 1},
		{operation('R'), 2},
		{has(1, 'A'), 3},
		{has(1, 'S'), 5},
		{has(1, 'M'), 6},
		{operation('D') + " && " + second + " == 'E'", 7},
		{operation('F'), 8},
		{operation('D') + " ? 0 : " + at(0) + " && " + second + " == 'F'", 9},
		{before, 10},
	} {
		terms = append(terms, fmt.Sprintf("((%s) ? %d : 0)", f.when, 1<<f.bit))
	}
	return strings.Join(terms, " | ")
}()

// lastFlag is the last place where the text can have a letter.
const lastFlag = 7

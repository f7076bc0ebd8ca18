package kernel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// line is the kernel's text of a hit.
type line struct {
	text    string
	context byte // '.' a thread, 's' a soft interrupt, 'h' a hard one, 'z' none that can be masked
}

// match finds the kernel's lines in jalon's output between the marks; the lists have the marks and the
// lines around them. The kernel and jalon write a hit one after the other. The hits of an interrupt between
// the two come after the interrupted hit in one list and before it in the other. So the order is the same
// only within each context, and the hits of an interrupt may be on the other side of a mark. For a hit
// during another program's hit, the kernel calls no program of a perf event: hits of interrupts may be
// missing in jalon's output.
func match(kernel []line, jalon []string) (window []line, absent []string, err error) {
	kernel, jalon = slices.Clone(kernel), slices.Clone(jalon)
	settle(kernel, func(l line) string { return l.text })
	settle(jalon, func(text string) string { return text })
	texts := make([]string, len(kernel))
	for i, l := range kernel {
		texts[i] = l.text
	}
	from, to := between(texts)
	first, last := between(jalon)
	if to-from < 2 || last-first < 2 {
		return nil, nil, fmt.Errorf("nothing between the marks: the kernel recorded %d, jalon %d", len(kernel), len(jalon))
	}
	window = kernel[from+1 : to]
	found := make([]bool, len(window))
	around := aroundOf(kernel, from, to)
	for j, have := range jalon[first+1 : last] {
		i := next(window, found, have)
		if i >= 0 {
			found[i] = true
			continue
		}
		if at := slices.Index(around, have); at >= 0 {
			around = slices.Delete(around, at, at+1)
			continue
		}
		return window, nil, fmt.Errorf("jalon's event %d of %d is not the kernel's next: %s\nkernel: %s", j, last-first-1, have, left(window, found))
	}
	outside := append(slices.Clone(jalon[:first]), jalon[last+1:]...)
	for i, l := range window {
		switch {
		case found[i]:
		case l.context == '.':
			return window, nil, fmt.Errorf("event %d of the kernel's %d is not in jalon's %d: %s", i, len(window), last-first-1, l.text)
		case !slices.Contains(outside, l.text):
			absent = append(absent, l.text)
		}
	}
	return window, absent, nil
}

var ownEntry = regexp.MustCompile(`^sys_\w+\(`)

// settle brings the two lines of a system call's entry, its own and that of all, in
// one order. They are the same hit's, and come as the machine's first users of both
// came to the kernel, be they of this test or not.
func settle[T any](list []T, text func(T) string) {
	for i := 1; i < len(list); i++ {
		if strings.HasPrefix(text(list[i]), "sys_enter: NR ") && ownEntry.MatchString(text(list[i-1])) {
			list[i-1], list[i] = list[i], list[i-1]
		}
	}
}

// next returns the line for a text. For a thread it is the first that was not found. Lines of interrupts
// may be missing, so for those it is the first after the last one of its context.
func next(window []line, found []bool, text string) int {
	last := map[byte]int{}
	for i, l := range window {
		if found[i] {
			last[l.context] = i
		}
	}
	thread := false // one of its lines was not found
	for i, l := range window {
		switch {
		case found[i] || l.context == '.' && thread || l.context != '.' && i < last[l.context]:
		case l.text == text:
			return i
		default:
			thread = thread || l.context == '.'
		}
	}
	return -1
}

// aroundOf returns the lines of interrupts directly before the first mark and after the last.
func aroundOf(kernel []line, from, to int) (out []string) {
	for i := from - 1; i >= 0 && kernel[i].context != '.'; i-- {
		out = append(out, kernel[i].text)
	}
	for i := to + 1; i < len(kernel) && kernel[i].context != '.'; i++ {
		out = append(out, kernel[i].text)
	}
	return out
}

// left is the first line that was not found.
func left(window []line, found []bool) string {
	if i := slices.Index(found, false); i >= 0 {
		return fmt.Sprintf("%c %s", window[i].context, window[i].text)
	}
	return "nothing"
}

func TestMatch(t *testing.T) {
	const begin, end, call = "sys_getpriority(which: 0x6f, who: 1)", "sys_getpriority(which: 0x6f, who: 2)", "sys_enter: NR 140 (6f, 1, 0)"
	// A letter is a line: small ones of a thread, large ones of a soft interrupt,
	// digits of a hard one, < and > the marks, and = the entry of any system call.
	text := func(c rune) string {
		switch c {
		case '<':
			return begin
		case '>':
			return end
		case '=':
			return call
		}
		return string(c)
	}
	for _, tt := range []struct {
		kernel, jalon, absent string
		bad                   bool
	}{
		{kernel: "x<abc>y", jalon: "<abc>"},
		{kernel: "<abc>", jalon: "<acb>", bad: true},
		{kernel: "<abc>", jalon: "<ac>", bad: true},
		{kernel: "<abc>", jalon: "<ab>", bad: true},
		{kernel: "<abc>", jalon: "<abcd>", bad: true},
		{kernel: "<aABb>", jalon: "<AaBb>"},
		{kernel: "<aABb>", jalon: "<ABab>"},
		{kernel: "<aABb>", jalon: "<BaAb>", bad: true},
		{kernel: "<a1Ab>", jalon: "<A1ab>"},
		{kernel: "<aABb>", jalon: "<aBb>", absent: "A"},
		{kernel: "<AaAb>", jalon: "<aAb>", absent: "A"},
		{kernel: "<Aab>", jalon: "A<ab>"},
		{kernel: "<ab1>", jalon: "<ab>1"},
		{kernel: "1<ab>", jalon: "<1ab>"},
		{kernel: "1<ab>", jalon: "<11ab>", bad: true},
		{kernel: "<ab>A", jalon: "<aAb>"},
		{kernel: "<aab>", jalon: "<aab>"},
		{kernel: "<aab>", jalon: "<ab>", bad: true},
		{kernel: "=<ab=>", jalon: "<=ab>="},
		{kernel: "=<ab=>", jalon: "<a=b>=", bad: true},
		{kernel: "<>", jalon: "<>", bad: true},
	} {
		var kernel []line
		for _, c := range tt.kernel {
			l := line{text(c), '.'}
			switch {
			case c >= 'A' && c <= 'Z':
				l.context = 's'
			case c >= '0' && c <= '9':
				l.context = 'h'
			}
			kernel = append(kernel, l)
		}
		var jalon []string
		for _, c := range tt.jalon {
			jalon = append(jalon, text(c))
		}
		_, absent, err := match(kernel, jalon)
		if (err != nil) != tt.bad || err == nil && strings.Join(absent, "") != tt.absent {
			t.Errorf("%s in %s: absent %v, %v", tt.kernel, tt.jalon, absent, err)
		}
	}
}

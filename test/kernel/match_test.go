package kernel

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// line is what the kernel printed of a hit.
type line struct {
	text    string
	context byte // '.' a thread, 's' a soft interrupt, 'h' a hard one, 'z' none that can be masked
}

// match finds the lines of the kernel in what jalon recorded between the marks; the
// lists hold the marks and what is around them. The two write a hit one behind the
// other, and an interrupt that comes between them has its hits behind the interrupted
// one in one list and before it in the other: each context's hits are in order for
// themselves only, and those of an interrupt may be on the other side of a mark. The
// kernel gives a hit within another program's hit to no program of a perf event: absent
// are those of interrupts that jalon does not have.
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

// next is the line that a text is of: for a thread the first that was not found; those
// of interrupts may be lacking, so the first behind the last of its context.
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

// aroundOf are the lines of interrupts right before the first mark and behind the last.
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

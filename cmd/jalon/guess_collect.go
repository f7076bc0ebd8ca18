package main

import (
	"strings"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// otherLists are collect lists as commands of GDB and formats of printf.
var otherLists = []otherForm{
	{lazyregexp.New(`^(?:info +)?(locals|args|registers|frame)$|^info +(?:all-)?(registers)$`), func(m []string) string {
		word := map[string]string{"locals": "$locals", "args": "$args", "registers": "$regs", "frame": "$bt"}[m[1]+m[2]]
		if !strings.HasPrefix(m[0], "info") { // a name may be so, and then it is one
			return ""
		}
		return "what to show is -c " + quoted(word)
	}},
	{lazyregexp.New(`^(?:print|p|echo|display|output|inspect|show)(?:/([a-z]))? +([$&*(!~]*[A-Za-z_].*)$`), func(m []string) string {
		list := m[2]
		if m[1] != "" {
			list += "/" + m[1]
		}
		return "what to show needs no command: -c " + quoted(list)
	}},
	{lazyregexp.New(`^x(?:/(\d*)[a-z]*)? +([$A-Za-z_].*)$`), func(m []string) string {
		n := m[1]
		if n == "" {
			n = "1"
		}
		return "elements behind a pointer are -c " + quoted("*"+m[2]+"@"+n)
	}},
	{lazyregexp.New(`^"[^"]*%[^"]*" *(?:, *(.+))?$`), func(m []string) string {
		if m[1] == "" {
			m[1] = "EXPR, EXPR"
		}
		return "a list has expressions without a format, which are shown with their names: -c " + quoted(m[1])
	}},
	{lazyregexp.New(`^(?:([A-Za-z_]\w*) *[=:] *)?%[0-9l.-]*[diouxXcsfgp](?:[ ,]+(.+))?$`), func(m []string) string {
		list := m[1]
		if m[2] != "" {
			list = m[2]
		}
		if list == "" {
			list = "EXPR"
		}
		return "a list has expressions without a format, which are shown with their names: -c " + quoted(list)
	}},
}

// guessLists explains collect lists in the words of other tools; "" if they are not.
func guessLists(lists []string) string {
	for _, list := range lists {
		for _, other := range otherLists {
			if m := other.form.FindStringSubmatch(strings.TrimSpace(list)); m != nil {
				if text := other.text(m); text != "" {
					return text
				}
			}
		}
	}
	return ""
}

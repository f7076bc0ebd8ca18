package lang

import (
	"fmt"
	"strings"
)

// ParseSpec splits "PLACE [if COND]". The place is any text up to the word "if" outside quotes and brackets;
// "if(" without a blank is accepted. GDB's explicit places (-source F -line N, -function f) are converted to
// the short form, F:N or f; PlaceSpan is the span of the original text. The condition is not parsed. The error
// is a *Diagnostic with the Source "place".
func ParseSpec(src string) (Spec, error) {
	return parseSpec("place", src, Span{0, len(src)})
}

// parseSpec is ParseSpec for a part of a text.
func parseSpec(source, src string, s Span) (Spec, error) {
	s = trim(src, s)
	place := s
	var spec Spec
	if at := findIf(src[s.Lo:s.Hi]); at >= 0 {
		word := Span{s.Lo + at, s.Lo + at + 2}
		spec.CondSpan = trim(src, Span{word.Hi, s.Hi})
		spec.CondText = src[spec.CondSpan.Lo:spec.CondSpan.Hi]
		if spec.CondText == "" {
			return Spec{}, At(source, src, word, `a condition must follow "if"`, "")
		}
		place = trim(src, Span{s.Lo, word.Lo})
	}
	spec.PlaceSpan = place
	spec.Place = src[place.Lo:place.Hi]
	if spec.Place == "" {
		at := Span{s.Lo, s.Lo}
		if spec.CondText != "" {
			at.Hi += 2
		}
		return Spec{}, At(source, src, at, "the place is missing",
			"write main.c:9, a function, function+4, *0x401136, uprobe:PATH:function, ...")
	}
	if err := refuseThread(source, src, place); err != nil {
		return Spec{}, err
	}
	return explicitPlace(source, src, spec)
}

// findIf returns the offset of the word "if" that starts the condition, or -1. Unmatched brackets, which file
// names may contain, are ignored.
func findIf(s string) int {
	at, balanced := scanIf(s, true)
	if at < 0 && !balanced {
		at, _ = scanIf(s, false)
	}
	return at
}

func scanIf(s string, brackets bool) (at int, balanced bool) {
	depth := 0
	wordStart := true
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case (c == '\'' || c == '"') && wordStart:
			if end := closingQuote(s[i:]); end > 0 {
				i += end
			}
		case brackets && strings.IndexByte("([{", c) >= 0:
			depth++
		case brackets && strings.IndexByte(")]}", c) >= 0:
			depth--
		case depth == 0 && strings.HasPrefix(s[i:], "if") && (i == 0 || isBlank(s[i-1]) || s[i-1] == ')') && ifEnds(s[i+2:]):
			return i, true
		}
		// a quote inside a word is part of the word: it's.c
		wordStart = isBlank(c) || strings.IndexByte(":(,=*&", c) >= 0
		i++
	}
	return -1, depth == 0
}

func ifEnds(s string) bool { return s == "" || s[0] == '(' || spaceLen(s) > 0 }

// refuseThread rejects GDB's "thread N" and "task N" after a place: the numbers are valid only in a GDB
// session.
func refuseThread(source, src string, place Span) error {
	words := wordsOf(src, place)
	for i := 1; i+1 < len(words); i++ {
		w := src[words[i].Lo:words[i].Hi]
		if w == "thread" || w == "task" {
			s := Span{words[i].Lo, words[i+1].Hi}
			return At(source, src, s, fmt.Sprintf("GDB's %q is not supported: its thread numbers are valid only in GDB", w+" N"), "remove it; every event shows its thread")
		}
	}
	return nil
}

// wordsOf splits a text at blanks outside quotes.
func wordsOf(src string, s Span) []Span {
	var words []Span
	for i := s.Lo; i < s.Hi; {
		if n := spaceLen(src[i:s.Hi]); n > 0 {
			i += n
			continue
		}
		lo := i
		for i < s.Hi && spaceLen(src[i:s.Hi]) == 0 {
			if c := src[i]; (c == '\'' || c == '"') && i == lo {
				if end := closingQuote(src[i:s.Hi]); end > 0 {
					i += end
				}
			}
			i++
		}
		words = append(words, Span{lo, i})
	}
	return words
}

// explicitPlace turns GDB's -source F -line N -function f into F:N or F:f.
func explicitPlace(source, src string, spec Spec) (Spec, error) {
	words := wordsOf(src, spec.PlaceSpan)
	first := src[words[0].Lo:words[0].Hi]
	// Static markers and probes are other kinds of places and are not parsed here.
	if first[0] != '-' || first == "-m" || strings.HasPrefix(first, "-probe") {
		return spec, nil
	}
	given := map[string]string{}
	for i := 0; i < len(words); i += 2 {
		w := src[words[i].Lo:words[i].Hi]
		option := explicitOption(w)
		if option == "" {
			return Spec{}, At(source, src, words[i], fmt.Sprintf("the option %q of a place is not supported", w),
				"of GDB's explicit places, -source, -line and -function are supported")
		}
		if i+1 == len(words) {
			return Spec{}, At(source, src, words[i], fmt.Sprintf("a value must follow %s", w), "")
		}
		if given[option] != "" {
			return Spec{}, At(source, src, words[i], fmt.Sprintf("%s is given twice", w), "")
		}
		given[option] = src[words[i+1].Lo:words[i+1].Hi]
	}
	parts := given["-function"]
	switch line := given["-line"]; {
	case line != "" && parts != "":
		return Spec{}, At(source, src, spec.PlaceSpan, "a place is either a line or a function, not both", "write -source FILE -line LINE")
	case line != "":
		parts = line
	case parts == "":
		return Spec{}, At(source, src, spec.PlaceSpan, "a file is not a place", "add -line or -function")
	}
	if file := given["-source"]; file != "" {
		parts = file + ":" + parts
	}
	spec.Place = parts
	return spec, nil
}

// explicitOption completes an abbreviated option, as GDB does.
func explicitOption(w string) string {
	for _, option := range []string{"-source", "-line", "-function"} {
		if len(w) > 1 && strings.HasPrefix(option, w) {
			return option
		}
	}
	return ""
}

// Package completion completes jalon's command line in shells: commands, flags, their values, places, and names in
// expressions. It knows the command line by its model; what places and names there are it asks of a [Source].
package completion

import "strings"

// word is a word of a command line. A word whose quote is open at the cursor goes to the end of the line.
type word struct {
	text string // without quotes
	open bool   // a quote is not closed
	// tail is the part of text behind the last of the characters at which bash divides words.
	tail string
}

// breaks are the characters at which bash divides words that are not quoted (COMP_WORDBREAKS), without blanks.
const breaks = "=:<>|&;()@"

// splitLine splits the part of a command line before the cursor. The last word is the one that is completed; it is
// empty behind a blank.
func splitLine(s string) []word {
	var out []word
	var text, tail strings.Builder
	in, quote := false, byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(s):
			i++
			text.WriteByte(s[i])
			tail.WriteByte(s[i])
			in = true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if in {
				out = append(out, word{text.String(), false, tail.String()})
			}
			text.Reset()
			tail.Reset()
			in = false
		default:
			text.WriteByte(c)
			tail.WriteByte(c)
			if quote == 0 && strings.IndexByte(breaks, c) >= 0 {
				tail.Reset()
			}
			in = true
		}
	}
	return append(out, word{text.String(), quote != 0, tail.String()})
}

// texts returns the words of the part of a line behind the cursor; the first piece of text belongs to the word that is
// completed and is left out.
func texts(s string) []string {
	i := strings.IndexAny(s, " \t")
	if i < 0 {
		return nil
	}
	var out []string
	for _, w := range splitLine(s[i:]) {
		if w.text != "" {
			out = append(out, w.text)
		}
	}
	return out
}

package completion

import (
	"embed"
	"fmt"
	"slices"
	"strings"
)

// Each shell passes the command line before and behind the cursor to "jalon complete SHELL LEFT RIGHT", which prints
// what the current word can become, one a line.
//
//go:embed jalon.bash jalon.zsh jalon.fish
var scripts embed.FS

// Shells are the shells that have a script.
var Shells = []string{"bash", "zsh", "fish"}

// Script returns what a shell executes to complete jalon's command lines.
func Script(shell string) (string, error) {
	if !slices.Contains(Shells, shell) {
		return "", fmt.Errorf("there is no completion for %q, only for %s", shell, strings.Join(Shells, ", "))
	}
	text, err := scripts.ReadFile("jalon." + shell)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(text), nil
}

// Lines returns the candidates as a shell reads them. Fish shows the help beside them. Bash replaces only the part
// of the word behind a colon or the like unless a quote is open, and puts what it inserts between quotes only if it takes
// it for the name of a file; so a candidate that must be quoted is only for words with an open quote.
func Lines(shell, left string, list []Candidate) string {
	words := splitLine(left)
	current := words[len(words)-1]
	var b strings.Builder
	for _, c := range list {
		text := c.Text
		switch shell {
		case "bash":
			if !current.open {
				text = quoted(strings.TrimPrefix(text, strings.TrimSuffix(current.text, current.tail)))
			}
		case "fish":
			if c.Help != "" {
				text += "\t" + firstSentence(c.Help)
			}
		}
		b.WriteString(text + "\n")
	}
	return b.String()
}

// quoted puts backslashes before the characters that a shell would not take as they are.
func quoted(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(" \t'\"\\$`&|;<>()*?[]{}!#~", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// firstSentence returns at most 70 bytes of a help text, up to its first stop.
func firstSentence(s string) string {
	if i := strings.IndexAny(s, ".:;\n"); i >= 0 {
		s = s[:i]
	}
	if len(s) > 70 {
		s = strings.ToValidUTF8(s[:70], "")
	}
	return strings.ReplaceAll(s, "\t", " ")
}

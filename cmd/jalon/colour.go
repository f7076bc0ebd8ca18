package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/jalon-trace/jalon/internal/format"
)

// coloured decides about colours, by --colour and the convention of NO_COLOR (no-color.org).
func coloured(when string, terminal bool) bool {
	switch when {
	case "always":
		return true
	case "never":
		return false
	}
	return terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// printDiagnostic prints errors in the user's text; on a terminal the words and the carets that point are red.
func printDiagnostic(text string) {
	text = format.PlainText(strings.TrimRight(text, "\n"))
	if !coloured("auto", isTerminal(os.Stderr)) {
		fmt.Fprintln(messages, text)
		return
	}
	const red, plain = "\x1b[1;31m", "\x1b[0m"
	for line := range strings.Lines(text + "\n") {
		body := strings.TrimRight(line, "\n")
		at := strings.LastIndex(body, " ^")
		switch {
		case strings.HasPrefix(body, "error:"):
			body = red + "error:" + plain + strings.TrimPrefix(body, "error:")
		case at >= 0 && strings.Trim(body[at:], " ^") == "":
			body = body[:at] + red + body[at:] + plain
		}
		fmt.Fprintln(messages, body)
	}
}

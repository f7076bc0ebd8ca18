package lang

import (
	"strconv"
	"strings"
)

// actions reads "actions [N]" or "commands [N]" and the lines up to its "end".
func (r *fileReader) actions() {
	start := r.word
	t := (*Tracepoint)(nil)
	if r.rest() == "" {
		t = r.last(r.word)
	} else {
		t = r.about()
		r.nothingMore()
	}
	list := r.actionList(start, false)
	if t != nil {
		t.Actions = list // as in GDB a second list replaces the first
	}
}

// actionList reads the lines of a list, including its "end"; stepping means that it is the body of
// while-stepping.
func (r *fileReader) actionList(start Span, stepping bool) []Action {
	var list []Action
	for r.nextLine() {
		name := r.commandWord()
		switch actionNamed(name) {
		case "end":
			r.nothingMore()
			return list
		case "collect":
			list = r.collect(list)
		case "teval":
			if r.listFollows() {
				list = append(list, Action{Kind: ActEval, Text: r.rest(), Span: r.line, Line: r.num})
			}
		case "while-stepping":
			list = r.steps(list, stepping)
		default:
			r.unknownAction(name)
		}
	}
	r.fail(start, `the list must end with a line "end"`, "unterminated list")
	return list
}

// actionWords are the words of an action list, with the length of GDB's shortest abbreviation, and their
// meaning.
var actionWords = []struct {
	word  string
	short int
	means string
}{
	{"collect", 4, "collect"},
	{"teval", 2, "teval"},
	{"while-stepping", 5, "while-stepping"},
	{"stepping", 5, "while-stepping"},
	{"ws", 2, "while-stepping"},
	{"end", 3, "end"},
}

// actionNamed returns the meaning of a word in an action list, or "".
func actionNamed(word string) string {
	for _, a := range actionWords {
		if len(word) >= a.short && strings.HasPrefix(a.word, word) {
			return a.means
		}
	}
	return ""
}

func (r *fileReader) unknownAction(name string) {
	var words []string
	for _, a := range actionWords {
		words = append(words, a.word)
	}
	hint := "actions are collect, teval and while-stepping; the list must end with \"end\""
	if near := Nearest(name, words, 1); near != nil {
		hint = DidYouMean(near)
	}
	r.fail(r.word, hint, "%q is not an action of a tracepoint", name)
}

// listFollows checks that there is text after collect or teval.
func (r *fileReader) listFollows() bool {
	if r.rest() == "" {
		r.fail(r.word, "", "an expression must follow %s", r.src[r.word.Lo:r.word.Hi])
		return false
	}
	return true
}

// collect reads "collect LIST", "collect/s LIST" and "collect/s80 LIST".
func (r *fileReader) collect(list []Action) []Action {
	a := Action{Kind: ActCollect, Line: r.num}
	if strings.HasPrefix(r.rest(), "/") {
		word, s := r.takeWord()
		digits, isString := strings.CutPrefix(word, "/s")
		if isString && digits != "" {
			n, err := strconv.ParseUint(digits, 10, 31)
			isString = err == nil
			a.StringLimit = int(n)
		}
		if !isString {
			r.fail(s, "collect/s collects strings, collect/s80 at most 80 bytes of each", "%q is not a modifier of collect", word)
			return list
		}
		a.Strings = true
	}
	if !r.listFollows() {
		return list
	}
	a.Text, a.Span = r.rest(), r.line
	return append(list, a)
}

// steps reads "while-stepping N" and its body.
func (r *fileReader) steps(list []Action, nested bool) []Action {
	a := Action{Kind: ActStep, Line: r.num, Span: Span{r.word.Lo, r.line.Hi}}
	start := r.word
	switch word, s := r.takeWord(); word {
	case "":
		r.fail(start, "", "the number of steps must follow %s", r.src[start.Lo:start.Hi])
	default:
		n, ok := r.number(word, s)
		if ok && n == 0 {
			r.fail(s, "", "the number of steps must be positive")
		}
		a.Steps = n
		r.nothingMore()
	}
	if nested {
		r.fail(start, "", "while-stepping cannot be nested")
		r.skipList()
		return list
	}
	a.Body = r.actionList(start, true)
	return append(list, a)
}

// skipList skips a rejected nested list, and the lists inside it.
func (r *fileReader) skipList() {
	for depth := 1; depth > 0 && r.nextLine(); {
		switch actionNamed(r.commandWord()) {
		case "end":
			depth--
		case "while-stepping":
			depth++
		}
	}
}

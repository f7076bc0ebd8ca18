package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// newParser makes the parser of a command line. kong replaces the variables of each text by a regular expression, and those in the
// values of all variables for each flag, which took an eighth of the time to arm a tracepoint. So kong does not see the texts while it
// makes the parser; their variables are replaced here, and those of the help only if help may be printed.
func newParser(c *cli, args []string, options ...kong.Option) (*kong.Kong, error) {
	root, extra := grammar(c, args)
	var texts modelTexts
	parser, err := kong.New(root, slices.Concat(extra, options, []kong.Option{kong.PostBuild(texts.hide)})...)
	if err != nil {
		return nil, err
	}
	texts.show(len(args) == 0 || slices.Contains(ofAll, args[0]) || slices.ContainsFunc(args, mayAskForHelp))
	return parser, nil
}

// mayAskForHelp reports whether an argument may be the flag for help, alone or with other letters; it may also be none.
func mayAskForHelp(arg string) bool {
	return arg == "--help" || strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "h")
}

// modelTexts are the texts of a model in which variables are replaced: those of the help, and the others.
type modelTexts struct{ help, others []modelText }

type modelText struct {
	at   *string
	text string
}

// hide takes the texts out of a model.
func (t *modelTexts) hide(k *kong.Kong) error {
	take := func(list *[]modelText, at *string) {
		if *at != "" {
			*list = append(*list, modelText{at, *at})
			*at = ""
		}
	}
	return kong.Visit(k.Model, func(v kong.Visitable, next kong.Next) error {
		switch v := v.(type) {
		case *kong.Node:
			take(&t.help, &v.Help)
		case *kong.Flag:
			take(&t.others, &v.PlaceHolder)
		case *kong.Value:
			take(&t.help, &v.Help)
			take(&t.others, &v.Default)
			take(&t.others, &v.Enum)
		}
		return next(nil)
	})
}

// show puts them back, with the values of their variables.
func (t *modelTexts) show(help bool) {
	for _, o := range t.others {
		*o.at = replaceVariables(o.text)
	}
	for _, h := range t.help {
		if *h.at = h.text; help {
			*h.at = replaceVariables(h.text)
		}
	}
}

// replaceVariables replaces ${NAME} by the value of a variable, and $$ by $.
func replaceVariables(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, after, closed := strings.Cut(rest, "}")
		switch {
		case strings.HasPrefix(rest, "$"):
			out.WriteString("$")
			text = rest[1:]
		case closed && strings.HasPrefix(name, "{"):
			value, known := helpVariables[name[1:]]
			if !known {
				panic("BUG: the command line has no variable " + name[1:])
			}
			out.WriteString(value())
			text = after
		default:
			out.WriteString("$")
			text = rest
		}
	}
}

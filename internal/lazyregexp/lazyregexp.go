// Package lazyregexp has regular expressions that are compiled when they are first used. jalon has about a hundred of
// them as variables of packages, most for messages; a start that uses none of them does not pay for them.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// A Regexp is a regular expression that is not compiled yet. Its methods are those of regexp.Regexp.
type Regexp struct {
	compiled func() *regexp.Regexp
}

// New returns the regular expression of a text in the syntax of package regexp. A text that is none is a bug: it panics
// at the first use, and in the tests of any package that has it, at once.
func New(text string) *Regexp {
	r := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
	if strings.HasSuffix(os.Args[0], ".test") {
		r.compiled()
	}
	return r
}

func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

func (r *Regexp) FindString(s string) string { return r.compiled().FindString(s) }

func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

func (r *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringIndex(s, n)
}

func (r *Regexp) ReplaceAllString(s, with string) string {
	return r.compiled().ReplaceAllString(s, with)
}

func (r *Regexp) ReplaceAllStringFunc(s string, with func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(s, with)
}

func (r *Regexp) ReplaceAll(b, with []byte) []byte { return r.compiled().ReplaceAll(b, with) }

func (r *Regexp) Split(s string, n int) []string { return r.compiled().Split(s, n) }

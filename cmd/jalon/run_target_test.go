package main

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // nil for an error
	}{
		{"a", []string{"a"}},
		{"  a\tb\n c ", []string{"a", "b", "c"}},
		{`sh -c 'echo "x y" $z'`, []string{"sh", "-c", `echo "x y" $z`}},
		{`a "b c"'d' e\ f`, []string{"a", "b cd", "e f"}},
		{`"a\"b\\c\d" '' ""`, []string{`a"b\c\d`, "", ""}},
		{``, []string{}},
		{`'a`, nil},
		{`a"`, nil},
		{`a\`, nil},
	} {
		got, err := splitWords(c.text)
		if (err == nil) != (c.want != nil) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v", c.text, got, err)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`sh -c 'echo "x y"' a\ b`)
	f.Fuzz(func(t *testing.T, s string) {
		words, err := splitWords(s)
		if err != nil {
			return
		}
		// Quoted words give themselves.
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, "'"+strings.ReplaceAll(w, "'", `'\''`)+"'")
		}
		if again, err := splitWords(strings.Join(quoted, " ")); err != nil || !slices.Equal(words, again) {
			t.Errorf("%q: %q, then %q, %v", s, words, again, err)
		}
	})
}

func TestTarget(t *testing.T) {
	for _, c := range []struct {
		cmd    runCmd
		argv   []string
		params []string
		named  int
		err    string
	}{
		{cmd: runCmd{after: []string{"--a=1", "--b", "prog", "--c", "d"}}, argv: []string{"prog", "--c", "d"}, named: 2},
		{cmd: runCmd{Cmd: "prog 'a b'", after: []string{"--a=1", "p"}}, argv: []string{"prog", "a b"}, params: []string{"p"}, named: 1},
		{cmd: runCmd{Cmd: "prog", Pid: "1"}, err: "not both"},
		{cmd: runCmd{after: []string{"prog"}, Pid: "1"}, err: "not both"},
		{cmd: runCmd{Pid: "1a"}, err: "not the number"},
		{cmd: runCmd{Pid: "-1"}, err: "not the number"},
		{cmd: runCmd{Pid: "0"}, err: "not between"},
		{cmd: runCmd{Pid: "5000000"}, err: "not between"},
		{cmd: runCmd{Pid: "99999999999999999999"}, err: "not between"},
		{cmd: runCmd{Cmd: " "}, err: "name a program"},
		{cmd: runCmd{Cmd: "'a"}, err: "not closed"},
	} {
		got, err := c.cmd.target()
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v", c.cmd, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got.argv, c.argv) || !slices.Equal(got.params, c.params) || len(got.named) != c.named {
			t.Errorf("%+v: %+v, %v", c.cmd, got, err)
		}
	}
}

package ir

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Limits for Parse, so that a short text cannot require much memory.
const (
	maxParseValue = 1 << 20
	maxParseBlock = 1 << 20
)

// Parse reads the text form (see String). The program is not checked: call
// Check. Errors name the line.
func Parse(text string) (*Program, error) {
	ps := &parser{p: &Program{}}
	for n, line := range strings.Split(text, "\n") {
		ps.line = line
		if err := ps.parseLine(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	if ps.open {
		return nil, fmt.Errorf("block b%d has no end", len(ps.p.Blocks)-1)
	}
	return ps.p, nil
}

// parser holds the rest of the present line.
type parser struct {
	p    *Program
	line string
	open bool // the last block has no terminator yet
}

func (ps *parser) parseLine() error {
	ps.space()
	if ps.end() {
		return nil
	}
	switch word := ps.peekWord(); {
	case word == "program":
		ps.word()
		return ps.name()
	case word == "map":
		ps.word()
		return ps.declareMap()
	case isLabel(word):
		return ps.label()
	case !ps.open:
		return errors.New("an instruction outside of a block")
	case word == "exit" || word == "jump" || word == "brif":
		ps.open = false
		t, err := ps.term()
		ps.block().Term = t
		return ps.finish(err)
	}
	i, err := ps.instr()
	if err := ps.finish(err); err != nil {
		return err
	}
	b := ps.block()
	b.Instrs = append(b.Instrs, i)
	return nil
}

func isLabel(word string) bool {
	return len(word) > 1 && word[0] == 'b' && word[1] >= '0' && word[1] <= '9'
}

func (ps *parser) block() *Block { return ps.p.Blocks[len(ps.p.Blocks)-1] }

func (ps *parser) name() error {
	s, err := ps.quoted()
	if err == nil && (ps.p.Name != "" || len(ps.p.Blocks) > 0) {
		err = errors.New("a second name")
	}
	ps.p.Name = s
	return ps.finish(err)
}

// declareMap reads "0 words 2 slots 1024 "name"".
func (ps *parser) declareMap() error {
	var m Map
	for _, f := range []struct {
		word string
		to   *int
	}{{"", nil}, {"words", &m.Words}, {"slots", &m.Slots}} {
		if f.word != "" && ps.word() != f.word {
			return ps.want(f.word)
		}
		n, err := ps.number()
		switch {
		case err != nil:
			return err
		case f.to != nil && int64(int32(n)) == n:
			*f.to = int(n)
		case f.to != nil || n != int64(len(ps.p.Maps)) || n >= MaxMaps || len(ps.p.Blocks) > 0:
			return fmt.Errorf("%d is no number of a map here", n)
		}
	}
	if err := ps.traits(&m); err != nil {
		return err
	}
	name, err := ps.quoted()
	m.Name = name
	ps.p.Maps = append(ps.p.Maps, m)
	return ps.finish(err)
}

// traits reads the words of Map.traits.
func (ps *parser) traits(m *Map) error {
	for ps.peekWord() != "" {
		word := ps.word()
		if word == "more" {
			n, err := ps.number()
			if err != nil || n < 0 || n > MaxKeyWords {
				return fmt.Errorf("%d words of a key", n)
			}
			m.More = int(n)
			continue
		}
		if word == "limit" {
			n, err := ps.number()
			if err != nil || n < 1 || n > MaxMapSlots {
				return fmt.Errorf("a limit of %d keys", n)
			}
			m.Limit = int(n)
			continue
		}
		at := slices.Index(mapFlags[:], word)
		if at < 0 {
			return ps.want("the name of the map")
		}
		*m.flags()[at] = true
	}
	return nil
}

// label reads "b3(v1, v2:f64): ; note".
func (ps *parser) label() error {
	id, err := ps.blockID()
	if err != nil {
		return err
	}
	switch {
	case ps.open:
		return fmt.Errorf("block b%d begins before the one above has ended", id)
	case int(id) != len(ps.p.Blocks):
		return fmt.Errorf("found block b%d, expected b%d", id, len(ps.p.Blocks))
	}
	b := &Block{}
	if ps.accept("(") {
		for first := true; !ps.accept(")"); first = false {
			if !first && !ps.accept(",") {
				return ps.want("',' or ')'")
			}
			v, err := ps.define()
			if err != nil {
				return err
			}
			b.Params = append(b.Params, v)
		}
	}
	if !ps.accept(":") {
		return ps.want("':'")
	}
	if ps.accept(";") {
		if b.Note, err = parseNote(strings.TrimSpace(ps.line)); err != nil {
			return err
		}
		ps.line = ""
	}
	ps.p.Blocks = append(ps.p.Blocks, b)
	ps.open = true
	return ps.finish(nil)
}

func parseNote(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	note, err := strconv.Unquote(s)
	if err != nil {
		return "", fmt.Errorf("the note %s is not quoted well", s)
	}
	return note, nil
}

func (ps *parser) term() (Term, error) {
	t := Term{Cond: None, Then: Edge{To: NoBlock}, Else: Edge{To: NoBlock}}
	var err error
	switch ps.word() {
	case "exit":
		return t, nil
	case "jump":
		t.Kind = Jump
		t.Then, err = ps.edge()
		return t, err
	}
	t.Kind = Branch
	if ps.peekWord() == "unlikely" {
		ps.word()
		t.Unlikely = true
	}
	if t.Cond, err = ps.value(); err != nil {
		return t, err
	}
	if !ps.accept("->") {
		return t, ps.want("'->'")
	}
	if t.Then, err = ps.edge(); err != nil {
		return t, err
	}
	if ps.word() != "else" {
		return t, ps.want("'else'")
	}
	t.Else, err = ps.edge()
	return t, err
}

func (ps *parser) edge() (Edge, error) {
	to, err := ps.blockID()
	e := Edge{To: to}
	if err != nil || !ps.accept("(") {
		return e, err
	}
	for first := true; !ps.accept(")"); first = false {
		if !first && !ps.accept(",") {
			return e, ps.want("',' or ')'")
		}
		v, err := ps.value()
		if err != nil {
			return e, err
		}
		e.Args = append(e.Args, v)
	}
	return e, nil
}

var opsByName = func() map[string]Op {
	m := map[string]Op{}
	for op := range Ops {
		if name := Ops[op].Name; name != "" {
			m[name] = Op(op)
		}
	}
	return m
}()

func (ps *parser) instr() (Instr, error) {
	i := Instr{Dst: None, A: None, B: None, Fault: NoBlock}
	word := ps.peekWord()
	if isValue(word) {
		v, err := ps.define()
		if err != nil {
			return i, err
		}
		if !ps.accept("=") {
			return i, ps.want("'='")
		}
		i.Dst = v
	}
	word = ps.word()
	name, width, dotted := strings.Cut(word, ".")
	op, ok := opsByName[name]
	if !ok {
		return i, fmt.Errorf("unknown operation %q", name)
	}
	i.Op = op
	if dotted {
		width, i.Signed = strings.CutSuffix(width, "s")
		w, err := strconv.ParseUint(width, 10, 8)
		if err != nil || w == 0 {
			return i, fmt.Errorf("bad width in %q", word)
		}
		i.W = uint8(w)
	}
	for n, f := range op.Info().form {
		if n > 0 && !ps.accept(",") {
			return i, ps.want("','")
		}
		if err := ps.field(&i, f); err != nil {
			return i, err
		}
	}
	if ps.peekWord() == "fault" {
		ps.word()
		var err error
		i.Fault, err = ps.blockID()
		return i, err
	}
	return i, nil
}

// field reads one field of the operation's form.
func (ps *parser) field(i *Instr, f rune) (err error) {
	switch f {
	case 'a':
		i.A, err = ps.value()
	case 'b':
		i.B, err = ps.value()
	case 'i':
		i.Imm, err = ps.number()
	case 'x':
		var u uint64
		word := ps.word()
		if u, err = strconv.ParseUint(word, 0, 64); err != nil {
			err = fmt.Errorf("bad bits %q", word)
		}
		i.Imm = int64(u)
	case 'p':
		if i.A, err = ps.value(); err == nil && ps.peekSign() {
			i.Imm, err = ps.number()
		}
	case 'r':
		word := ps.word()
		n, ok := regNumbers[word]
		if !ok {
			err = fmt.Errorf("unknown register %q", word)
		}
		i.Imm = n
	case 'e':
		word := ps.word()
		n := slices.Index(envNames[:], word)
		if n < 0 {
			err = fmt.Errorf("unknown word of the environment %q", word)
		}
		i.Imm = int64(n)
	case 'm':
		i.Imm, err = ps.wide()
	case 'X':
		i.Aux, err = ps.wide()
	case '@':
		if !ps.accept("@") {
			return ps.want("'@'")
		}
		i.Imm, err = ps.number()
	case 'n':
		i.Aux, err = ps.number()
	case 's':
		i.Data, err = ps.quoted()
	}
	return err
}

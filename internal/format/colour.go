package format

// style is the beginning of text in a colour, as terminals understand it (ECMA-48, SGR).
type style string

const (
	plain style = "\x1b[0m"
	bold  style = "\x1b[1m"
	dim   style = "\x1b[2m"
	cyan  style = "\x1b[36m"
)

// painter colours parts of a line when the line is complete, because a line is made safe for terminals as a whole, which
// would also remove the colours. A line that had to be changed for that stays without.
type painter struct {
	on    bool
	start int // of the line in the buffer
	marks []mark
	line  []byte
}

type mark struct {
	from, to int
	style    style
}

func (p *painter) begin(on bool, start int) {
	p.on, p.start, p.marks = on, start, p.marks[:0]
}

// mark gives a part of the buffer a style. Marks are in order and do not overlap.
func (p *painter) mark(from, to int, s style) {
	if p.on && from < to {
		p.marks = append(p.marks, mark{from, to, s})
	}
}

// paint colours the line at the end of b.
func (p *painter) paint(b []byte) []byte {
	if len(p.marks) == 0 || len(b) < p.marks[len(p.marks)-1].to || hasEscapes(b[p.start:]) {
		return b
	}
	p.line = append(p.line[:0], b[p.start:]...)
	out, at := b[:p.start], p.start
	for _, m := range p.marks {
		out = append(out, p.line[at-p.start:m.from-p.start]...)
		out = append(out, m.style...)
		out = append(out, p.line[m.from-p.start:m.to-p.start]...)
		out = append(out, plain...)
		at = m.to
	}
	return append(out, p.line[at-p.start:]...)
}

// hasEscapes reports whether a line has \x or \u, with which characters were replaced: the marks may be off then.
func hasEscapes(line []byte) bool {
	for i := 1; i < len(line); i++ {
		if line[i-1] == '\\' && (line[i] == 'x' || line[i] == 'u') {
			return true
		}
	}
	return false
}

package kallsyms

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// ErrRestricted means that the kernel hides the addresses of its symbols.
var ErrRestricted = errors.New("the kernel hides the addresses of its symbols; " +
	"run as root (or with CAP_SYSLOG), and with sysctl kernel.kptr_restrict at 0 or 1")

// Open reads the running kernel's table. If it has no addresses, the error wraps ErrRestricted.
func Open() (*Table, error) {
	const file = "/proc/kallsyms"
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the kernel's symbols: %w (the kernel needs CONFIG_KALLSYMS, and /proc must be mounted)", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read the kernel's symbols: %w", err)
	}
	defer f.Close()
	t, err := Parse(f)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return t, nil
}

// maxNames limits the table. The names of a kernel take about 3 to 8 MB.
const maxNames = 256 << 20

// The usual numbers for a distribution's kernel. Unused capacity costs nothing.
const (
	usual      = 256 << 10
	usualNames = 8 << 20
)

// Parse reads a table: lines "address type name" or "address type name [module]", separated by blanks and tabs.
// If all addresses are zero, the error is ErrRestricted.
func Parse(r io.Reader) (*Table, error) {
	p := parser{t: &Table{modules: []string{""}}}
	p.names.Grow(usualNames)
	p.t.ends, p.t.addrs = make([]uint32, 0, usual), make([]uint64, 0, usual)
	p.t.types, p.t.module = make([]byte, 0, usual), make([]uint16, 0, usual)
	done := make(chan struct{})
	defer close(done)
	n := 1
	for part := range parts(r, done) {
		for text := part.text; len(text) > 0; n++ {
			line, rest := text, []byte(nil)
			if i := bytes.IndexByte(text, '\n'); i >= 0 {
				line, rest = text[:i], text[i+1:]
			}
			if err := p.line(line); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			text = rest
		}
		if part.err != nil {
			return nil, fmt.Errorf("line %d: %w", n, part.err)
		}
	}
	if p.t.Len() > 0 && !p.nonzero {
		return nil, ErrRestricted
	}
	return p.finish(), nil
}

// part is a part of a table: whole lines, and the error behind them.
type part struct {
	text []byte
	err  error
}

// partSize is the size of a part, and limits a line.
const partSize = 64 << 10

// parts reads a table on a goroutine, which ends when done is closed: the kernel takes as long to write a table as we to parse it.
func parts(r io.Reader, done chan struct{}) <-chan part {
	out := make(chan part, 1)
	send := func(p part) bool {
		select {
		case out <- p:
			return true
		case <-done:
			return false
		}
	}
	go func() {
		defer close(out)
		var buffers [4][partSize]byte // one is parsed, one waits, one is sent, one gets the rest of the line
		used := 0
		for i := 0; ; i = (i + 1) % len(buffers) {
			buf := buffers[i][:]
			n, err := io.ReadFull(r, buf[used:])
			text := buf[:used+n]
			if err != nil {
				if err == io.EOF || err == io.ErrUnexpectedEOF {
					err = nil
				}
				send(part{text, err})
				return
			}
			whole := bytes.LastIndexByte(text, '\n') + 1
			if whole == 0 {
				send(part{nil, errLine})
				return
			}
			used = copy(buffers[(i+1)%len(buffers)][:], text[whole:])
			if !send(part{text[:whole], nil}) {
				return
			}
		}
	}()
	return out
}

type parser struct {
	t       *Table
	names   strings.Builder
	byName  map[string]uint16 // modules
	nonzero bool
}

var errLine = errors.New("not a line of a kernel symbol table (address type name [module])")

func (p *parser) line(b []byte) error {
	addr, n := hex(b)
	if n == 0 || n+3 > len(b) || !blank(b[n]) || !blank(b[n+2]) || blank(b[n+1]) || b[n+1] == '\n' {
		return errLine
	}
	kind := b[n+1]
	b = b[n+3:]
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	name, module := b, []byte(nil)
	if i := slices.IndexFunc(b, blank); i >= 0 {
		name, module = b[:i], bytes.TrimLeft(b[i:], " \t")
		if len(module) < 3 || module[0] != '[' || module[len(module)-1] != ']' {
			return errLine
		}
		module = module[1 : len(module)-1]
	}
	if len(name) == 0 {
		return errLine
	}
	m, err := p.module(module)
	if err != nil {
		return err
	}
	if p.names.Len()+len(name) > maxNames {
		return errors.New("the table is larger than a kernel's")
	}
	p.names.Write(name)
	t := p.t
	t.ends = append(t.ends, uint32(p.names.Len()))
	t.addrs = append(t.addrs, addr)
	t.types = append(t.types, kind)
	t.module = append(t.module, m)
	p.nonzero = p.nonzero || addr != 0
	return nil
}

func (p *parser) module(name []byte) (uint16, error) {
	if len(name) == 0 {
		return 0, nil
	}
	if m, ok := p.byName[string(name)]; ok {
		return m, nil
	}
	n := len(p.t.modules)
	if n > math.MaxUint16 {
		return 0, errors.New("more modules than a kernel has")
	}
	if p.byName == nil {
		p.byName = map[string]uint16{}
	}
	p.byName[string(name)] = uint16(n)
	p.t.modules = append(p.t.modules, string(name))
	return uint16(n), nil
}

// finish makes the order of addresses.
func (p *parser) finish() *Table {
	t := p.t
	t.names = p.names.String()
	if !slices.IsSorted(t.addrs) {
		t.order = make([]uint32, len(t.addrs))
		for i := range t.order {
			t.order[i] = uint32(i)
		}
		slices.SortStableFunc(t.order, func(a, b uint32) int {
			switch x, y := t.addrs[a], t.addrs[b]; {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return 0
		})
	}
	return t
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// hex reads up to 16 hexadecimal digits and returns their number, or 0 if there are more than 16.
func hex(b []byte) (v uint64, n int) {
	for n < len(b) {
		d := b[n]
		switch {
		case d >= '0' && d <= '9':
			d -= '0'
		case d >= 'a' && d <= 'f':
			d -= 'a' - 10
		case d >= 'A' && d <= 'F':
			d -= 'A' - 10
		default:
			return v, n
		}
		if n == 16 {
			return 0, 0
		}
		v = v<<4 | uint64(d)
		n++
	}
	return v, n
}

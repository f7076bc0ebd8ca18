package agentexpr

import (
	"encoding/binary"

	"github.com/jalon-trace/jalon/internal/arch/amd64"
	"github.com/jalon-trace/jalon/internal/ir"
)

// Layout says what is where in the record of a site. Offsets count from the
// record's start, its header included. All bytes that no instruction writes are
// zero.
type Layout struct {
	RecordSize int
	// ShortSize is that of records that end before what was not in use at the hit; 0:
	// all have RecordSize.
	ShortSize int
	Regs      []RegSlot
	Blocks    []BlockSlot
	// Missing are registers of R actions that cannot be read at a site, or that are
	// not among Registers (those of AVX-512, ...).
	Missing []int
	// fails has, for each action, the offset of its failure words; 0: it cannot fail.
	//
	//	+0 u32 offset of the instruction + 1, u32 kind; zero: none
	//	+8 u64 address
	fails []int
}

// RegSlot is a collected register. Offset is that of its bytes; of a register of the
// x87 that of the whole state.
type RegSlot struct {
	Num, Offset, Size int
	// Present is, of a register of the x87, where the byte is that is 1 when the state is
	// in the record; 0: it is there when Offset is in the record. If it is not there then
	// it is the initial one, as upper halves of ymm registers are that are not.
	Present int
	// Fixed is what the register always has at the site, where that is known: it is
	// not in the record.
	Fixed []byte
}

// value gives the register's bytes out of a record; it may use buf.
func (s *RegSlot) value(rec []byte, buf *[wordSize]byte) []byte {
	if s.Fixed != nil {
		return s.Fixed
	}
	there := s.Offset < len(rec)
	if Registers[s.Num].kind == regX87 {
		if !there || s.Present != 0 && rec[s.Present] != 1 {
			return x87Register(s.Num, initialX87[:], buf)
		}
		return x87Register(s.Num, rec[s.Offset:s.Offset+amd64.X87Bytes], buf)
	}
	if !there {
		return initialHalf[:s.Size]
	}
	return rec[s.Offset : s.Offset+s.Size]
}

// BlockSlot is a thing that may be collected.
type BlockSlot struct {
	Kind       BlockKind
	Action, PC int
	// Certain blocks are there unless their action failed at PC or before; the
	// others when the byte at Present is 1.
	Certain bool
	Present int
	Addr    address
	// Offset and Size are of the bytes; Counted: as u32 length, u32 flags, bytes.
	Offset, Size int
	Counted      bool
	// Text: a string whose NUL is not in the record.
	Text   bool
	Var    int
	Now    bool
	Format string
	Args   []argSlot
}

// address is an address that the reader knows when it has the record: that of a
// constant, or counted from a word in the record.
type address struct {
	word int // offset of the word; 0: none
	off  int64
}

// argSlot is an argument of printf.
type argSlot struct {
	offset int
	// str is the offset of its string, Counted, when present is 1.
	str, present, size int
}

const failSize = 16

// Whole cuts off what lies behind the record in rec. A record of a size that the layout
// has not is not this layout's: the result is then nil.
func (l *Layout) Whole(rec []byte) []byte {
	switch {
	case len(rec) >= l.RecordSize:
		return rec[:l.RecordSize]
	case l.ShortSize != 0 && len(rec) == l.ShortSize:
		return rec
	}
	return nil
}

// Frame rebuilds what a record holds; nil: it is not this layout's.
func (l *Layout) Frame(rec []byte) *Frame {
	if rec = l.Whole(rec); rec == nil {
		return nil
	}
	d := decoder{l, rec}
	f := &Frame{}
	var buf [wordSize]byte
	for i := range l.Regs {
		r := &l.Regs[i]
		f.Regs = append(f.Regs, RegValue{r.Num, append([]byte(nil), r.value(rec, &buf)...)})
	}
	for k := range l.fails {
		if x := d.failure(k); x.Kind != NoFail {
			f.Failures = append(f.Failures, x)
		}
	}
	for i := range l.Blocks {
		if s := &l.Blocks[i]; d.present(s) {
			f.Blocks = append(f.Blocks, d.block(s))
		}
	}
	return f
}

type decoder struct {
	l   *Layout
	rec []byte
}

func (d *decoder) u32(at int) uint32 { return binary.LittleEndian.Uint32(d.rec[at:]) }
func (d *decoder) u64(at int) uint64 { return binary.LittleEndian.Uint64(d.rec[at:]) }

func (d *decoder) failure(action int) Failure {
	at := d.l.fails[action]
	if at == 0 {
		return Failure{}
	}
	f := Failure{Action: action, PC: int(d.u32(at)) - 1, Kind: Fail(d.u32(at + 4))}
	if f.Kind == BadMemory {
		f.Addr = d.u64(at + 8)
	}
	return f
}

func (d *decoder) present(s *BlockSlot) bool {
	if !s.Certain {
		return d.rec[s.Present] == 1
	}
	f := d.failure(s.Action)
	return f.Kind == NoFail || s.PC < f.PC
}

func (d *decoder) block(s *BlockSlot) Block {
	b := Block{Kind: s.Kind, Action: s.Action, PC: s.PC, Var: s.Var, Now: s.Now}
	switch s.Kind {
	case MemoryBlock, StaticBlock:
		b.Addr = uint64(s.Addr.off)
		if s.Addr.word != 0 {
			b.Addr += d.u64(s.Addr.word)
		}
		d.bytes(s, &b)
	case VarBlock, ValueBlock:
		if !s.Now {
			b.Value = d.u64(s.Offset)
		}
	case PrintBlock:
		b.Printed = d.printed(s)
	}
	return b
}

func (d *decoder) bytes(s *BlockSlot, b *Block) {
	if !s.Counted {
		b.Data = append([]byte(nil), d.rec[s.Offset:s.Offset+s.Size]...)
		return
	}
	data, flags := d.counted(s.Offset, s.Size)
	b.Data = append([]byte(nil), data...)
	if !s.Text {
		b.Truncated = flags&ir.FlagTruncated != 0
		return
	}
	b.Cut = flags&ir.FlagUnreadable != 0
	if flags == 0 {
		b.Data = append(b.Data, 0)
	}
}

// counted reads a Counted slot of size bytes. The traced program can write the
// length, so it is checked.
func (d *decoder) counted(at, size int) ([]byte, uint32) {
	n := min(int64(d.u32(at)), int64(size))
	from := at + ir.CountedHeader
	return d.rec[from : from+int(n)], d.u32(at + 4)
}

func (d *decoder) printed(s *BlockSlot) *Printed {
	p := &Printed{Format: s.Format, Strings: map[int]string{}}
	for n, a := range s.Args {
		p.Args = append(p.Args, d.u64(a.offset))
		if a.str != 0 && d.rec[a.present] == 1 {
			text, _ := d.counted(a.str, a.size)
			p.Strings[n] = string(text)
		}
	}
	return p
}

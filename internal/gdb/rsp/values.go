package rsp

import "fmt"

// element is a value with a syntax of its own; the others are numbers and flags.
type element interface {
	scan(*scanner)
	print([]byte) []byte
}

// Bytes are sent as pairs of hexadecimal digits.
type Bytes []byte

func (v *Bytes) scan(s *scanner)         { *v = s.hexBytes() }
func (v *Bytes) print(dst []byte) []byte { return appendHex(dst, *v) }

// Text is a string sent as pairs of hexadecimal digits, so that it may hold any byte.
type Text string

func (v *Text) scan(s *scanner)         { *v = Text(s.hexBytes()) }
func (v *Text) print(dst []byte) []byte { return appendHex(dst, []byte(*v)) }

// Raw is binary data up to the end of the packet (frames escape what they must).
type Raw []byte

func (v *Raw) scan(s *scanner)         { *v = s.all() }
func (v *Raw) print(dst []byte) []byte { return append(dst, *v...) }

// Word is plain text without the separators of its packet.
type Word string

func (v *Word) scan(s *scanner)         { *v = Word(s.until(s.stop)) }
func (v *Word) print(dst []byte) []byte { return append(dst, *v...) }

// Octet is a number of exactly two digits: signals and error numbers.
type Octet uint8

func (v *Octet) scan(s *scanner) {
	if b := s.hexN(1); b != nil {
		*v = Octet(b[0])
	}
}
func (v *Octet) print(dst []byte) []byte { return appendHex(dst, []byte{byte(*v)}) }

// Status is the end of a process: of two digits by the manual, of one or more from
// gdbserver.
type Status uint8

func (v *Status) scan(s *scanner) {
	n := s.number()
	if n > 255 {
		s.fail("an exit status or signal of at most 255")
	}
	*v = Status(n)
}
func (v *Status) print(dst []byte) []byte { return appendHex(dst, []byte{byte(*v)}) }

// Expr is agent expression bytecode: its length, a comma, its bytes in hexadecimal.
type Expr []byte

func (v *Expr) scan(s *scanner) {
	n := s.number()
	s.expect(",")
	if n > uint64(len(s.in)) {
		s.fail("the bytes that the length announces")
		return
	}
	*v = append(Expr{}, s.hexN(int(n))...)
}

func (v *Expr) print(dst []byte) []byte {
	dst = append(appendNumber(dst, uint64(len(*v))), ',')
	return appendHex(dst, *v)
}

// AllThreads and AnyThread are the special values of both halves of a ThreadID.
const (
	AllThreads = -1
	AnyThread  = 0
)

// ThreadID names a thread, some threads or any: `TID`, and with the multiprocess
// extension `pPID.TID`. `pPID` alone means all its threads.
type ThreadID struct {
	PID, TID int64
	// Multi is the form with a process; without it PID is 0.
	Multi bool
}

func (v *ThreadID) scan(s *scanner) {
	*v = ThreadID{}
	if v.Multi = s.accept("p"); v.Multi {
		v.PID = s.taskNumber()
		if !s.accept(".") {
			v.TID = AllThreads
			return
		}
	}
	v.TID = s.taskNumber()
}

// taskNumber reads half a thread ID.
func (s *scanner) taskNumber() int64 {
	n := s.signed()
	if n < -1 || n > 1<<31-1 {
		s.fail("a process or thread number")
		return 0
	}
	return n
}

func (v *ThreadID) print(dst []byte) []byte {
	if v.Multi {
		dst = append(dst, 'p')
		dst = appendSigned(dst, v.PID)
		dst = append(dst, '.')
	}
	return appendSigned(dst, v.TID)
}

func (v ThreadID) String() string { return string(v.print(nil)) }

// Range is a pair of addresses.
type Range struct{ Start, End uint64 }

func (v *Range) scan(s *scanner) {
	v.Start = s.number()
	s.expect(",")
	v.End = s.number()
}

func (v *Range) print(dst []byte) []byte {
	dst = append(appendNumber(dst, v.Start), ',')
	return appendNumber(dst, v.End)
}

// Registers are the bytes of registers, of which some may be unavailable: those are
// sent as `xx`, as in a trace frame that did not collect them.
type Registers struct {
	Data []byte
	// Missing says which bytes are unavailable; nil means none. Otherwise it is as
	// long as Data, and Data is 0 where it is true.
	Missing []bool
}

func (v *Registers) scan(s *scanner) {
	r := s.rest()
	if len(r)%2 != 0 {
		s.fail("two digits for each byte")
		return
	}
	v.Data = make([]byte, 0, len(r)/2)
	for i := 0; i < len(r); i += 2 {
		if r[i] == 'x' && r[i+1] == 'x' {
			if v.Missing == nil {
				v.Missing = make([]bool, len(r)/2)
			}
			v.Missing[i/2] = true
			v.Data = append(v.Data, 0)
			s.pos += 2
			continue
		}
		b := s.hexN(1)
		if b == nil {
			return
		}
		v.Data = append(v.Data, b[0])
	}
}

func (v *Registers) print(dst []byte) []byte {
	if v.Missing != nil && len(v.Missing) != len(v.Data) {
		panic(fmt.Sprintf("BUG: %d marks for %d bytes of registers", len(v.Missing), len(v.Data)))
	}
	for i, c := range v.Data {
		if v.Missing != nil && v.Missing[i] {
			dst = append(dst, 'x', 'x')
		} else {
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

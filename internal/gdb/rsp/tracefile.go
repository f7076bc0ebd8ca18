package rsp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// A trace file, GDB's `target tfile`, is
//
//	0x7f "TRACE0\n"
//	R SIZE             bytes of a register block
//	tdesc LINE         a line of the target description
//	status STATUS      as in TraceStatus, without the T
//	tsv VARIABLE       an UploadedVariable
//	tp PIECE           an Uploaded... struct, for each piece of each tracepoint
//	(an empty line)
//	frames, and at the end a frame number 0
//
// and a frame is its tracepoint's number (2 bytes), the size of its blocks (4), and
// blocks: `R` and a register block; `M`, address (8), length (2), bytes; `V`, number
// (4), value (8). Numbers are in the target's byte order, here little-endian. The
// frames are what qTBuffer answers.
const traceFileMagic = "\x7fTRACE0\n"

// maxTraceLine is how long a definition may be: GDB 13 refuses 1000 bytes.
const maxTraceLine = 999

// TraceFile is a trace file without its frames.
type TraceFile struct {
	// RegisterSize is the length of R blocks. GDB takes 0 for a broken file.
	RegisterSize int
	Status       TraceStatus
	Variables    []UploadedVariable
	// Pieces are Uploaded... structs of tracepoints.
	Pieces []Packet
	Target []byte // the target description; nil: none
}

// BlockKind is the letter of a block of a trace frame.
type BlockKind byte

// The blocks of a frame.
const (
	BlockRegisters BlockKind = 'R'
	BlockMemory    BlockKind = 'M'
	BlockVariable  BlockKind = 'V'
)

// Block is something that was collected.
type Block struct {
	Kind   BlockKind
	Addr   uint64 // of memory
	Data   []byte // registers or memory
	Number uint32 // of a variable
	Value  int64
}

// TraceFrame is what one hit, or one step after it, collected.
type TraceFrame struct {
	Tracepoint uint16 // from 1
	Blocks     []Block
}

// Header is the file up to its frames. Definitions that GDB would not take are
// errors: sources too long have to be cut into several pieces (SplitSource), other
// pieces cannot.
func (f *TraceFile) Header() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(traceFileMagic)
	fmt.Fprintf(&out, "R %x\n", f.RegisterSize)
	var failed error
	line := func(kind string, text []byte) {
		if len(kind)+1+len(text) > maxTraceLine {
			failed = errors.Join(failed, fmt.Errorf("trace file: a %s line of %d bytes; GDB reads at most %d", kind, len(kind)+1+len(text), maxTraceLine))
			return
		}
		fmt.Fprintf(&out, "%s %s\n", kind, text)
	}
	if f.Target != nil {
		for _, l := range bytes.Split(bytes.TrimSuffix(f.Target, []byte("\n")), []byte("\n")) {
			line("tdesc", l)
		}
	}
	line("status", Encode(f.Status)[1:])
	for _, v := range f.Variables {
		line("tsv", Encode(v))
	}
	for _, p := range f.Pieces {
		line("tp", Encode(p))
	}
	out.WriteByte('\n')
	return out.Bytes(), failed
}

// TraceFileEnd is what follows the last frame, as GDB writes it.
var TraceFileEnd = []byte{0, 0, 0, 0}

// AppendFrame appends a frame. Memory of more than 65535 bytes becomes several
// blocks.
func AppendFrame(dst []byte, f TraceFrame) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, f.Tracepoint)
	size := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	for _, b := range f.Blocks {
		dst = appendBlock(dst, b)
	}
	binary.LittleEndian.PutUint32(dst[size:], uint32(len(dst)-size-4))
	return dst
}

func appendBlock(dst []byte, b Block) []byte {
	le := binary.LittleEndian
	switch b.Kind {
	case BlockRegisters:
		return append(append(dst, 'R'), b.Data...)
	case BlockVariable:
		dst = le.AppendUint32(append(dst, 'V'), b.Number)
		return le.AppendUint64(dst, uint64(b.Value))
	case BlockMemory:
		for addr, data := b.Addr, b.Data; len(data) > 0; {
			n := min(len(data), 1<<16-1)
			dst = le.AppendUint64(append(dst, 'M'), addr)
			dst = le.AppendUint16(dst, uint16(n))
			dst = append(dst, data[:n]...)
			addr, data = addr+uint64(n), data[n:]
		}
		return dst
	}
	panic(fmt.Sprintf("BUG: a trace block of kind %q", b.Kind))
}

// SplitSource cuts a source text into pieces of at most size bytes.
func SplitSource(s UploadedSource, size int) []UploadedSource {
	var out []UploadedSource
	s.Length = uint64(len(s.Text))
	for text := s.Text; ; {
		n := min(size, len(text))
		piece := s
		piece.Start, piece.Text = uint64(len(s.Text)-len(text)), text[:n]
		out = append(out, piece)
		if text = text[n:]; text == "" {
			return out
		}
	}
}

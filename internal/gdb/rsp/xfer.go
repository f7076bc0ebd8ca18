package rsp

// Objects that GDB reads in pieces.
type (
	// XferRead `qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH`. Objects: features (annex
	// target.xml), threads, libraries, libraries-svr4, memory-map, traceframe-info,
	// auxv, exec-file (annex: process), sdata, siginfo, osdata and others.
	XferRead struct {
		Object, Annex  Word
		Offset, Length uint64
	}
	// XferData answers it. Last is `l`: nothing follows.
	XferData struct {
		Last bool
		Data Raw
	}
	// XferWrite `qXfer:OBJECT:write:ANNEX:OFFSET:DATA`, answered by Written.
	XferWrite struct {
		Object, Annex Word
		Offset        uint64
		Data          Raw
	}
	Written struct{ Length uint64 }
)

func (XferRead) Layout() string  { return "qXfer:{Object}:read:{Annex}:{Offset},{Length}" }
func (XferData) Layout() string  { return "{Last?l|m}{Data}" }
func (XferWrite) Layout() string { return "qXfer:{Object}:write:{Annex}:{Offset}:{Data}" }
func (Written) Layout() string   { return "{Length}" }

var xferRules = []rule{
	{XferRead{}, []Packet{XferData{}}},
	{XferWrite{}, []Packet{Written{}}},
}

// Chunk is the answer to a read of length bytes at offset of a document, no longer
// than packetSize with its escapes. An offset at or behind the end gives the empty
// last piece.
func Chunk(document []byte, offset, length uint64, packetSize int) XferData {
	if offset >= uint64(len(document)) {
		return XferData{Last: true, Data: Raw{}}
	}
	rest := document[offset:]
	n, size := 0, 1 // the letter in front
	for n < len(rest) && uint64(n) < length {
		size++
		if mustEscape(rest[n]) {
			size++
		}
		if size > packetSize {
			break
		}
		n++
	}
	return XferData{Last: n == len(rest), Data: append(Raw{}, rest[:n]...)}
}

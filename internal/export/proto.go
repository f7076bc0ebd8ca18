package export

import (
	"encoding/binary"
	"math"
)

// The encoding of Protocol Buffers: each field is its number and wire type, then its value.
const (
	wireVarint = 0
	wireFixed  = 1
	wireBytes  = 2
)

// message is an encoded message that grows.
type message []byte

func (m *message) tag(field, wire uint64) { *m = binary.AppendUvarint(*m, field<<3|wire) }

func (m *message) uint(field, v uint64) {
	m.tag(field, wireVarint)
	*m = binary.AppendUvarint(*m, v)
}

func (m *message) double(field uint64, v float64) {
	m.tag(field, wireFixed)
	*m = binary.LittleEndian.AppendUint64(*m, math.Float64bits(v))
}

func (m *message) text(field uint64, s string) {
	m.tag(field, wireBytes)
	*m = binary.AppendUvarint(*m, uint64(len(s)))
	*m = append(*m, s...)
}

func (m *message) bytes(field uint64, b []byte) {
	m.tag(field, wireBytes)
	*m = binary.AppendUvarint(*m, uint64(len(b)))
	*m = append(*m, b...)
}

// packed adds a list of numbers.
func (m *message) packed(field uint64, list []uint64) {
	n := 0
	for _, v := range list {
		n += varintLen(v)
	}
	m.tag(field, wireBytes)
	*m = binary.AppendUvarint(*m, uint64(n))
	for _, v := range list {
		*m = binary.AppendUvarint(*m, v)
	}
}

func varintLen(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

package export

import "encoding/binary"

// The compact protocol of Thrift, in which Parquet's descriptions are encoded: a field is the difference of its number to the one before
// it and its type in one byte, then its value; integers are in zigzag form.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI32    = 5
	thriftI64    = 6
	thriftBinary = 8
	thriftList   = 9
	thriftStruct = 12
)

// thrift is an encoded struct that grows. Fields are added in ascending order of their numbers, which stay below 16 apart.
type thrift struct {
	b    []byte
	last []int // numbers of the last fields, of the structs that are open
}

func (t *thrift) field(number, kind int) {
	last := &t.last[len(t.last)-1]
	t.b = append(t.b, byte((number-*last)<<4|kind))
	*last = number
}

// begin begins a struct: the value of a field, or an element of a list.
func (t *thrift) begin() { t.last = append(t.last, 0) }

func (t *thrift) end() {
	t.b = append(t.b, 0)
	t.last = t.last[:len(t.last)-1]
}

func (t *thrift) structField(number int, fill func()) {
	t.field(number, thriftStruct)
	t.begin()
	fill()
	t.end()
}

func (t *thrift) i32(number, v int) {
	t.field(number, thriftI32)
	t.b = binary.AppendVarint(t.b, int64(v))
}

func (t *thrift) i64(number int, v int64) {
	t.field(number, thriftI64)
	t.b = binary.AppendVarint(t.b, v)
}

func (t *thrift) i8(number int, v byte) {
	t.field(number, thriftByte)
	t.b = append(t.b, v)
}

func (t *thrift) boolean(number int, v bool) {
	kind := thriftFalse
	if v {
		kind = thriftTrue
	}
	t.field(number, kind)
}

func (t *thrift) text(number int, s string) {
	t.field(number, thriftBinary)
	t.element(s)
}

// element adds a text of a list.
func (t *thrift) element(s string) {
	t.b = append(binary.AppendUvarint(t.b, uint64(len(s))), s...)
}

// list begins a list of n elements, which follow.
func (t *thrift) list(number, kind, n int) {
	t.field(number, thriftList)
	if n < 15 {
		t.b = append(t.b, byte(n<<4|kind))
		return
	}
	t.b = binary.AppendUvarint(append(t.b, byte(0xf0|kind)), uint64(n))
}

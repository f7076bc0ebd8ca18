package export

import (
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/jalon-trace/jalon/internal/format"
)

// A file of Parquet (github.com/apache/parquet-format): "PAR1", groups of rows with one page for each column, then the description of all
// of them, its size, and "PAR1". Values are plain; a page begins with which rows have a value, if not all must have one. Pages are
// compressed by zstd.
const (
	parquetMagic = "PAR1"

	physicalBool, physicalInt64, physicalDouble, physicalBytes = 0, 2, 5, 6

	plainEncoding, runEncoding = 0, 3
	codecZstd                  = 6
	convertedText              = 0
	convertedUint64            = 14
)

// column has the values of the rows of a group.
type column struct {
	name     string
	kind     format.SimpleKind
	optional bool

	data   []byte
	values int
	bits   byte   // of booleans that are no byte yet
	levels []byte // which rows have a value, in runs
	rows   int    // that levels has, with those of the last run
	run    int    // rows of the last run
	has    bool   // the rows of the last run have values
	least  int64  // of a required column of integers
	most   int64
}

// row begins a value of a row. Rows before it have none.
func (c *column) row(n int) {
	if c.optional {
		c.level(n-c.rows, false)
		c.level(1, true)
	}
	c.values++
}

// level adds rows with a value or without.
func (c *column) level(n int, has bool) {
	if n == 0 {
		return
	}
	if c.has != has {
		c.endRun()
		c.has = has
	}
	c.rows += n
	c.run += n
}

func (c *column) endRun() {
	if c.run == 0 {
		return
	}
	c.levels = binary.AppendUvarint(c.levels, uint64(c.run)<<1)
	value := byte(0)
	if c.has {
		value = 1
	}
	c.levels = append(c.levels, value)
	c.run = 0
}

// int adds the value of a row, also the bits of a floating number.
func (c *column) int(row int, v int64) {
	c.row(row)
	if c.values == 1 {
		c.least, c.most = v, v
	}
	c.least, c.most = min(c.least, v), max(c.most, v)
	c.data = binary.LittleEndian.AppendUint64(c.data, uint64(v))
}

func (c *column) text(row int, b []byte) {
	c.row(row)
	c.data = append(binary.LittleEndian.AppendUint32(c.data, uint32(len(b))), b...)
}

func (c *column) bool(row int, v bool) {
	at := c.values % 8
	c.row(row)
	if v {
		c.bits |= 1 << at
	}
	if at == 7 {
		c.data, c.bits = append(c.data, c.bits), 0
	}
}

// physical is the type of the values in the file.
func (c *column) physical() int {
	switch c.kind {
	case format.SimpleFloat:
		return physicalDouble
	case format.SimpleBool:
		return physicalBool
	case format.SimpleText:
		return physicalBytes
	}
	return physicalInt64
}

// parquetFile writes a file.
type parquetFile struct {
	w       io.Writer
	z       *zstd.Encoder
	columns []*column
	at      int64
	rows    int64
	groups  thriftGroups
	page    []byte
	packed  []byte
}

// thriftGroups are the descriptions of the groups.
type thriftGroups struct {
	thrift
	n int
}

func newParquet(w io.Writer, columns []*column) (*parquetFile, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return nil, err
	}
	p := &parquetFile{w: w, z: z, columns: columns}
	return p, p.write([]byte(parquetMagic))
}

func (p *parquetFile) write(b []byte) error {
	n, err := p.w.Write(b)
	p.at += int64(n)
	return err
}

// group writes the rows that the columns have.
func (p *parquetFile) group(rows int) error {
	if rows == 0 {
		return nil
	}
	p.groups.n++
	g := &p.groups.thrift
	g.begin()
	g.list(1, thriftStruct, len(p.columns))
	total := int64(0)
	for _, c := range p.columns {
		from := p.at
		size, err := p.chunk(c, rows)
		if err != nil {
			return err
		}
		total += size
		g.begin()
		g.i64(2, from)
		g.structField(3, func() { c.describe(g, rows, from, size, p.at-from) })
		g.end()
		c.reset()
	}
	g.i64(2, total)
	g.i64(3, int64(rows))
	g.end()
	p.rows += int64(rows)
	return nil
}

func (c *column) reset() {
	c.data, c.levels = c.data[:0], c.levels[:0]
	c.values, c.bits, c.rows, c.run, c.has = 0, 0, 0, 0, false
}

// describe writes the description of a column's page.
func (c *column) describe(t *thrift, rows int, from, size, packed int64) {
	t.i32(1, c.physical())
	t.list(2, thriftI32, 2)
	t.b = binary.AppendVarint(binary.AppendVarint(t.b, plainEncoding), runEncoding)
	t.list(3, thriftBinary, 1)
	t.element(c.name)
	t.i32(4, codecZstd)
	t.i64(5, int64(rows))
	t.i64(6, size)
	t.i64(7, packed)
	t.i64(9, from)
	t.structField(12, func() {
		t.i64(3, int64(rows-c.values))
		if c.physical() == physicalInt64 && !c.optional {
			t.text(5, string(binary.LittleEndian.AppendUint64(nil, uint64(c.most))))
			t.text(6, string(binary.LittleEndian.AppendUint64(nil, uint64(c.least))))
		}
	})
}

// chunk writes the page of a column, and returns its size before it was compressed.
func (p *parquetFile) chunk(c *column, rows int) (int64, error) {
	p.page = p.page[:0]
	if c.optional {
		c.level(rows-c.rows, false)
		c.endRun()
		p.page = append(binary.LittleEndian.AppendUint32(p.page, uint32(len(c.levels))), c.levels...)
	}
	if c.kind == format.SimpleBool && c.values%8 != 0 {
		c.data = append(c.data, c.bits)
	}
	p.page = append(p.page, c.data...)
	p.packed = p.z.EncodeAll(p.page, p.packed[:0])
	var t thrift
	t.begin()
	t.i32(1, 0) // a data page
	t.i32(2, len(p.page))
	t.i32(3, len(p.packed))
	t.structField(5, func() {
		t.i32(1, rows)
		t.i32(2, plainEncoding)
		t.i32(3, runEncoding)
		t.i32(4, runEncoding)
	})
	t.end()
	if err := p.write(t.b); err != nil {
		return 0, err
	}
	return int64(len(t.b) + len(p.page)), p.write(p.packed)
}

// end writes the description of the file.
func (p *parquetFile) end(notes [][2]string) error {
	var t thrift
	t.begin()
	t.i32(1, 2)
	t.list(2, thriftStruct, len(p.columns)+1)
	t.begin()
	t.text(4, "events")
	t.i32(5, len(p.columns))
	t.end()
	for _, c := range p.columns {
		c.declare(&t)
	}
	t.i64(3, p.rows)
	t.list(4, thriftStruct, p.groups.n)
	t.b = append(t.b, p.groups.b...)
	t.list(5, thriftStruct, len(notes))
	for _, n := range notes {
		t.begin()
		t.text(1, n[0])
		t.text(2, utf8Text([]byte(n[1])))
		t.end()
	}
	t.text(6, "jalon")
	t.list(7, thriftStruct, len(p.columns))
	for range p.columns { // values are ordered as their types say
		t.begin()
		t.structField(1, func() {})
		t.end()
	}
	t.end()
	t.b = binary.LittleEndian.AppendUint32(t.b, uint32(len(t.b)))
	return p.write(append(t.b, parquetMagic...))
}

// declare writes the type of a column.
func (c *column) declare(t *thrift) {
	t.begin()
	t.i32(1, c.physical())
	repetition := 0
	if c.optional {
		repetition = 1
	}
	t.i32(3, repetition)
	t.text(4, c.name)
	switch c.kind {
	case format.SimpleText:
		t.i32(6, convertedText)
		t.structField(10, func() { t.structField(1, func() {}) })
	case format.SimpleUint:
		t.i32(6, convertedUint64)
		t.structField(10, func() {
			t.structField(10, func() {
				t.i8(1, 64)
				t.boolean(2, false)
			})
		})
	case wallTimes:
		t.structField(10, func() {
			t.structField(8, func() {
				t.boolean(1, true)
				t.structField(2, func() { t.structField(3, func() {}) }) // nanoseconds
			})
		})
	}
	t.end()
}

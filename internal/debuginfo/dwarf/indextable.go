package dwarf

import (
	"encoding/binary"
	"hash/crc32"
	"sort"

	"github.com/jalon-trace/jalon/internal/debuginfo"
)

// The index as bytes: a header, then tables of fixed-size rows, little-endian.
//
//	names   {hash, offset in unit, unit, tag} by hash, then in file order
//	ranges  {lo, hi, unit} by lo
//	files   {hash of the base name, first, count} by hash
//	ids     unit numbers, which rows of files point to
//	flags   one byte a unit
type indexTables struct {
	b      []byte
	names  nameTable
	ranges rangeTable
	files  fileTable
	flags  flagTable
}

type (
	nameTable  []byte
	rangeTable []byte
	fileTable  struct{ rows, ids []byte }
	flagTable  []byte
)

const (
	nameRow  = 16
	rangeRow = 24
	fileRow  = 12
	idRow    = 4
	flagRow  = 1
)

// rowSizes of the tables in file order.
var rowSizes = [...]uint64{nameRow, rangeRow, fileRow, idRow, flagRow}

// indexMagic begins every file; its last byte is the version of the format and
// of what is put into the tables.
const indexMagic = "JALONIX\x01"

// indexHead is magic, checksum, 4 bytes of padding, key, counts of rows.
const (
	keySize   = 32
	sumOff    = 8
	keyOff    = 16
	countsOff = keyOff + keySize
	indexHead = countsOff + 8*len(rowSizes)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (t nameTable) len() int { return len(t) / nameRow }

func (t nameTable) at(i int) nameEntry {
	b := t[i*nameRow:]
	return nameEntry{
		hash: binary.LittleEndian.Uint32(b), off: binary.LittleEndian.Uint32(b[4:]),
		unit: binary.LittleEndian.Uint32(b[8:]), tag: binary.LittleEndian.Uint16(b[12:]),
	}
}

// search finds the first row of a hash.
func (t nameTable) search(h uint32) int {
	return sort.Search(t.len(), func(i int) bool { return binary.LittleEndian.Uint32(t[i*nameRow:]) >= h })
}

func (t rangeTable) at(i int) (debuginfo.Range, uint32) {
	b := t[i*rangeRow:]
	return debuginfo.Range{Lo: binary.LittleEndian.Uint64(b), Hi: binary.LittleEndian.Uint64(b[8:])}, binary.LittleEndian.Uint32(b[16:])
}

// search finds the first row that begins after pc.
func (t rangeTable) search(pc uint64) int {
	return sort.Search(len(t)/rangeRow, func(i int) bool { return binary.LittleEndian.Uint64(t[i*rangeRow:]) > pc })
}

// find lists the units of a hash.
func (t fileTable) find(h uint32) (ids []uint32) {
	n := len(t.rows) / fileRow
	row := func(i, at int) uint32 { return binary.LittleEndian.Uint32(t.rows[i*fileRow+at:]) }
	for i := sort.Search(n, func(i int) bool { return row(i, 0) >= h }); i < n && row(i, 0) == h; i++ {
		first, count := uint64(row(i, 4)), uint64(row(i, 8))
		if first+count > uint64(len(t.ids)/idRow) {
			continue
		}
		for k := first; k < first+count; k++ {
			ids = append(ids, binary.LittleEndian.Uint32(t.ids[k*idRow:]))
		}
	}
	return ids
}

func (t flagTable) at(i int) byte {
	if i < len(t) {
		return t[i]
	}
	return 0
}

// openTables views bytes as an index; nil when they are not one with that key.
func openTables(b []byte, key [keySize]byte) *indexTables {
	if len(b) < indexHead || string(b[:len(indexMagic)]) != indexMagic || string(b[keyOff:keyOff+keySize]) != string(key[:]) {
		return nil
	}
	if crc32.Checksum(b[keyOff:], castagnoli) != binary.LittleEndian.Uint32(b[sumOff:]) {
		return nil
	}
	return viewTables(b)
}

// viewTables cuts the tables out; nil when the counts do not fit the length.
func viewTables(b []byte) *indexTables {
	var parts [len(rowSizes)][]byte
	rest := b[indexHead:]
	for i, size := range rowSizes {
		n := binary.LittleEndian.Uint64(b[countsOff+8*i:])
		if n > uint64(len(rest))/size {
			return nil
		}
		parts[i], rest = rest[:n*size:n*size], rest[n*size:]
	}
	if len(rest) != 0 {
		return nil
	}
	return &indexTables{b, parts[0], parts[1], fileTable{parts[2], parts[3]}, parts[4]}
}

// indexParts is what the tables are made of.
type indexParts struct {
	names  []nameEntry // by hash
	ranges []unitRange // by lo
	files  []fileUnit  // by hash, then unit, each once
	flags  []byte
}

// fileUnit says that a unit has a source file whose base name has the hash.
type fileUnit struct{ hash, unit uint32 }

// encode writes the tables with their header.
func (p *indexParts) encode(key [keySize]byte) []byte {
	groups := 0
	for i, f := range p.files {
		if i == 0 || f.hash != p.files[i-1].hash {
			groups++
		}
	}
	counts := [len(rowSizes)]int{len(p.names), len(p.ranges), groups, len(p.files), len(p.flags)}
	size := indexHead
	for i, n := range counts {
		size += n * int(rowSizes[i])
	}
	le := binary.LittleEndian
	b := make([]byte, keyOff, size)
	copy(b, indexMagic)
	b = append(b, key[:]...)
	for _, n := range counts {
		b = le.AppendUint64(b, uint64(n))
	}
	for _, e := range p.names {
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, e.hash), e.off), e.unit)
		b = le.AppendUint32(b, uint32(e.tag))
	}
	for _, r := range p.ranges {
		b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, r.Lo), r.Hi), uint64(r.unit))
	}
	for i := 0; i < len(p.files); {
		j := i
		for j < len(p.files) && p.files[j].hash == p.files[i].hash {
			j++
		}
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, p.files[i].hash), uint32(i)), uint32(j-i))
		i = j
	}
	for _, f := range p.files {
		b = le.AppendUint32(b, f.unit)
	}
	b = append(b, p.flags...)
	le.PutUint32(b[sumOff:], crc32.Checksum(b[keyOff:], castagnoli))
	return b
}

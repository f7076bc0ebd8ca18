package index

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"slices"
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
type Tables struct {
	data   []byte
	Names  Names
	Ranges Ranges
	Files  Files
	Flags  Flags
}

type (
	Names  []byte
	Ranges []byte
	Files  struct{ rows, ids []byte }
	Flags  []byte
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

// Magic begins every file; its last byte is the version of the format and of the contents of the tables.
const Magic = "JALONIX\x03"

// HeadSize is the magic, checksum, 4 bytes of padding, key, counts of rows.
const (
	KeySize   = 32
	SumOff    = 8
	KeyOff    = 16
	CountsOff = KeyOff + KeySize
	HeadSize  = CountsOff + 8*len(rowSizes)
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (t Names) Len() int { return len(t) / nameRow }

func (t Names) At(i int) Name {
	b := t[i*nameRow:]
	return Name{
		Hash: binary.LittleEndian.Uint32(b), Off: binary.LittleEndian.Uint32(b[4:]),
		Unit: binary.LittleEndian.Uint32(b[8:]), Tag: binary.LittleEndian.Uint16(b[12:]),
	}
}

// Search finds the first row of a hash.
func (t Names) Search(h uint32) int {
	return sort.Search(t.Len(), func(i int) bool { return binary.LittleEndian.Uint32(t[i*nameRow:]) >= h })
}

func (t Ranges) At(i int) (debuginfo.Range, uint32) {
	b := t[i*rangeRow:]
	return debuginfo.Range{Lo: binary.LittleEndian.Uint64(b), Hi: binary.LittleEndian.Uint64(b[8:])}, binary.LittleEndian.Uint32(b[16:])
}

// Search finds the first row that begins after pc.
func (t Ranges) Search(pc uint64) int {
	return sort.Search(len(t)/rangeRow, func(i int) bool { return binary.LittleEndian.Uint64(t[i*rangeRow:]) > pc })
}

// Find lists the units of a hash.
func (t Files) Find(h uint32) (ids []uint32) {
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

func (t Flags) At(i int) byte {
	if i < len(t) {
		return t[i]
	}
	return 0
}

// Open views bytes as an index; nil when they are not one with that key.
func Open(b []byte, key [KeySize]byte) *Tables {
	if len(b) < HeadSize || string(b[:len(Magic)]) != Magic || string(b[KeyOff:KeyOff+KeySize]) != string(key[:]) {
		return nil
	}
	if crc32.Checksum(b[KeyOff:], castagnoli) != binary.LittleEndian.Uint32(b[SumOff:]) {
		return nil
	}
	return View(b)
}

// View cuts the tables out; nil when the counts do not fit the length.
func View(b []byte) *Tables {
	var parts [len(rowSizes)][]byte
	rest := b[HeadSize:]
	for i, size := range rowSizes {
		n := binary.LittleEndian.Uint64(b[CountsOff+8*i:])
		if n > uint64(len(rest))/size {
			return nil
		}
		parts[i], rest = rest[:n*size:n*size], rest[n*size:]
	}
	if len(rest) != 0 {
		return nil
	}
	return &Tables{b, parts[0], parts[1], Files{parts[2], parts[3]}, parts[4]}
}

// Parts is what the tables are made of.
type Parts struct {
	Names  []Name  // by hash
	Ranges []Range // by lo
	Files  []File  // by hash, then unit, each once
	Flags  []byte
}

// File records that a unit has a source file whose base name has the hash.
type File struct{ Hash, Unit uint32 }

// Sort puts the rows into the order of the tables. Rows of equal keys stay in their order.
func (p *Parts) Sort() {
	p.Names = byHash(p.Names, func(e *Name) uint32 { return e.Hash })
	p.Files = byHash(p.Files, func(f *File) uint32 { return f.Hash })
	p.Files = slices.Compact(p.Files)
	slices.SortStableFunc(p.Ranges, func(a, b Range) int { return cmp.Compare(a.Lo, b.Lo) })
}

// byHash sorts rows by a hash and leaves those of one hash in their order: a
// radix sort, since there may be millions.
func byHash[T any](list []T, hash func(*T) uint32) []T {
	const bits, size = 11, 1 << 11
	other := make([]T, len(list))
	for shift := 0; shift < 32; shift += bits {
		var at [size]int
		for i := range list {
			at[hash(&list[i])>>shift%size]++
		}
		sum := 0
		for d, n := range at {
			at[d], sum = sum, sum+n
		}
		for i := range list {
			d := hash(&list[i]) >> shift % size
			other[at[d]] = list[i]
			at[d]++
		}
		list, other = other, list
	}
	return list
}

// Encode writes the tables with their header.
func (p *Parts) Encode(key [KeySize]byte) []byte {
	groups := 0
	for i, f := range p.Files {
		if i == 0 || f.Hash != p.Files[i-1].Hash {
			groups++
		}
	}
	counts := [len(rowSizes)]int{len(p.Names), len(p.Ranges), groups, len(p.Files), len(p.Flags)}
	size := HeadSize
	for i, n := range counts {
		size += n * int(rowSizes[i])
	}
	le := binary.LittleEndian
	b := make([]byte, KeyOff, size)
	copy(b, Magic)
	b = append(b, key[:]...)
	for _, n := range counts {
		b = le.AppendUint64(b, uint64(n))
	}
	for _, e := range p.Names {
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, e.Hash), e.Off), e.Unit)
		b = le.AppendUint32(b, uint32(e.Tag))
	}
	for _, r := range p.Ranges {
		b = le.AppendUint64(le.AppendUint64(le.AppendUint64(b, r.Lo), r.Hi), uint64(r.Unit))
	}
	for i := 0; i < len(p.Files); {
		j := i
		for j < len(p.Files) && p.Files[j].Hash == p.Files[i].Hash {
			j++
		}
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, p.Files[i].Hash), uint32(i)), uint32(j-i))
		i = j
	}
	for _, f := range p.Files {
		b = le.AppendUint32(b, f.Unit)
	}
	b = append(b, p.Flags...)
	Seal(b)
	return b
}

// Seal writes the checksum of an index.
func Seal(b []byte) {
	binary.LittleEndian.PutUint32(b[SumOff:], crc32.Checksum(b[KeyOff:], castagnoli))
}

package ctf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A compressed file of packets has a frame of zstd for each packet, and behind them a frame that decompressors skip, with the heads of the
// packets and where their frames are. So a reader finds the packets of a time and decompresses no others; zstd -d gives all of them.
//
//	frames of packets
//	u32 0x184D2A50, u32 bytes that follow
//	for each packet: its head (88 bytes), u64 offset of its frame, u32 size of the frame
//	u64 number of packets, "jalonidx"
const (
	skippable   = 0x184D2A50
	tableMagic  = "jalonidx"
	tableEntry  = packetHead + 12
	tableFooter = 8 + len(tableMagic)
	maxTable    = 256 << 20
)

// Compress compresses a file of whole packets.
func Compress(w io.Writer, r io.Reader) error {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(r, 1<<20)
	var table, packet, frame []byte
	for at := uint64(0); ; {
		head, err := in.Peek(packetHead)
		if len(head) == 0 && errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("reading a packet: %w", err)
		}
		bits := binary.LittleEndian.Uint64(head[packetSize:])
		if binary.LittleEndian.Uint32(head) != magic || bits < 8*packetHead || bits > 8*maxPacket {
			return fmt.Errorf("a packet cannot have %d bits", bits)
		}
		packet = slices.Grow(packet[:0], int(bits/8))[:bits/8]
		if _, err := io.ReadFull(in, packet); err != nil {
			return fmt.Errorf("reading a packet: %w", err)
		}
		frame = z.EncodeAll(packet, frame[:0])
		if _, err := w.Write(frame); err != nil {
			return err
		}
		table = append(table, packet[:packetHead]...)
		table = binary.LittleEndian.AppendUint64(table, at)
		table = binary.LittleEndian.AppendUint32(table, uint32(len(frame)))
		at += uint64(len(frame))
	}
	count := uint64(len(table) / tableEntry)
	head := binary.LittleEndian.AppendUint32(nil, skippable)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(table)+tableFooter))
	table = append(binary.LittleEndian.AppendUint64(table, count), tableMagic...)
	_, err = w.Write(append(head, table...))
	return err
}

// framesSource are the packets of a compressed file.
type framesSource struct {
	f     *os.File
	table []byte
	at    []int64 // of the packets in the file that was compressed, and its size
	read  int     // frames that were decompressed
}

// openFrames reads the table of a compressed file; nil: it has none.
func openFrames(f *os.File) (*framesSource, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	foot := make([]byte, tableFooter)
	end := st.Size() - int64(tableFooter)
	if end < 0 {
		return nil, nil
	}
	if _, err := f.ReadAt(foot, end); err != nil {
		return nil, err
	}
	count := binary.LittleEndian.Uint64(foot)
	if string(foot[8:]) != tableMagic || count > maxTable/tableEntry || int64(count)*tableEntry > end {
		return nil, nil
	}
	s := &framesSource{f: f, table: make([]byte, count*tableEntry), at: make([]int64, 0, count+1)}
	if _, err := f.ReadAt(s.table, end-int64(len(s.table))); err != nil {
		return nil, err
	}
	at := int64(0)
	for i := range int(count) {
		s.at = append(s.at, at)
		bits := binary.LittleEndian.Uint64(s.entry(i)[packetSize:])
		if bits < 8*packetHead || bits > 8*maxPacket {
			return nil, fmt.Errorf("a packet cannot have %d bits", bits)
		}
		at += int64(bits / 8)
	}
	s.at = append(s.at, at)
	return s, nil
}

func (s *framesSource) entry(i int) []byte { return s.table[i*tableEntry:][:tableEntry] }

// Size is the size of the file that was compressed.
func (s *framesSource) Size() int64 { return s.at[len(s.at)-1] }

// ReadAt reads the head of a packet, or a packet, as the reader asks for them.
func (s *framesSource) ReadAt(buf []byte, at int64) (int, error) {
	i, ok := slices.BinarySearch(s.at[:len(s.at)-1], at)
	if !ok {
		return 0, io.ErrUnexpectedEOF
	}
	e := s.entry(i)
	if len(buf) == packetHead {
		return copy(buf, e), nil
	}
	size := binary.LittleEndian.Uint32(e[packetHead+8:])
	frame := make([]byte, min(int64(size), int64(len(buf)+len(buf)/8+1024)))
	if _, err := s.f.ReadAt(frame, int64(binary.LittleEndian.Uint64(e[packetHead:]))); err != nil {
		return 0, err
	}
	z, err := decoder()
	if err != nil {
		return 0, err
	}
	s.read++
	out, err := z.DecodeAll(frame, buf[:0:len(buf)])
	if err == nil && (len(out) != len(buf) || !bytes.Equal(out[:packetHead], e[:packetHead])) {
		err = errors.New("the packet is another one than the table has")
	}
	return len(out), err
}

// decoder decompresses frames to buffers of their sizes.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxPacket), zstd.WithDecodeAllCapLimit(true))
})

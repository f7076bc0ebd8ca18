package vmtest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
)

// What the guest says on its second serial line is a sequence of frames:
//
//	offset  size
//	0       1     kind
//	1       4     length of the payload, little endian
//	5       4     CRC-32 (IEEE) of the first five bytes and the payload
//	9       ...   payload
//
// frameEnd is the last frame; anything after it is an error.
type frameKind byte

const (
	frameHello  frameKind = 'H' // the machine is ready; payload: hello as JSON
	frameOutput frameKind = 'O' // bytes that the test binary wrote
	frameBeat   frameKind = 'B' // a sign of life, each second
	frameEnd    frameKind = 'E' // the test binary has ended; payload: ending as JSON
)

const (
	frameHeader = 9
	maxFrame    = 1 << 20 // a longer payload is not written, so not believed
)

// hello describes the booted guest.
type hello struct {
	Release string  // uname -r
	Uptime  float64 // seconds from the kernel's start until init was ready
}

// ending is the exit of the test binary.
type ending struct {
	Status  int    // exit status, -1 if a signal ended it
	Signal  string // the signal's name, "" if none
	Problem string // what kept init from running it properly, "" if nothing
}

// frameWriter writes frames; its methods may be called by several goroutines.
type frameWriter struct {
	mu    sync.Mutex
	w     io.Writer
	ended bool // frameEnd was sent: nothing more is
}

func (f *frameWriter) send(kind frameKind, payload []byte) error {
	head := make([]byte, frameHeader, frameHeader+len(payload))
	head[0] = byte(kind)
	binary.LittleEndian.PutUint32(head[1:], uint32(len(payload)))
	binary.LittleEndian.PutUint32(head[5:], frameSum(head, payload))
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return nil
	}
	f.ended = kind == frameEnd
	_, err := f.w.Write(append(head, payload...))
	return err
}

// frameSum is the checksum of a frame with this header.
func frameSum(head, payload []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(head[:5]), crc32.IEEETable, payload)
}

// errFrame is wrapped by the errors about a line that carries no proper frames.
var errFrame = errors.New("the guest's results are damaged")

// readFrame reads one frame. At the end of the line between two frames the error
// is io.EOF.
func readFrame(r io.Reader) (frameKind, []byte, error) {
	var head [frameHeader]byte
	if n, err := io.ReadFull(r, head[:]); err == io.ErrUnexpectedEOF {
		return 0, nil, fmt.Errorf("%w: the line ends %d bytes after the start of a frame", errFrame, n)
	} else if err != nil {
		return 0, nil, err
	}
	n := binary.LittleEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("%w: a frame of kind %q claims %d bytes", errFrame, head[0], n)
	}
	payload := make([]byte, n)
	if got, err := io.ReadFull(r, payload); err != nil {
		return 0, nil, fmt.Errorf("%w: %d bytes of a frame of %d", errFrame, got, n)
	}
	if sum := frameSum(head[:], payload); sum != binary.LittleEndian.Uint32(head[5:]) {
		return 0, nil, fmt.Errorf("%w: wrong checksum in a frame of kind %q", errFrame, head[0])
	}
	return frameKind(head[0]), payload, nil
}

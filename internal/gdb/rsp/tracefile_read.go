package rsp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
)

// ParseTraceFile reads a trace file. The frames are those of the file's memory:
// nothing is copied.
func ParseTraceFile(data []byte) (*TraceFile, []TraceFrame, error) {
	rest, ok := bytes.CutPrefix(data, []byte(traceFileMagic))
	if !ok {
		return nil, nil, fmt.Errorf("trace file: it does not begin with %q", traceFileMagic)
	}
	f := &TraceFile{}
	for n := 1; ; n++ {
		line, after, ok := bytes.Cut(rest, []byte("\n"))
		if !ok {
			return nil, nil, fmt.Errorf("trace file, line %d: no empty line ends the definitions", n+1)
		}
		rest = after
		if len(line) == 0 {
			break
		}
		if err := f.definition(line); err != nil {
			return nil, nil, fmt.Errorf("trace file, line %d: %w", n+1, err)
		}
	}
	frames, err := ParseFrames(rest, f.RegisterSize)
	return f, frames, err
}

// definition reads a line of the header; unknown ones are passed over, as GDB does.
func (f *TraceFile) definition(line []byte) error {
	kind, text, _ := bytes.Cut(line, []byte(" "))
	switch string(kind) {
	case "R":
		n, err := strconv.ParseUint(string(text), 16, 24)
		if err != nil {
			return fmt.Errorf("the size of registers: %w", err)
		}
		f.RegisterSize = int(n)
	case "status":
		p, err := firstOf([]*layout{learned(TraceStatus{})}, append([]byte("T"), text...))
		if err != nil {
			return err
		}
		f.Status = p.(TraceStatus)
	case "tsv":
		p, err := firstOf([]*layout{learned(UploadedVariable{})}, text)
		if err != nil {
			return err
		}
		f.Variables = append(f.Variables, p.(UploadedVariable))
	case "tp":
		p, err := ParseUpload(text)
		if err != nil {
			return err
		}
		f.Pieces = append(f.Pieces, p)
	case "tdesc":
		f.Target = append(append(f.Target, text...), '\n')
	}
	return nil
}

// ParseFrames reads frames, of a file or of qTBuffer; registerSize is the length of
// R blocks. The end is a tracepoint number 0 or the end of data.
func ParseFrames(data []byte, registerSize int) ([]TraceFrame, error) {
	le := binary.LittleEndian
	var frames []TraceFrame
	for len(data) >= 2 {
		f := TraceFrame{Tracepoint: le.Uint16(data)}
		if f.Tracepoint == 0 {
			return frames, nil
		}
		if len(data) < 6 {
			return frames, fmt.Errorf("trace frame %d: the data ends in its head", len(frames))
		}
		size := le.Uint32(data[2:])
		data = data[6:]
		if uint64(size) > uint64(len(data)) {
			return frames, fmt.Errorf("trace frame %d: %d bytes long, %d are left", len(frames), size, len(data))
		}
		var err error
		if f.Blocks, err = parseBlocks(data[:size], registerSize); err != nil {
			return frames, fmt.Errorf("trace frame %d: %w", len(frames), err)
		}
		frames = append(frames, f)
		data = data[size:]
	}
	return frames, nil
}

func parseBlocks(data []byte, registerSize int) ([]Block, error) {
	le := binary.LittleEndian
	var blocks []Block
	take := func(n int) []byte {
		if n > len(data) {
			return nil
		}
		part := data[:n:n]
		data = data[n:]
		return part
	}
	for len(data) > 0 {
		b := Block{Kind: BlockKind(data[0])}
		data = data[1:]
		ok := false
		switch b.Kind {
		case BlockRegisters:
			b.Data = take(registerSize)
			ok = b.Data != nil
		case BlockVariable:
			if v := take(12); v != nil {
				b.Number, b.Value, ok = le.Uint32(v), int64(le.Uint64(v[4:])), true
			}
		case BlockMemory:
			if head := take(10); head != nil {
				b.Addr = le.Uint64(head)
				b.Data = take(int(le.Uint16(head[8:])))
				ok = b.Data != nil
			}
		default:
			return nil, fmt.Errorf("a block of unknown kind %q", byte(b.Kind))
		}
		if !ok {
			return nil, fmt.Errorf("block %c is longer than its frame", byte(b.Kind))
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

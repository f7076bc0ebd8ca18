package stub

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// memory is that of the present process or of the selected trace frame.
type memory struct {
	*core
	roster *roster
}

// packets are those that it handles.
func (x *memory) packets() []row {
	return []row{
		on("m", "reads memory", x.readMemory),
		on("x", "reads memory, as bytes", x.readBinary),
		on("M", "writes memory", x.writeMemory),
		on("X", "writes memory, as bytes", x.writeBinary),
		on("qSearch:memory", "looks for bytes", x.searchMemory),
		on("qCRC", "the checksum of memory", x.memoryCRC),
	}
}

const (
	// pieceSize is how much is read at once when much is looked through.
	pieceSize = 1 << 20
	// maxLook is how much is looked through for one packet.
	maxLook = 1 << 32
)

// peek reads what can be read of the memory that GDB sees: the selected frame's, or
// the present process's.
func (x *memory) peek(addr uint64, b []byte) (int, error) {
	if room := -addr; room != 0 && uint64(len(b)) > room {
		b = b[:room] // memory ends there
	}
	if x.exp.SelectedFrame() >= 0 {
		return x.exp.FrameMemory(addr, b), nil
	}
	pid, ok := x.roster.process(nil)
	if !ok && !x.caps.Kernel {
		return 0, errors.New("there is no process")
	}
	n, err := x.target.ReadMemory(pid, addr, b)
	return min(max(n, 0), len(b)), err
}

func (x *memory) readMemory(p rsp.ReadMemory) rsp.Packet {
	b := make([]byte, min(p.Length, uint64(x.cfg.PacketSize)/2))
	n, _ := x.peek(p.Addr, b)
	if n == 0 && len(b) > 0 {
		return badNumber // GDB takes E.text for data here
	}
	return rsp.MemoryData{Data: b[:n]}
}

func (x *memory) readBinary(p rsp.ReadBinary) rsp.Packet {
	b := make([]byte, min(p.Length, uint64(x.cfg.PacketSize)))
	n, err := x.peek(p.Addr, b)
	if n == 0 && len(b) > 0 {
		if err == nil {
			err = fmt.Errorf("no memory at %#x", p.Addr)
		}
		return fail(err)
	}
	return rsp.BinaryData{Data: fitting(b[:n], x.cfg.PacketSize)}
}

// fitting is as much of data as a packet of size bytes holds with its escapes,
// behind some letters.
func fitting(data []byte, size int) rsp.Raw {
	const letters = 24
	return rsp.Chunk(data, 0, uint64(len(data)), size-letters).Data
}

// poke writes memory.
func (x *memory) poke(addr uint64, data []byte) rsp.Packet {
	switch {
	case len(data) == 0:
		return rsp.OK{}
	case x.exp.SelectedFrame() >= 0:
		return fail(errInFrame)
	case x.caps.Kernel:
		return fail(errKernel)
	case x.denied["WriteMem"]:
		return forbidden("write memory")
	case addr+uint64(len(data)) < addr:
		return failf("memory ends before %#x + %#x", addr, len(data))
	}
	pid, ok := x.roster.process(nil)
	if !ok {
		return noProcess
	}
	return done(x.target.WriteMemory(pid, addr, data))
}

func (x *memory) writeMemory(p rsp.WriteMemory) rsp.Packet {
	if !p.LengthOK() {
		return failf("%d bytes are announced, %d come", p.Length, len(p.Data))
	}
	return x.poke(p.Addr, p.Data)
}

func (x *memory) writeBinary(p rsp.WriteBinary) rsp.Packet {
	if !p.LengthOK() {
		return failf("%d bytes are announced, %d come", p.Length, len(p.Data))
	}
	return x.poke(p.Addr, p.Data)
}

func (x *memory) searchMemory(p rsp.SearchMemory) rsp.Packet {
	switch {
	case len(p.Pattern) == 0:
		return failf("nothing to search for")
	case p.Length > maxLook:
		return failf("a search in %#x bytes; at most %#x at once", p.Length, uint64(maxLook))
	}
	addr, left := p.Addr, p.Length
	var window []byte // what was read and not decided yet, from addr on
	for left > 0 {
		b := make([]byte, min(left, pieceSize))
		n, _ := x.peek(addr+uint64(len(window)), b)
		if n == 0 {
			return failf("no memory at %#x", addr+uint64(len(window)))
		}
		left -= uint64(n)
		window = append(window, b[:n]...)
		if i := bytes.Index(window, p.Pattern); i >= 0 {
			return rsp.Found{Addr: addr + uint64(i)}
		}
		if decided := len(window) - len(p.Pattern) + 1; decided > 0 {
			window = append([]byte(nil), window[decided:]...)
			addr += uint64(decided)
		}
	}
	return rsp.NotFound{}
}

func (x *memory) memoryCRC(p rsp.MemoryCRC) rsp.Packet {
	if p.Length > maxLook {
		return badNumber
	}
	sum := uint32(0xffffffff)
	for at := uint64(0); at < p.Length; {
		b := make([]byte, min(p.Length-at, pieceSize))
		n, _ := x.peek(p.Addr+at, b)
		if n == 0 {
			return badNumber
		}
		sum = rsp.CRC32(sum, b[:n])
		at += uint64(n)
	}
	return rsp.CRC{Sum: uint64(sum)}
}

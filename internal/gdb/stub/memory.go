package stub

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

var _ = []struct{}{
	on((*Machine).readMemory), on((*Machine).readBinary), on((*Machine).writeMemory),
	on((*Machine).writeBinary), on((*Machine).searchMemory), on((*Machine).memoryCRC),
}

const (
	// pieceSize is how much is read at once when much is looked through.
	pieceSize = 1 << 20
	// maxLook is how much is looked through for one packet.
	maxLook = 1 << 32
)

// peek reads what can be read of the memory that GDB sees: the selected frame's, or
// the present process's.
func (m *Machine) peek(addr uint64, b []byte) (int, error) {
	if room := -addr; room != 0 && uint64(len(b)) > room {
		b = b[:room] // memory ends there
	}
	if m.exp.SelectedFrame() >= 0 {
		return m.exp.FrameMemory(addr, b), nil
	}
	pid, ok := m.process(nil)
	if !ok && !m.caps.Kernel {
		return 0, errors.New("there is no process")
	}
	n, err := m.target.ReadMemory(pid, addr, b)
	return min(max(n, 0), len(b)), err
}

func (m *Machine) readMemory(p rsp.ReadMemory) rsp.Packet {
	b := make([]byte, min(p.Length, uint64(m.cfg.PacketSize)/2))
	n, _ := m.peek(p.Addr, b)
	if n == 0 && len(b) > 0 {
		return badNumber // GDB takes E.text for data here
	}
	return rsp.MemoryData{Data: b[:n]}
}

func (m *Machine) readBinary(p rsp.ReadBinary) rsp.Packet {
	b := make([]byte, min(p.Length, uint64(m.cfg.PacketSize)))
	n, err := m.peek(p.Addr, b)
	if n == 0 && len(b) > 0 {
		if err == nil {
			err = fmt.Errorf("no memory at %#x", p.Addr)
		}
		return fail(err)
	}
	return rsp.BinaryData{Data: fitting(b[:n], m.cfg.PacketSize)}
}

// fitting is as much of data as a packet of size bytes holds with its escapes,
// behind some letters.
func fitting(data []byte, size int) rsp.Raw {
	const letters = 24
	return rsp.Chunk(data, 0, uint64(len(data)), size-letters).Data
}

// poke writes memory.
func (m *Machine) poke(addr uint64, data []byte) rsp.Packet {
	switch {
	case len(data) == 0:
		return rsp.OK{}
	case m.exp.SelectedFrame() >= 0:
		return fail(errInFrame)
	case m.caps.Kernel:
		return fail(errKernel)
	case m.denied["WriteMem"]:
		return forbidden("write memory")
	case addr+uint64(len(data)) < addr:
		return failf("memory ends before %#x + %#x", addr, len(data))
	}
	pid, ok := m.process(nil)
	if !ok {
		return noProcess
	}
	return done(m.target.WriteMemory(pid, addr, data))
}

func (m *Machine) writeMemory(p rsp.WriteMemory) rsp.Packet {
	if !p.LengthOK() {
		return failf("%d bytes are announced, %d come", p.Length, len(p.Data))
	}
	return m.poke(p.Addr, p.Data)
}

func (m *Machine) writeBinary(p rsp.WriteBinary) rsp.Packet {
	if !p.LengthOK() {
		return failf("%d bytes are announced, %d come", p.Length, len(p.Data))
	}
	return m.poke(p.Addr, p.Data)
}

func (m *Machine) searchMemory(p rsp.SearchMemory) rsp.Packet {
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
		n, _ := m.peek(addr+uint64(len(window)), b)
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

func (m *Machine) memoryCRC(p rsp.MemoryCRC) rsp.Packet {
	if p.Length > maxLook {
		return badNumber
	}
	sum := uint32(0xffffffff)
	for at := uint64(0); at < p.Length; {
		b := make([]byte, min(p.Length-at, pieceSize))
		n, _ := m.peek(p.Addr+at, b)
		if n == 0 {
			return badNumber
		}
		sum = rsp.CRC32(sum, b[:n])
		at += uint64(n)
	}
	return rsp.CRC{Sum: uint64(sum)}
}

package memory

// The recovery stub of injected calls (package inject) is in slack: bytes of an executable page of the
// program after the contents of its ELF file. Nothing refers to them: a segment's last page is mapped
// completely, and after the segment's end it has the following bytes of the file, usually zeros. The first
// choice is the vdso, which every process has and no program moves.
//
// Slack is used instead of a new page, because mapping one needs a call in the process, and that first call
// needs a stub too. The bytes are stored from outside; every intermediate state is harmless while no thread
// runs there.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"sync"

	"golang.org/x/sys/unix"
)

// slackMu makes finding slack and taking it one step: a child that borrows the memory
// has a tracer of its own.
var slackMu sync.Mutex

// ErrNoSlack is the error of TakeSlack if there is no slack.
var ErrNoSlack = errors.New("no executable page of it has room behind its code for what puts a thread's registers back")

// TakeSlack writes b into slack and returns its address. isFree reports whether no thread is in a place
// with the same code as b, which a killed jalon has left.
func (s *Space) TakeSlack(b []byte, code int, isFree func(lo, hi uint64) bool) (uint64, error) {
	slackMu.Lock()
	defer slackMu.Unlock()
	maps, err := ReadMaps(s.Pid)
	if err != nil {
		return 0, err
	}
	n := uint64(len(b)+15) &^ 15
	for _, vdso := range []bool{true, false} {
		for i := range maps {
			m := &maps[i]
			if (m.Path == "[vdso]") != vdso || !(vdso || m.Inode != 0) {
				continue
			}
			lo, hi := s.slackOf(maps, m)
			for at := (hi - n) &^ 15; at >= lo && at < hi; at -= n {
				if !s.usable(at, n, b[:code], isFree) {
					continue
				}
				if s.WriteRaw(at, b) == nil {
					return at, nil
				}
				break // the pages of this file cannot be written
			}
		}
	}
	return 0, ErrNoSlack
}

// usable: zeros, or a stub left by a killed jalon.
func (s *Space) usable(at, n uint64, code []byte, isFree func(lo, hi uint64) bool) bool {
	got := make([]byte, n)
	if s.ReadRaw(at, got) != nil {
		return false
	}
	return bytes.Count(got, []byte{0}) == len(got) || bytes.HasPrefix(got, code) && isFree(at, at+n)
}

// slackOf returns the bytes of an executable mapping after the end of its ELF segment; hi is 0 if there are
// none.
func (s *Space) slackOf(maps []Mapping, m *Mapping) (lo, hi uint64) {
	const want = unix.PROT_READ | unix.PROT_EXEC
	if m.Shared || m.Prot != want || m.Path == "[vsyscall]" {
		return 0, 0
	}
	head := make([]byte, PageSize)
	for i := range maps {
		first := &maps[i]
		if first.Offset != 0 || first.Path != m.Path || first.Inode != m.Inode || first.Dev != m.Dev || first.Start > m.Start {
			continue
		}
		if s.ReadRaw(first.Start, head) != nil {
			continue
		}
		if end := segmentEnd(head, m); end != 0 {
			return end, s.readableEnd(end, m.End)
		}
	}
	return 0, 0
}

// readableEnd: the vdso's mapping may be longer than its contents.
func (s *Space) readableEnd(lo, hi uint64) uint64 {
	var b [1]byte
	for hi > lo && s.ReadRaw(hi-1, b[:]) != nil {
		hi -= min(PageSize, hi-lo)
	}
	return hi
}

// segmentEnd returns the address after the executable segment with which a mapping ends, by the program
// headers in the file's first page; 0 if it is not known.
func segmentEnd(head []byte, m *Mapping) uint64 {
	le := binary.LittleEndian
	if string(head[:5]) != "\x7fELF\x02" {
		return 0
	}
	off, size, num := le.Uint64(head[32:]), uint64(le.Uint16(head[54:])), uint64(le.Uint16(head[56:]))
	const headerSize, load, exec = 56, 1, 1
	if size < headerSize || off > PageSize {
		return 0
	}
	for i := range num {
		at := off + i*size
		if at+headerSize > uint64(len(head)) {
			return 0
		}
		ph := head[at : at+headerSize]
		fileOff, memSize := le.Uint64(ph[8:]), le.Uint64(ph[40:])
		if le.Uint32(ph) != load || le.Uint32(ph[4:])&exec == 0 || memSize > 1<<40 || fileOff > 1<<40 {
			continue
		}
		if m.Offset < fileOff&^(PageSize-1) || m.Offset >= fileOff+memSize {
			continue
		}
		if end := m.Start + (fileOff + memSize - m.Offset); end > m.Start && end < m.End {
			return end
		}
	}
	return 0
}

// StackLeadsTo looks for a word between lo and hi in the stack above rsp, as far as
// the frames of signal handlers plausibly reach.
func StackLeadsTo(sp *Space, rsp, lo, hi uint64) bool {
	const reach = 256 << 10
	for at := rsp &^ 7; at < rsp+reach; {
		b := make([]byte, (at|(PageSize-1))+1-at)
		if sp.ReadRaw(at, b) != nil {
			return false
		}
		for i := 0; i+8 <= len(b); i += 8 {
			if binary.LittleEndian.Uint64(b[i:])-lo < hi-lo {
				return true
			}
		}
		at += uint64(len(b))
	}
	return false
}

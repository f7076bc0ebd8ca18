package inproc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"

	"github.com/jalon-trace/jalon/internal/engine/results"
	"github.com/jalon-trace/jalon/internal/patch"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// jumpSpan is how far the bytes that a jump replaces can extend after a function.
const jumpSpan = 16

// textOf returns the module's machine code from the file, with the pages that the process has changed. It
// is used to prove that nothing jumps between the instructions that a jump replaces. An error means that
// there can be no proof.
func (m *module) textOf(read reader) (*patch.Text, error) {
	if m.text == nil && m.textErr == nil {
		m.text, m.textErr = m.makeText(read)
	}
	return m.text, m.textErr
}

func (m *module) makeText(read reader) (*patch.Text, error) {
	t, err := results.Text(m.dw, m.bias)
	if err != nil {
		return nil, err
	}
	t.Cancelled = m.cancelled
	t.Changed, err = m.changedCode(t.Code, read)
	return t, err
}

// changedCode reads the pages of code of which the process has its own copies, and keeps those that differ
// from the file.
func (m *module) changedCode(code []patch.Region, read reader) (out []patch.Region, err error) {
	if m.Pid() == 0 {
		return nil, nil // the file is not mapped
	}
	f, err := os.Open(procdir.Link(m.Pid(), "pagemap"))
	if err != nil {
		return nil, fmt.Errorf("looking for changed code: %w", err)
	}
	defer f.Close()
	for _, r := range code {
		first, last := r.Addr/pageSize, (r.Addr+uint64(len(r.Bytes))-1)/pageSize
		entries := make([]byte, 8*(last-first+1))
		if _, err := f.ReadAt(entries, int64(8*first)); err != nil {
			return nil, fmt.Errorf("looking for changed code: %w", err)
		}
		for page := first; page <= last; page++ {
			if !ownPage(binary.LittleEndian.Uint64(entries[8*(page-first):])) {
				continue
			}
			// Instructions may begin before the page and end after it.
			lo, hi := max(page*pageSize-jumpSpan, r.Addr), min((page+1)*pageSize+jumpSpan, r.Addr+uint64(len(r.Bytes)))
			b, err := read(lo, int(hi-lo))
			if err != nil {
				return nil, err
			}
			if !bytes.Equal(b, r.Bytes[lo-r.Addr:hi-r.Addr]) {
				out = append(out, patch.Region{Addr: lo, Bytes: b})
			}
		}
	}
	return out, nil
}

// ownPage: the page is in memory or swap (bits 63 and 62), and does not belong to a file (bit 61):
// Documentation/admin-guide/mm/pagemap.rst.
func ownPage(entry uint64) bool { return entry>>62 != 0 && entry>>61&1 == 0 }

package kernel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// coreFile makes an ELF core file of segments with the bytes given.
func coreFile(segments map[uint64][]byte) []byte {
	const header, entry = 64, 56
	b := make([]byte, header+entry*len(segments))
	copy(b, "\x7fELF\x02\x01\x01")
	put := binary.LittleEndian.PutUint16
	put(b[16:], 4)  // ET_CORE
	put(b[18:], 62) // EM_X86_64
	b[20] = 1
	binary.LittleEndian.PutUint64(b[32:], header)
	put(b[52:], header)
	put(b[54:], entry)
	put(b[56:], uint16(len(segments)))
	at := header
	for addr, data := range segments {
		b[at] = 1 // PT_LOAD
		for i, v := range []uint64{uint64(len(b)), addr, 0, uint64(len(data)), uint64(len(data)), 0} {
			binary.LittleEndian.PutUint64(b[at+8+8*i:], v)
		}
		at += entry
		b = append(b, data...)
	}
	return b
}

const base = 0xffff888000000000

func someCore() []byte {
	full := bytes.Repeat([]byte("jalon   "), 2*page/8)
	clear(full[page : page+16])
	return coreFile(map[uint64][]byte{base: full, base + 8*page: make([]byte, 2*page)})
}

// withCore is memory of such a file, beside which eBPF reads what peek says.
func withCore(t *testing.T, image []byte, peek func(uint64, int) ([]byte, error)) *memory {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kcore")
	if err := os.WriteFile(path, image, 0o600); err != nil {
		t.Fatal(err)
	}
	m := openMemory(path, peek)
	t.Cleanup(func() { _ = m.close() })
	return m
}

func fault(addr uint64, n int) ([]byte, error) {
	return nil, fmt.Errorf("%d bytes at %#x: %w", n, addr, unix.EFAULT)
}

func forbidden(uint64, int) ([]byte, error) { return nil, fmt.Errorf("no eBPF: %w", unix.EPERM) }

func TestCore(t *testing.T) {
	for _, c := range []struct {
		what string
		addr uint64
		n    int
		peek func(uint64, int) ([]byte, error)
		done int
		err  string
	}{
		{"over two pages", base + 8, page, forbidden, page, ""},
		{"the end", base + 2*page - 8, 16, fault, 8, fmt.Sprintf("no readable memory at %#x", uint64(base+2*page))},
		{"before", base - 8, 8, fault, 0, "no readable memory at"},
		{"zeros that are not mapped", base + 8*page, 8, fault, 0, "no readable memory at"},
		{"zeros of unknown memory", base + 8*page, 8, forbidden, 8, ""},
		{"zeros that are there", base + page, 16, func(_ uint64, n int) ([]byte, error) { return make([]byte, n), nil }, 16, ""},
		{"outside the file", 16, 4, func(_ uint64, n int) ([]byte, error) { return []byte("data"), nil }, 4, ""},
		{"the last byte of all", ^uint64(0), 1, fault, 0, "no readable memory at"},
	} {
		m := withCore(t, someCore(), c.peek)
		b := bytes.Repeat([]byte{'?'}, c.n)
		n, err := m.read(c.addr, b)
		if n != c.done || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %d bytes, %v", c.what, n, err)
		}
		if strings.ContainsRune(string(b[:n]), '?') {
			t.Errorf("%s: %q", c.what, b[:n])
		}
	}
}

// Without the file eBPF reads; without both the error names both.
func TestNoCore(t *testing.T) {
	m := openMemory(filepath.Join(t.TempDir(), "none"), func(_ uint64, n int) ([]byte, error) { return make([]byte, n), nil })
	if n, err := m.read(base, make([]byte, 3*page)); n != 3*page || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	m = openMemory(filepath.Join(t.TempDir(), "none"), forbidden)
	if _, err := m.read(base, make([]byte, 1)); err == nil || !strings.Contains(err.Error(), "CONFIG_PROC_KCORE") || !errors.Is(err, unix.EPERM) {
		t.Error(err)
	}
	for _, image := range [][]byte{nil, []byte("\x7fELF"), coreFile(nil), []byte(strings.Replace(string(someCore()), "\x04\x00\x3e", "\x02\x00\x3e", 1))} {
		m = withCore(t, image, forbidden)
		if _, err := m.read(base, make([]byte, 1)); m.core != nil || err == nil || !strings.Contains(err.Error(), "kcore cannot be used") {
			t.Error(err)
		}
	}
}

func FuzzCore(f *testing.F) {
	f.Add(someCore(), uint64(base), uint16(100))
	f.Add([]byte("\x7fELF\x02\x01\x01"), uint64(0), uint16(1))
	f.Fuzz(func(t *testing.T, image []byte, addr uint64, n uint16) {
		c, err := readCore(bytes.NewReader(image))
		if err != nil {
			return
		}
		b := make([]byte, n)
		if ok, err := c.read(addr, b); ok && err == nil && len(b) > len(image) {
			t.Fatal("more bytes than the file has")
		}
	})
}

// The kernel's own memory: what it says of itself.
func TestKernelMemory(t *testing.T) {
	k := open(t)
	e := k.e
	addr, ok := e.k.Address("linux_banner")
	if !ok {
		skip(t, "the kernel publishes no address of linux_banner")
	}
	b := make([]byte, 14)
	if err := e.Memory(addr, b); err != nil || string(b) != "Linux version " {
		t.Errorf("%q, %v", b, err)
	}
	if n, err := k.ReadMemory(pid, 8, b); n != 0 || err == nil || !strings.Contains(err.Error(), "no readable memory") {
		t.Errorf("%d bytes at 8, %v", n, err)
	}
	if err := e.Memory(addr, make([]byte, 4*page)); err != nil {
		t.Error(err)
	}
}

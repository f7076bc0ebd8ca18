package ctf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// errCompressed is the error of a file of which nothing can be unpacked.
var errCompressed = errors.New("it cannot be unpacked")

// openPackets opens a file of packets. One that is compressed without a table of its packets is unpacked to a file without a name, as far as
// that is possible: damage says how far.
func openPackets(name string) (_ packetSource, _ io.Closer, damage string, err error) {
	f, err := openRegular(name)
	if err != nil {
		return nil, nil, "", err
	}
	if strings.HasSuffix(name, CompressedSuffix) {
		s, err := openFrames(f)
		if err == nil && s != nil {
			return s, f, "", nil
		}
		defer f.Close()
		if f, damage, err = unpack(f); err != nil {
			return nil, nil, "", fmt.Errorf("%s: %w", name, err)
		}
	}
	st, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, nil, "", err
	}
	return fileSource{f, st.Size()}, f, damage, nil
}

type fileSource struct {
	*os.File
	size int64
}

// Size is the size of the file when it was opened.
func (f fileSource) Size() int64 { return f.size }

// maxUnpacked bounds a file that is unpacked.
const maxUnpacked = 64 << 30

// unpack unpacks a file up to its end, or what cannot be unpacked. The error is errCompressed only if the contents are the reason.
func unpack(f *os.File) (out *os.File, damage string, err error) {
	if out, err = os.CreateTemp("", "jalon-trace"); err != nil {
		return nil, "", fmt.Errorf("unpacking it to a temporary file: %w", err)
	}
	_ = os.Remove(out.Name())
	n, cause, err := unpackTo(out, f)
	if err == nil && n == 0 && cause != nil {
		err = fmt.Errorf("%w: %w", errCompressed, cause)
	}
	switch {
	case err != nil:
		_ = out.Close()
		return nil, "", err
	case cause != nil:
		return out, fmt.Sprintf("it is damaged: it can be unpacked up to its byte %d only (%v)", n, cause), nil
	}
	return out, "", nil // earlier versions wrote no table of packets
}

// unpackTo returns how many bytes could be unpacked, and why no more. err is an error of writing.
func unpackTo(out io.Writer, f io.Reader) (n int64, cause, err error) {
	z, cause := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if cause != nil {
		return 0, cause, nil
	}
	defer z.Close()
	w := &notedWriter{w: out}
	n, cause = io.Copy(w, io.LimitReader(z, maxUnpacked))
	if w.err != nil {
		return n, nil, fmt.Errorf("unpacking it to a temporary file: %w", w.err)
	}
	return n, cause, nil
}

// notedWriter keeps the error of a write.
type notedWriter struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (w *notedWriter) Write(b []byte) (n int, err error) {
	n, w.err = w.w.Write(b)
	return n, w.err
}

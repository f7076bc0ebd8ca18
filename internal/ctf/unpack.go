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
		f, damage, err = unpack(f)
		if err != nil {
			return nil, nil, "", fmt.Errorf("%s: %w: %w", name, errCompressed, err)
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

// unpack unpacks a file up to its end, or what cannot be unpacked.
func unpack(f *os.File) (out *os.File, damage string, err error) {
	if out, err = os.CreateTemp("", "jalon-trace"); err != nil {
		return nil, "", err
	}
	_ = os.Remove(out.Name())
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	n := int64(0)
	if err == nil {
		n, err = io.Copy(out, io.LimitReader(z, maxUnpacked))
		z.Close()
	}
	switch {
	case n == 0 && err != nil:
		_ = out.Close()
		return nil, "", err
	case err != nil:
		return out, fmt.Sprintf("it is damaged: it can be unpacked up to its byte %d only (%v)", n, err), nil
	}
	return out, "", nil // earlier versions wrote no table of packets
}

package ctf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Repair removes what is behind the last whole packet of each file of packets of a trace whose recording was killed, packets that are damaged,
// and what jalon has left behind beside the files, so that other viewers read it. Compressed files stay compressed. It returns what it has
// done, in words.
func Repair(dir string) (done []string, err error) {
	free, err := notRecorded(dir)
	if err != nil {
		return nil, err
	}
	defer free()
	t, err := Open(dir)
	if err != nil {
		return nil, err
	}
	r := repairer{uuid: t.Info.UUID, checked: t.Info.Version >= checkedVersion}
	t.Close()
	chunks, err := chunksOf(dir)
	if err != nil {
		return nil, err
	}
	for _, c := range chunks {
		for _, sub := range []string{OwnDirectory, ""} {
			if err := r.directory(filepath.Join(c, sub), sub != ""); err != nil {
				return r.done, err
			}
		}
	}
	return r.done, nil
}

// Lock marks a directory as being recorded to, until the file is closed or the process ends. File systems without locks do without.
func Lock(dir *os.File) { _ = unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// notRecorded locks a trace that is not being recorded.
func notRecorded(dir string) (free func(), err error) {
	var open []*os.File
	free = func() {
		for _, f := range open {
			_ = f.Close()
		}
	}
	path, err := filepath.Abs(dir)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return nil, err
	}
	list := []string{path}
	if strings.HasPrefix(filepath.Base(path), ChunkPrefix) {
		list = append(list, filepath.Dir(path))
	}
	for _, d := range list {
		f, err := os.Open(d)
		if err != nil {
			free()
			return nil, err
		}
		open = append(open, f)
		if errors.Is(unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK) {
			free()
			return nil, fmt.Errorf("%s is being recorded: repair it when the recording has ended", d)
		}
	}
	return free, nil
}

// repairer repairs the files of a trace.
type repairer struct {
	uuid    [16]byte
	checked bool
	done    []string
}

// directory repairs the files of a directory. own: it is jalon's in a trace, where the compressed ones are.
func (r *repairer) directory(dir string, own bool) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		name, text := filepath.Join(dir, e.Name()), ""
		switch {
		case !e.Type().IsRegular():
		case strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".new"):
			err = os.Remove(name)
		case isStream(e.Name(), own) && own:
			text, err = r.compressed(name)
		case isStream(e.Name(), own):
			text, err = r.cutTorn(name)
		}
		if text != "" {
			r.done = append(r.done, name+": "+text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// compressed repairs a compressed file. If the file of which it was made is there, one of the two is removed: jalon was killed before it
// removed the other one.
func (r *repairer) compressed(name string) (done string, err error) {
	plain := filepath.Join(filepath.Dir(filepath.Dir(name)), strings.TrimSuffix(filepath.Base(name), CompressedSuffix))
	_, perr := os.Lstat(plain)
	s, good, torn, err := r.packets(name)
	if errors.Is(err, errCompressed) {
		if err := readable(name); err != nil {
			return "", err
		}
		return "it is removed: nothing of it can be unpacked", os.Remove(name)
	}
	if err != nil {
		return "", err
	}
	defer s.close()
	switch whole := !torn && len(good) == len(s.packets); {
	case perr == nil && whole:
		return "the file of which it was made is removed", os.Remove(plain)
	case whole:
		return "", nil
	}
	if err := readable(name); err != nil {
		return "", err
	}
	switch {
	case perr == nil:
		return "it is removed: the file of which it was made is there", os.Remove(name)
	case len(good) == 0:
		return "it is removed: there is no whole packet", os.Remove(name)
	}
	if !r.checked && len(s.packets) > 0 && nextPacket(s.file, good[len(good)-1].at+1, r.uuid, false) >= 0 {
		return "", fmt.Errorf("%s: something is damaged, and packets follow: it is left as it is", name)
	}
	return fmt.Sprintf("%d whole packets are kept, what is damaged is removed", len(good)), s.rewrite(good, Compress)
}

// readable reports an error of the file system: what cannot be read now is not damaged, and must not be removed.
func readable(name string) error {
	f, err := openRegular(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err = io.Copy(io.Discard, f); err != nil {
		return fmt.Errorf("%s is left as it is: %w", name, err)
	}
	return nil
}

// openedStream is a file of packets that is repaired.
type openedStream struct {
	streamFile
	close func() error
}

// packets are the packets of a file whose contents can be read. torn: there is something else in it.
func (r *repairer) packets(name string) (s *openedStream, good []packet, torn bool, err error) {
	src, closer, damage, err := openPackets(name)
	if err != nil {
		return nil, nil, false, err
	}
	s = &openedStream{streamFile{name: name, chunk: &chunk{checked: r.checked}, file: src}, closer.Close}
	torn = len(s.index(r.uuid)) > 0 || damage != ""
	if good, err = s.undamaged(); err != nil {
		return nil, nil, false, errors.Join(err, closer.Close())
	}
	return s, good, torn, nil
}

// cutTorn removes what is no whole packet from a file. A file without a whole packet is removed: other viewers read none that is empty.
func (r *repairer) cutTorn(name string) (done string, err error) {
	s, good, torn, err := r.packets(name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var whole, end int64 // bytes of packets
	for i := range good {
		whole += int64(good[i].size)
		end = good[i].at + int64(good[i].size)
	}
	rest := s.file.Size() - whole
	if rest == 0 && !torn && whole > 0 {
		return "", nil
	}
	if err := readable(name); err != nil {
		return "", err
	}
	switch {
	case !r.checked && nextPacket(s.file, end+1, r.uuid, false) >= 0:
		return "", fmt.Errorf("%s: what is at %d is damaged, and packets follow: it is left as it is", name, end)
	case whole == 0:
		return fmt.Sprintf("%d bytes without a whole packet are removed", rest), os.Remove(name)
	case rest == 0: // packets are missing: there is nothing to remove
		return "", nil
	case whole == end:
		return fmt.Sprintf("%d bytes behind the last whole packet are removed", rest), os.Truncate(name, end)
	default:
		return fmt.Sprintf("%d bytes that are damaged are removed", rest), s.rewrite(good, copyPackets)
	}
}

// undamaged are the packets whose contents have their checksums.
func (s *streamFile) undamaged() (good []packet, err error) {
	var b []byte
	for i := range s.packets {
		p := &s.packets[i]
		b = slices.Grow(b[:0], p.size)[:p.size]
		ok, err := s.read(p, b)
		if err != nil {
			return nil, err
		}
		if ok {
			good = append(good, *p)
		}
	}
	return good, nil
}

// packetsReader reads packets one after another.
type packetsReader struct {
	s    *streamFile
	list []packet
	rest []byte
	buf  []byte
}

// Read implements io.Reader.
func (r *packetsReader) Read(b []byte) (int, error) {
	for len(r.rest) == 0 {
		if len(r.list) == 0 {
			return 0, io.EOF
		}
		p := &r.list[0]
		r.buf = slices.Grow(r.buf[:0], p.size)[:p.size]
		if _, err := r.s.file.ReadAt(r.buf, p.at); err != nil {
			return 0, err
		}
		r.list, r.rest = r.list[1:], r.buf
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func copyPackets(w io.Writer, r io.Reader) error {
	_, err := io.Copy(w, r)
	return err
}

// rewrite replaces the file by one of these packets: at any time one of the two is there, whole.
func (s *streamFile) rewrite(list []packet, to func(io.Writer, io.Reader) error) (err error) {
	name := filepath.Join(filepath.Dir(s.name), "."+filepath.Base(s.name)+".new")
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(to(out, &packetsReader{s: s, list: list}), out.Close())
	if err == nil {
		err = os.Rename(name, s.name)
	}
	if err != nil {
		_ = os.Remove(name)
	}
	return err
}

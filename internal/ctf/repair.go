package ctf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Repair removes what is behind the last whole packet of each file of packets of a trace whose recording was killed, packets that are damaged,
// and what jalon has left behind beside the files, so that other viewers read it. It returns what it has done, in words.
func Repair(dir string) (done []string, err error) {
	t, err := Open(dir)
	if err != nil {
		return nil, err
	}
	uuid, checked := t.Info.UUID, t.Info.Version >= checkedVersion
	t.Close()
	chunks, err := chunksOf(dir)
	if err != nil {
		return nil, err
	}
	for _, c := range chunks {
		list, err := os.ReadDir(c)
		if err != nil {
			return done, err
		}
		for _, e := range list {
			name := filepath.Join(c, e.Name())
			switch {
			case !e.Type().IsRegular():
			case strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), ".new"):
				err = os.Remove(name)
			case isStream(e.Name(), false):
				var text string
				if text, err = cutTorn(name, uuid, checked); text != "" {
					done = append(done, text)
				}
			}
			if err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// cutTorn removes what is no whole packet from a file. A file without a whole packet is removed: other viewers read none that is empty.
func cutTorn(name string, uuid [16]byte, checked bool) (done string, err error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	s := &streamFile{name: name, chunk: &chunk{checked: checked}, file: fileSource{f, st.Size()}}
	torn := len(s.index(uuid)) > 0
	good, end := s.packets, int64(0)
	if checked {
		if good, err = s.undamaged(); err != nil {
			return "", err
		}
	}
	var whole int64 // bytes of packets
	for i := range good {
		whole += int64(good[i].size)
		end = good[i].at + int64(good[i].size)
	}
	switch rest := st.Size() - whole; {
	case rest == 0 && !torn:
		return "", nil
	case !checked && nextPacket(f, end+1, uuid, false) >= 0:
		return "", fmt.Errorf("%s: what is at %d is damaged, and packets follow: it is left as it is", name, end)
	case rest == 0: // packets are missing: there is nothing to remove
		return "", nil
	case whole == 0:
		return fmt.Sprintf("%s: %d bytes without a whole packet are removed", name, rest), os.Remove(name)
	case whole == end:
		return fmt.Sprintf("%s: %d bytes behind the last whole packet are removed", name, rest), f.Truncate(end)
	default:
		return fmt.Sprintf("%s: %d bytes that are damaged are removed", name, rest), s.rewrite(good)
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

// rewrite replaces the file by one of these packets: at any time one of the two is there, whole.
func (s *streamFile) rewrite(list []packet) (err error) {
	name := filepath.Join(filepath.Dir(s.name), "."+filepath.Base(s.name)+".new")
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	for i := range list {
		if _, err = io.Copy(out, io.NewSectionReader(s.file, list[i].at, int64(list[i].size))); err != nil {
			break
		}
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(name, s.name)
	}
	if err != nil {
		_ = os.Remove(name)
	}
	return err
}

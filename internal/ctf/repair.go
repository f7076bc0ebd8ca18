package ctf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Repair cuts off what is behind the last whole packet of each file of packets of a trace whose recording was killed, and removes what
// jalon has left behind beside the files, so that other viewers read it. It returns what it has done, in words.
func Repair(dir string) (done []string, err error) {
	t, err := Open(dir)
	if err != nil {
		return nil, err
	}
	uuid := t.Info.UUID
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
				var cut int64
				if cut, err = cutTorn(name, uuid); cut > 0 {
					done = append(done, fmt.Sprintf("%s: %d bytes behind the last whole packet are removed", name, cut))
				}
			}
			if err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// cutTorn cuts a file behind its last whole packet. A file without a whole packet is removed: other viewers read none that is empty.
func cutTorn(name string, uuid [16]byte) (cut int64, err error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	s := &streamFile{name: name, file: fileSource{f, st.Size()}}
	if why := s.index(uuid); why == "" {
		return 0, nil
	}
	end := int64(0)
	if n := len(s.packets); n > 0 {
		end = s.packets[n-1].at + int64(s.packets[n-1].size)
	}
	if !wholeIsTorn(f, end, uuid) {
		return 0, fmt.Errorf("%s: what is at %d is damaged, and packets follow: it is left as it is", name, end)
	}
	if end == 0 {
		return st.Size(), os.Remove(name)
	}
	return st.Size() - end, f.Truncate(end)
}

// wholeIsTorn reports whether no packet of the trace begins behind the one at a position: a kill tears the last one only.
func wholeIsTorn(f io.ReaderAt, at int64, uuid [16]byte) bool {
	buf := make([]byte, 1<<20)
	for from := at + 1; ; from += int64(len(buf)) - packetHead {
		n, err := f.ReadAt(buf, from)
		for i := 0; i+packetHead <= n; i++ {
			if buf[i] == magic&0xff && buf[i+1] == magic>>8&0xff {
				if _, _, _, _, why := parseHead(buf[i:i+packetHead], uuid); why == "" {
					return false
				}
			}
		}
		if err != nil {
			return true
		}
	}
}

package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// writer writes what a Recorder gives it, on a goroutine of its own, in its order.
type writer struct {
	opt    *Options
	parent *os.Root // the directory in which root is
	root   *os.Root // of the trace
	lock   *os.File // root, locked while it is recorded to
	remove bool     // nothing stays on disk

	mu      sync.Mutex
	change  sync.Cond // of list, ended or waiting
	list    []message
	free    [][]byte
	waiting int64 // bytes in list
	total   int64 // bytes of the chunk that were put in list
	bytes   int64 // that were written
	chunks  int
	last    *chunkEnd
	failed  error
	ended   bool
	kept    map[string]int64 // sizes of chunks that are complete
	done    chan struct{}

	// Of the goroutine:
	dir       *os.Root // of the chunk
	name      string   // of the chunk
	part      Part     // so far
	files     map[string]*output
	old       []string // chunks that are complete
	removed   uint64
	unwritten uint64 // events of packets that could not be written
	squeeze   *compressor
	tight     bool // the user knows that parts end early; of the goroutine that calls rotate
}

// message is something to do.
type message struct {
	stream string // a packet for this file
	packet []byte
	events uint64    // of the packet
	files  []file    // to replace
	ends   *chunkEnd // of the chunk
}

// chunkEnd is the end of a chunk, which is written when done is closed.
type chunkEnd struct {
	done chan struct{}
	part Part
	err  error
}

// file is a small file that is written whole.
type file struct {
	name string
	data []byte
}

// output is a file of packets.
type output struct {
	f    *os.File
	size int64
}

// mostWaiting bounds the memory of what waits to be written. Beyond it events stay in the rings.
const mostWaiting = 64 << 20

// ErrFull says that the disk is full.
var ErrFull = errors.New("the disk is full")

func newWriter(opt *Options) (*writer, error) {
	parent, root, err := makeDirectory(opt.Dir)
	if err != nil {
		return nil, err
	}
	lock, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	w := &writer{opt: opt, parent: parent, root: root, lock: lock, done: make(chan struct{}), files: map[string]*output{}, kept: map[string]int64{}}
	w.change.L = &w.mu
	ctf.Lock(lock)
	if opt.Compress {
		w.squeeze = newCompressor(opt)
	}
	if err := w.beginChunk(); err != nil {
		return nil, err
	}
	go w.run()
	return w, nil
}

// put gives the goroutine something to do.
func (w *writer) put(m message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, m)
	w.waiting += int64(len(m.packet))
	w.total += int64(len(m.packet))
	if m.ends != nil {
		w.total, w.last = 0, m.ends
	}
	w.change.Signal()
}

// packet writes a packet with n events to the end of a file. The packet is the writer's from now on.
func (w *writer) packet(stream string, packet []byte, n uint64) {
	w.put(message{stream: stream, packet: packet, events: n})
}

// buffer returns memory that a packet had, or nil.
func (w *writer) buffer() (b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := len(w.free) - 1; last >= 0 {
		b, w.free = w.free[last], w.free[:last]
	}
	return b
}

// describe replaces small files.
func (w *writer) describe(files []file) { w.put(message{files: files}) }

// queued is how many bytes of packets the chunk has got.
func (w *writer) queued() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.total
}

func (w *writer) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting >= mostWaiting && w.failed == nil
}

// err is why nothing is written any more.
func (w *writer) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

func (w *writer) status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Status{Bytes: w.bytes, Waiting: w.waiting, Chunks: w.chunks}
}

func (w *writer) run() {
	defer close(w.done)
	for {
		w.mu.Lock()
		for len(w.list) == 0 && !w.ended {
			w.change.Wait()
		}
		list := w.list
		w.list = nil
		failed := w.failed
		w.mu.Unlock()
		if len(list) == 0 {
			return
		}
		for _, m := range list {
			if failed == nil {
				failed = w.do(m)
			}
			w.did(m, failed)
		}
	}
}

// did notes that something is done, or was left out because of a failure.
func (w *writer) did(m message, failed error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting -= int64(len(m.packet))
	if failed == nil {
		w.bytes += int64(len(m.packet))
		w.part.Bytes += int64(len(m.packet))
		w.part.Events += m.events
	} else {
		w.unwritten += m.events
	}
	if m.ends != nil {
		m.ends.part, m.ends.err = w.part, failed
		w.part = Part{}
		close(m.ends.done)
	}
	w.failed = failed
	if m.packet != nil && len(w.free) < 64 {
		w.free = append(w.free, m.packet)
	}
	w.change.Signal()
}

func (w *writer) do(m message) error {
	switch {
	case m.ends != nil:
		w.part.Dir = filepath.Join(w.opt.Dir, w.name)
		return w.endChunk()
	case m.files != nil:
		for _, f := range m.files {
			if err := w.replace(w.dir, f); err != nil {
				return err
			}
		}
		return nil
	}
	return w.append(m.stream, m.packet)
}

// replace writes a small file in place of the old one: at any time one of them is there, whole.
func (w *writer) replace(dir *os.Root, f file) error {
	return w.making(f.name, func() error {
		name := filepath.Join(filepath.Dir(f.name), "."+filepath.Base(f.name)+".new")
		out, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		_, err = out.Write(f.data)
		if cerr := out.Close(); err == nil {
			err = cerr
		}
		if err == nil {
			err = dir.Rename(name, f.name)
		}
		if err != nil {
			_ = dir.Remove(name)
		}
		return err
	})
}

// append writes a packet to the end of a file, or nothing of it.
func (w *writer) append(name string, packet []byte) error {
	o := w.files[name]
	if o == nil {
		var f *os.File
		err := w.making(name, func() (err error) {
			f, err = w.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
			return err
		})
		if err != nil {
			return err
		}
		o = &output{f: f}
		w.files[name] = o
	}
	w.waitForRoom(int64(len(packet)))
	err := w.making(name, func() error {
		if _, err := o.f.Write(packet); err != nil {
			return errors.Join(err, o.f.Truncate(o.size))
		}
		o.size += int64(len(packet))
		return nil
	})
	if err != nil && o.size == 0 { // other viewers read no file that is empty
		_ = o.f.Close()
		_ = w.dir.Remove(name)
		delete(w.files, name)
	}
	return err
}

// making does something that may find the disk full. Then the oldest chunk is removed, if the user keeps a number of them, and it is
// tried again.
func (w *writer) making(name string, do func() error) error {
	for {
		err := do()
		full := errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
		switch {
		case err == nil:
			return nil
		case full && w.opt.Keep > 0 && len(w.old) > 0:
			w.warn(fmt.Sprintf("the disk is full: %s is removed", filepath.Join(w.opt.Dir, w.old[0])))
			if err := w.removeOldest(); err != nil {
				return err
			}
			continue
		case full:
			return fmt.Errorf("%w: what was recorded before is whole in %s", ErrFull, w.opt.Dir)
		}
		return fmt.Errorf("writing %s: %w", filepath.Join(w.opt.Dir, w.name, name), err)
	}
}

func (w *writer) warn(text string) {
	if w.opt.Warn != nil {
		w.opt.Warn(text)
	}
}

// missing returns how many events could not be written.
func (w *writer) missing() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unwritten
}

// finish writes what waits and the summary, and ends the goroutine.
func (w *writer) finish(sum *ctf.Summary) error {
	w.mu.Lock()
	w.ended = true
	w.change.Signal()
	w.mu.Unlock()
	<-w.done
	err := w.failed
	if err != nil && w.unwritten > 0 {
		err = fmt.Errorf("%w: %d events were not written", err, w.unwritten)
	}
	if cerr := w.closeFiles(); err == nil {
		err = cerr
	}
	if w.squeeze != nil {
		if w.opt.rotates() && err == nil {
			w.squeeze.add(w.root, w.name, w.part.Bytes)
		}
		w.squeeze.finish()
	}
	if sum != nil {
		sum.Bytes, sum.Removed = uint64(w.bytes), w.removed
		sum.Events -= w.unwritten
		if err != nil {
			sum.Stopped = err.Error()
		}
		if werr := w.writeSummary(sum); err == nil {
			err = werr
		}
	}
	if w.dir != w.root {
		_ = w.dir.Close()
	}
	_ = errors.Join(w.root.Close(), w.lock.Close())
	if w.remove {
		_ = w.parent.RemoveAll(filepath.Base(w.opt.Dir))
	}
	_ = w.parent.Close()
	return err
}

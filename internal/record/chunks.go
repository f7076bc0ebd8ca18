package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// beginChunk makes the directory of the next chunk, or nothing.
func (w *writer) beginChunk() error {
	w.dir, w.name = w.root, "."
	if w.opt.rotates() {
		w.name = fmt.Sprintf("%s%06d", ctf.ChunkPrefix, w.chunks)
		if err := w.root.Mkdir(w.name, 0o700); err != nil {
			return err
		}
		dir, err := w.root.OpenRoot(w.name)
		if err != nil {
			return errors.Join(err, w.root.Remove(w.name))
		}
		w.dir = dir
	}
	if err := w.dir.Mkdir(ctf.OwnDirectory, 0o700); err != nil {
		if w.dir != w.root {
			err = errors.Join(err, w.dir.Close(), w.root.Remove(w.name))
			w.dir = w.root
		}
		return err
	}
	w.mu.Lock()
	w.chunks++
	w.mu.Unlock()
	return nil
}

// rotate ends the chunk.
func (w *writer) rotate() { w.put(message{ends: &chunkEnd{done: make(chan struct{})}}) }

// errNoPart: nothing was rotated.
var errNoPart = errors.New("no part of the trace has ended")

// lastPart waits until the chunk that rotate has ended last is written.
func (w *writer) lastPart(ctx context.Context) (Part, error) {
	w.mu.Lock()
	end := w.last
	w.mu.Unlock()
	if end == nil {
		return Part{}, errNoPart
	}
	select {
	case <-end.done:
		return end.part, end.err
	case <-ctx.Done():
		return Part{}, ctx.Err()
	}
}

// keeps notes the size of a chunk that is complete; 0: it is removed.
func (w *writer) keeps(name string, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kept[name] = size; size == 0 {
		delete(w.kept, name)
	}
}

func (w *writer) removeOldest() error {
	name := w.old[0]
	w.old = w.old[1:]
	w.removed++
	w.keeps(name, 0)
	if w.squeeze != nil {
		return w.squeeze.remove(w.root, name)
	}
	return w.root.RemoveAll(name)
}

// endChunk closes the files of a chunk and begins the next one.
func (w *writer) endChunk() error {
	err := w.closeFiles()
	if w.dir != w.root {
		err = errors.Join(err, w.dir.Close())
	}
	if err != nil {
		return err
	}
	w.old = append(w.old, w.name)
	w.keeps(w.name, w.part.Bytes)
	if w.squeeze != nil {
		w.squeeze.add(w.root, w.name, w.part.Bytes)
	}
	for w.opt.Keep > 0 && len(w.old) >= w.opt.Keep { // with the one that begins
		if err := w.removeOldest(); err != nil {
			return err
		}
	}
	return w.making("", w.beginChunk)
}

func (w *writer) closeFiles() (err error) {
	for name, o := range w.files {
		err = errors.Join(err, o.f.Close())
		delete(w.files, name)
	}
	return err
}

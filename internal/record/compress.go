package record

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// compressor compresses the packets of chunks that are complete, one chunk after another. A chunk can be removed meanwhile: whatever makes,
// renames or removes its files holds mu, and does so only while the chunk is to be compressed.
type compressor struct {
	opt  *Options
	mu   sync.Mutex
	todo map[string]int64 // sizes of chunks that wait, or are being compressed
	did  sync.Cond        // todo has become smaller
	work chan chunkOf
	done chan struct{}
}

type chunkOf struct {
	root *os.Root
	name string
}

// errRemoved: the chunk was removed.
var errRemoved = errors.New("the chunk was removed")

func newCompressor(opt *Options) *compressor {
	c := &compressor{opt: opt, todo: map[string]int64{}, work: make(chan chunkOf, 1024), done: make(chan struct{})}
	c.did.L = &c.mu
	go func() {
		defer close(c.done)
		for x := range c.work {
			err := c.chunk(x)
			removed := c.changing(x.name, func() error { c.drop(x.name); return nil }) != nil
			if err != nil && !removed && opt.Warn != nil {
				opt.Warn(fmt.Sprintf("%s stays as it is: %v", filepath.Join(opt.Dir, x.name), err))
			}
		}
	}()
	return c
}

// drop forgets a chunk. The caller holds mu.
func (c *compressor) drop(name string) {
	delete(c.todo, name)
	c.did.Broadcast()
}

// wait returns when no chunk is to be compressed any more, or when enough returns true for the size of the largest one that is.
func (c *compressor) wait(enough func(largest int64) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.todo) > 0 && !enough(slices.Max(slices.Collect(maps.Values(c.todo)))) {
		c.did.Wait()
	}
}

// add compresses a chunk of a size later, unless too many wait.
func (c *compressor) add(root *os.Root, name string, size int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.work <- chunkOf{root, name}:
		c.todo[name] = size
	default:
	}
}

// remove removes a chunk.
func (c *compressor) remove(root *os.Root, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(name)
	return root.RemoveAll(name)
}

// changing changes a chunk, unless it was removed.
func (c *compressor) changing(name string, do func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.todo[name]; !ok {
		return errRemoved
	}
	return do()
}

func (c *compressor) finish() {
	close(c.work)
	<-c.done
}

// chunk compresses the files of a chunk. The old file is removed when the new one is complete.
func (c *compressor) chunk(x chunkOf) error {
	dir, err := x.root.OpenRoot(x.name)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	list, err := f.ReadDir(-1)
	_ = f.Close()
	if err != nil {
		return err
	}
	for _, e := range list {
		if !e.Type().IsRegular() || e.Name() == ctf.MetadataFile {
			continue
		}
		if err := c.squeeze(x.name, dir, e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// squeeze compresses a file of a chunk.
func (c *compressor) squeeze(chunk string, dir *os.Root, name string) error {
	in, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	to := ctf.OwnDirectory + "/." + name + ".new"
	var out *os.File
	err = c.changing(chunk, func() (err error) {
		out, err = dir.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = errors.Join(ctf.Compress(out, in), out.Close())
	return c.changing(chunk, func() error {
		if err == nil {
			err = dir.Rename(to, ctf.OwnDirectory+"/"+name+ctf.CompressedSuffix)
		}
		if err != nil {
			_ = dir.Remove(to)
			return err
		}
		return dir.Remove(name)
	})
}

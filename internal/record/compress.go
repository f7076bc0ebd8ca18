package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/jalon-trace/jalon/internal/ctf"
)

// compressor compresses the packets of chunks that are complete, one chunk after another.
type compressor struct {
	opt  *Options
	mu   sync.Mutex
	gone map[string]bool
	work chan chunkOf
	done chan struct{}
}

type chunkOf struct {
	root *os.Root
	name string
}

func newCompressor(opt *Options) *compressor {
	c := &compressor{opt: opt, gone: map[string]bool{}, work: make(chan chunkOf, 1024), done: make(chan struct{})}
	go func() {
		defer close(c.done)
		for x := range c.work {
			if err := c.chunk(x); err != nil && !c.isGone(x.name) && opt.Warn != nil {
				opt.Warn(fmt.Sprintf("%s stays as it is: %v", filepath.Join(opt.Dir, x.name), err))
			}
		}
	}()
	return c
}

// add compresses a chunk later, unless too many wait.
func (c *compressor) add(root *os.Root, name string) {
	select {
	case c.work <- chunkOf{root, name}:
	default:
	}
}

// forget leaves out a chunk that is removed.
func (c *compressor) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone[name] = true
}

func (c *compressor) isGone(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone[name]
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
		if err := squeeze(dir, e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func squeeze(dir *os.Root, name string) error {
	in, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	to := ctf.OwnDirectory + "/." + name + ".new"
	out, err := dir.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err = errors.Join(ctf.Compress(out, in), out.Close()); err == nil {
		err = dir.Rename(to, ctf.OwnDirectory+"/"+name+ctf.CompressedSuffix)
	}
	if err != nil {
		_ = dir.Remove(to)
		return err
	}
	return dir.Remove(name)
}

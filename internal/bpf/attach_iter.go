package bpf

import (
	"errors"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
)

// attachIter makes an iterator: the program runs when Iterate goes through the objects (Linux 5.8).
func attachIter(_ *Kernel, prog *ebpf.Program, _ *Target) ([]part, error) {
	l, err := link.AttachIter(link.IterOptions{Program: prog})
	if err != nil {
		return nil, err
	}
	return []part{{link: l, event: -1}}, nil
}

// Iterate goes once through the objects of the kernel for which the link's program is an iterator. It returns when the program
// has run for all of them. Links of other kinds have none.
func (l *Link) Iterate() error {
	l.mu.Lock()
	parts := l.parts
	l.mu.Unlock()
	var errs []error
	for _, p := range parts {
		it, ok := p.link.(*link.Iter)
		if !ok {
			continue
		}
		f, err := it.Open()
		if err == nil {
			_, err = io.Copy(io.Discard, f)
			err = errors.Join(err, f.Close())
		}
		errs = append(errs, wrapped("iterating", err))
	}
	return errors.Join(errs...)
}

func wrapped(op string, err error) error {
	if err == nil {
		return nil
	}
	return wrap(op, err)
}

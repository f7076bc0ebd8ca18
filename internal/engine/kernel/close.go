package kernel

import "errors"

// Close implements engine.Engine. The host stays open.
func (e *Engine) Close() error {
	errs := []error{e.Stop()}
	for _, l := range e.loads {
		if l.loaded != nil {
			errs = append(errs, l.loaded.Close())
		}
	}
	errs = append(errs, e.calls.close())
	errs = append(errs, e.loader.follower.close(), e.loader.walks.close(), e.loader.users.close(), e.loader.watched.close())
	for _, on := range e.attacher.listeners.on {
		errs = append(errs, on.prog.Close())
	}
	for _, t := range e.loader.tables {
		errs = append(errs, t.buffer.Close())
	}
	for _, t := range e.loader.stacks {
		errs = append(errs, t.stacks.Close())
	}
	if e.loader.mem.buffer != nil {
		errs = append(errs, e.loader.mem.buffer.Close())
	}
	return errors.Join(errs...)
}

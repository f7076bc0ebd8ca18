package session

import "github.com/jalon-trace/jalon/internal/tracepoint"

// tracked is a tracepoint with what became of it in the process.
type tracked struct {
	*tracepoint.Tracepoint

	program  *Program // a ready-made hit program, in the place of texts
	counting *pass    // Pass, counted down
	pending  error    // no site was found yet, and why
	sites    int      // installed so far
	refused  bool     // in a library that came later, and said why: not tried again
}

func track(list []*tracepoint.Tracepoint) []*tracked {
	var out []*tracked
	for _, tp := range list {
		out = append(out, &tracked{Tracepoint: tp})
	}
	return out
}

func (tp *tracked) pass() *pass {
	if tp.Pass > 0 && tp.counting == nil {
		tp.counting = &pass{tp.Pass}
	}
	return tp.counting
}

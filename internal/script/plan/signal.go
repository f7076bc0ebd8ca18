package plan

import (
	"fmt"

	"github.com/jalon-trace/jalon/internal/lang/script"
	"github.com/jalon-trace/jalon/internal/script/check"
	"github.com/jalon-trace/jalon/internal/script/types"
	"github.com/jalon-trace/jalon/internal/script/words"
)

// sent are the words that send a signal, and whether it is for the thread (1) or the process (0).
var sent = map[string]int{"signal": 0, "signal_thread": 1}

// sendSignal makes an item of signal(n) and signal_thread(n): the site sends the signal when it makes the record, which has the kernel's result.
// So the site has to know whether the call is reached.
func sendSignal(w *planner, x *script.Call, name string) {
	const hint = "a condition on numbers that the site reads is known there"
	c, ok := signalNumber(w, x.Args[0])
	if !ok {
		w.unknowable(x.Args[0])
		return
	}
	if w.at == nil {
		w.fail(x, name+"() cannot be used in a probe that has a label, and not with usdt", "")
		return
	}
	cond, known := w.at.reached()
	switch {
	case !w.inKernel():
		w.fail(x, name+"() is sent by the kernel", "") // the probe becomes a uprobe
		return
	case !known || w.parts != nil:
		w.fail(x, "whether "+name+"() is reached is not known at the site", hint)
		return
	}
	c = fmt.Sprintf("@signal(%s, %d, %d)", c, sent[name], len(w.s.Collect))
	if cond != "" {
		c = "((" + cond + ") ? " + c + " : 0L)"
	}
	w.read(x, c, types.Int64)
}

func signalNumber(w *planner, x script.Expr) (string, bool) {
	if k := w.p.Consts[x]; k != nil && k.Kind == types.String {
		return fmt.Sprintf("%dU", words.SignalNumber(k.Str)), true
	}
	c, ok := w.value(x)
	return "(unsigned int)(" + c + ")", ok
}

// AtSite reports whether sites execute a word or function for jalon.
func AtSite(name string) bool {
	_, signal := sent[name]
	return wordsAtSite[name] != nil || items[name] != nil || signal || name == "join"
}

// signals reports whether a probe sends signals.
func signals(pr *check.Probe) bool {
	found := false
	script.Walk(pr.Body, func(n script.Node) bool {
		if call, ok := n.(*script.Call); ok {
			_, is := sent[wordOf(call)]
			found = found || is
		}
		return !found
	})
	return found
}

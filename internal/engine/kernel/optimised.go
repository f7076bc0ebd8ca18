package kernel

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/bpf"
	"github.com/jalon-trace/jalon/internal/patch"
)

// The kernel comes to a kprobe by ftrace's call at the beginning of a function, by a jump that it writes some time after arming, or
// by a breakpoint, which takes several times as long as either.

// maxReached is for how many kprobes the way is described: each may read a function.
const maxReached = 64

// reached says how the kernel comes to the kprobe at an address, and where a jump is possible if it is by a breakpoint; "": not known.
func (s *facts) reached(addr uint64, way bpf.KprobeWay) string {
	switch {
	case !host.Processor.CanDecode || addr == 0:
		return ""
	case way == bpf.ByFtrace, way == bpf.ByJump:
		return "by " + way.String()
	}
	switch on, known := bpf.KprobesOptimised(); {
	case !known:
		return "by a breakpoint: this kernel puts no jumps at kprobes"
	case !on:
		return "by a breakpoint: jumps are switched off (sysctl debug.kprobes-optimization=1)"
	}
	code, function := s.kernelCode(addr)
	if code == nil {
		return ""
	}
	why := code.NoJump(addr)
	if why == "" {
		if way == bpf.ByBreakpoint {
			return "by a breakpoint, until the kernel has replaced it by a jump"
		}
		return "by a jump"
	}
	text := "by a breakpoint, which takes longer than a jump: " + why
	if near, ok := code.Nearest(addr); ok {
		text += fmt.Sprintf("; the nearest instruction with a jump: kprobe:%s+%#x", function.name, near-function.addr)
	}
	return text
}

// kernelFunction is a function by its name and address.
type kernelFunction struct {
	name string
	addr uint64
}

// kernelCode reads the code of the function at an address; nil if it cannot be read.
func (s *facts) kernelCode(addr uint64) (*patch.KernelCode, kernelFunction) {
	syms, err := s.kernel.Symbols()
	if err != nil || s.k == nil {
		return nil, kernelFunction{}
	}
	at, ok := syms.At(addr)
	if !ok || at.Size == 0 || at.Size > maxCode {
		return nil, kernelFunction{}
	}
	f := kernelFunction{at.Name, at.Addr}
	code, err := s.k.ReadMemory(at.Addr, int(at.Size))
	if err != nil {
		return nil, f
	}
	return patch.ReadKernelCode(code, at.Addr, func(target uint64) bool {
		to, ok := syms.At(target)
		return ok && strings.HasPrefix(to.Name, "__x86_indirect_thunk")
	}), f
}

// noteReached notes how the kernel comes to the kprobes that are attached. The result is called when they are detached, so that their
// code is the functions' own again.
func noteReached(e *Engine) func() {
	noted := map[*program]bpf.KprobeWay{}
	describe := func() {
		for p, way := range noted {
			p.at.reached = e.facts.reached(p.at.v.at, way)
		}
	}
	var list []*program
	for _, p := range e.programs {
		if p.on && !p.gone && p.load != nil && p.load.loaded != nil && p.at.v.target.Kind == bpf.Kprobe && p.at.v.at != 0 {
			list = append(list, p)
		}
	}
	if len(list) == 0 || len(list) > maxReached {
		return describe
	}
	ways, err := bpf.KprobeWays()
	if err != nil {
		e.logf("the kernel's list of kprobes: %v", err)
		return describe
	}
	for _, p := range list {
		way := ways[p.at.v.at]
		if way == bpf.UnknownWay && p.at.v.atEntry { // behind endbr64
			way = ways[p.at.v.at+4]
		}
		if way != bpf.UnknownWay { // others are by a program for many functions (kprobe.multi)
			noted[p] = way
		}
	}
	return describe
}

// wouldReach says how the kernel would come to a kprobe. Reading the function's code needs the rights to trace.
func (e *Host) wouldReach(v *variant) string {
	if v.target.Kind != bpf.Kprobe || v.at == 0 || !bpf.HasKprobes() {
		return ""
	}
	if v.atEntry && e.facts.traceable()[v.target.Symbol] {
		return e.facts.reached(v.at, bpf.ByFtrace)
	}
	if e.k == nil {
		k, err := bpf.Open()
		if err != nil {
			return ""
		}
		e.base.k = k
		defer func() {
			e.base.k = nil
			_ = k.Close()
		}()
	}
	if e.facts.behindEndbr(v.at) {
		return e.facts.reached(v.at, bpf.ByFtrace)
	}
	return e.facts.reached(v.at, bpf.UnknownWay)
}

// behindEndbr reports whether an address is the instruction behind the endbr64 at the beginning of a function that ftrace traces: ftrace's
// call is there.
func (s *facts) behindEndbr(addr uint64) bool {
	// In functions that are called directly only, Linux 5.18 and newer have one of the others in its place.
	const endbr64, sealed, sealedSince615 = "\xf3\x0f\x1e\xfa", "\x66\x0f\x1f\x00", "\x0f\x1f\x40\xd6"
	syms, err := s.kernel.Symbols()
	if err != nil {
		return false
	}
	at, ok := syms.At(addr)
	if !ok || at.Offset != uint64(len(endbr64)) || !s.traceable()[at.Name] {
		return false
	}
	head, err := s.k.ReadMemory(at.Addr, len(endbr64))
	return err == nil && slices.Contains([]string{endbr64, sealed, sealedSince615}, string(head))
}

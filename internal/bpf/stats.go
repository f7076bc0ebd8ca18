package bpf

import (
	"fmt"
	"io"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Stats are the kernel's own figures of a program, over all its places and since
// it was loaded. Hits and Time grow only while statistics are on (EnableStats);
// Missed always.
type Stats struct {
	Hits uint64
	// Missed hits: the program was already running on the CPU (Linux 5.12).
	Missed uint64
	Time   time.Duration
}

// PerHit is the mean time of a hit in nanoseconds, without the way to the
// program; 0 when there was no hit.
func (s Stats) PerHit() float64 {
	if s.Hits == 0 {
		return 0
	}
	return float64(s.Time) / float64(s.Hits)
}

// Stats reads the program's figures.
func (l *Loaded) Stats() (Stats, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum Stats
	for _, p := range l.forms {
		if p == nil {
			continue
		}
		st, err := p.Stats()
		if err != nil {
			return Stats{}, l.k.explain(err, &attempt{op: "read the statistics of the program " + l.spec.Name})
		}
		sum.Hits += st.RunCount
		sum.Missed += st.RecursionMisses
		sum.Time += st.Runtime
	}
	return sum, nil
}

// EnableStats has the kernel count hits and time of all programs on the machine
// until it is closed (Linux 5.8). It costs each hit two readings of the clock.
func (k *Kernel) EnableStats() (io.Closer, error) {
	c, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		return nil, k.explain(err, &attempt{op: "turn on statistics of eBPF programs"})
	}
	return c, nil
}

// Missed returns the number of hits that were lost before any program ran, for example of kprobes hit within
// another probe. ok is false if the kernel does not count them (for kprobes it does since Linux 6.7).
func (l *Link) Missed() (n uint64, ok bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.parts {
		if p.link == nil {
			continue
		}
		info, err := p.link.Info()
		if err != nil {
			return 0, false, fmt.Errorf("asking the kernel about a link: %w", err)
		}
		if m := info.KprobeMulti(); m != nil {
			n, ok = n+m.Missed, true
		}
		if pe := info.PerfEvent(); pe != nil {
			if kp := pe.Kprobe(); kp != nil {
				n, ok = n+kp.Missed, true
			}
		}
	}
	return n, ok, nil
}

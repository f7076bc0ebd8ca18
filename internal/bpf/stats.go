package bpf

import (
	"fmt"
	"io"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Stats are the kernel's own counts of a program since it was loaded, over all its places. Hits and Time
// grow only while statistics are enabled (EnableStats); Missed always.
type Stats struct {
	Hits uint64
	// Missed counts hits at which the program was already running on the CPU (Linux 5.12).
	Missed uint64
	Time   time.Duration
}

// PerHit returns the mean time of a hit in nanoseconds, without the kernel's cost of calling the program; 0
// without hits.
func (s Stats) PerHit() float64 {
	if s.Hits == 0 {
		return 0
	}
	return float64(s.Time) / float64(s.Hits)
}

// Stats reads the kernel's counts of the program.
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

// EnableStats makes the kernel count hits and time of all programs on the machine until it is closed (Linux
// 5.8). This costs two readings of the clock at each hit.
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
			return 0, false, fmt.Errorf("reading the kernel's information about a link: %w", err)
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

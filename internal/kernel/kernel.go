package kernel

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"
)

// Options of Open.
type Options struct{}

// Kernel is the running kernel, as far as this package is concerned. Its methods
// may be called by several goroutines at once.
type Kernel struct {
	features Features

	btfOnce sync.Once
	btfSpec *btf.Spec
	btfErr  error

	mu     sync.Mutex
	peeker *peeker // made by the first ReadMemory
}

// Open finds out what the kernel can do (some 50 ms) and lifts the limit on
// locked memory where the kernel counts eBPF's memory there (before Linux 5.11).
// An error is returned only where nothing could work; what is missing otherwise
// stands in Features.
func Open(Options) (*Kernel, error) {
	k := &Kernel{}
	k.features.readHost()
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, &Error{Op: "raise the limit on locked memory for eBPF", Err: err,
			Remedy: "run jalon as root, give it CAP_SYS_RESOURCE, or set ulimit -l unlimited"}
	}
	for _, probe := range probes {
		probe(k)
	}
	return k, nil
}

// Features are what the kernel and this process can do, as found by Open.
func (k *Kernel) Features() *Features { return &k.features }

// Close lets go of what the Kernel holds for itself. Buffers, programs and links
// are closed by whoever made them.
func (k *Kernel) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.peeker == nil {
		return nil
	}
	p := k.peeker
	k.peeker = nil
	return p.close()
}

// blacklisted says whether the kernel's list of functions that must not be
// probed has this one. The list is in debugfs; false when it cannot be read.
func (k *Kernel) blacklisted(symbol string) bool {
	if symbol == "" {
		return false
	}
	text, err := os.ReadFile("/sys/kernel/debug/kprobes/blacklist")
	if err != nil {
		return false
	}
	// A line: "0xffffffff81000000-0xffffffff81000010<TAB>name".
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[1] == symbol {
			return true
		}
	}
	return false
}

// wrap says what was attempted.
func wrap(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }

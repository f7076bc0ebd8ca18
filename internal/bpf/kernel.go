package bpf

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/jalon-trace/jalon/internal/fail"
)

// Kernel is the running kernel. Several goroutines may call its methods at once.
type Kernel struct {
	features Features

	typedOnce, fentryOnce sync.Once
	typed, fentry         Fact

	mu      sync.Mutex
	peeker  *peeker  // made by the first ReadMemory
	printer *printer // made by the first Print
	nothing *Loaded  // made by doingNothing

	ending sync.WaitGroup // the attachments that were only tried
}

// Open tests the features of the kernel (about 5 ms). Missing features are in Features; the error means
// that nothing is known about the kernel. Open does not change the limit on locked memory: since 5.11
// eBPF's memory is charged to the control group, and older kernels lack the atomic operations that buffers
// need.
func Open() (*Kernel, error) {
	k := &Kernel{}
	k.features.readHost()
	if k.features.Major == 0 {
		return nil, &fail.Error{Op: "find out the kernel's version", Err: errors.New("neither uname nor the vDSO has it"), Remedy: "mount /proc"}
	}
	for _, probe := range probes {
		probe(k)
	}
	return k, nil
}

// Features returns the features of the kernel and this process, as found by Open.
func (k *Kernel) Features() *Features { return &k.features }

// Close frees the Kernel's own resources. Their creators close buffers, programs and links.
func (k *Kernel) Close() error {
	k.ending.Wait()
	k.mu.Lock()
	defer k.mu.Unlock()
	var errs []error
	if k.nothing != nil {
		errs = append(errs, k.nothing.Close())
	}
	if k.peeker != nil {
		errs = append(errs, k.peeker.close())
	}
	if k.printer != nil {
		errs = append(errs, k.printer.close())
	}
	k.nothing, k.peeker, k.printer = nil, nil, nil
	return errors.Join(errs...)
}

// blacklisted reports whether the kernel's list of functions that must not be probed has this function. The
// list is in debugfs; if it cannot be read, the result is false.
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

// wrap adds the attempted operation to an error.
func wrap(what string, err error) error { return fmt.Errorf("%s: %w", what, err) }

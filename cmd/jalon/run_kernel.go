package main

import (
	"sync"

	"github.com/jalon-trace/jalon/internal/engine/kernel"
)

// lazyKernel is the running kernel, for probes that run in jalon itself. It is opened when something of it is read.
type lazyKernel struct {
	open func() (*kernel.Access, error)
}

func newLazyKernel() *lazyKernel { return &lazyKernel{sync.OnceValues(kernel.OpenAccess)} }

func (k *lazyKernel) Task() (uint64, error) {
	a, err := k.open()
	if err != nil {
		return 0, err
	}
	return a.Task()
}

func (k *lazyKernel) Jiffies() (uint64, error) {
	a, err := k.open()
	if err != nil {
		return 0, err
	}
	return a.Jiffies()
}

// Kernel and User are the names of addresses, for interp.
func (k *lazyKernel) Kernel(addr uint64) string {
	a, err := k.open()
	if err != nil {
		return ""
	}
	return a.Name(addr)
}

func (k *lazyKernel) User(int, uint64) string { return "" }

func (k *lazyKernel) Read(addr uint64, n int) ([]byte, bool, error) {
	a, err := k.open()
	if err != nil {
		return nil, false, err
	}
	return a.Read(addr, n)
}

func (k *lazyKernel) Symbol(name string) (uint64, error) {
	a, err := k.open()
	if err != nil {
		return 0, err
	}
	return a.Symbol(name)
}

func (k *lazyKernel) PerCPU(name string, cpu uint64) (uint64, error) {
	a, err := k.open()
	if err != nil {
		return 0, err
	}
	return a.PerCPU(name, cpu)
}

func (k *lazyKernel) Offset(tag, member string) (int64, error) {
	a, err := k.open()
	if err != nil {
		return 0, err
	}
	return a.Offset(tag, member)
}

func (k *lazyKernel) Print(text string) error {
	a, err := k.open()
	if err != nil {
		return err
	}
	return a.Print(text)
}

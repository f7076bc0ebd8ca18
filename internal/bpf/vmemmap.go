package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// VmemmapBase returns the address of the kernel's array of struct page. The texts of some events convert a
// page to its pfn by it. Many kernels have no symbol for it, and its address is random. So a page of this
// process is put into a pipe: the pipe's buffer has the address of its struct page, and /proc/self/pagemap
// has its pfn.
func (k *Kernel) VmemmapBase() (uint64, error) {
	const op = "find the kernel's array of pages"
	base, err := k.vmemmapBase()
	if err != nil {
		return 0, k.explain(err, &attempt{op: op})
	}
	return base, nil
}

func (k *Kernel) vmemmapBase() (uint64, error) {
	strct, err := structNamed("page")
	if err != nil {
		return 0, err
	}
	size := uint64(strct.Size())
	page, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Munmap(page) }()
	page[0] = 1 // allocates the page
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	defer unix.Close(pipe[0])
	defer unix.Close(pipe[1])
	iov := unix.Iovec{Base: &page[0], Len: uint64(len(page))}
	if _, err := unix.Vmsplice(pipe[1], []unix.Iovec{iov}, 0); err != nil {
		return 0, wrap("putting a page into a pipe", err)
	}
	pfn, err := pfnOf(page) // the pipe keeps the page in place
	if err != nil {
		return 0, err
	}
	task, err := k.currentTask()
	if err != nil {
		return 0, err
	}
	at, err := k.follow(task, ofFile(pipe[1],
		step{"pipe_inode_info", "bufs", 0, 8},
		step{"pipe_buffer", "page", 0, 8},
	))
	if err != nil {
		return 0, err
	}
	base := at - pfn*size
	if base>>63 == 0 || base%uint64(os.Getpagesize()) != 0 {
		return 0, fmt.Errorf("page %#x with number %#x is not in an array", at, pfn)
	}
	return base, nil
}

// pfnOf returns the number of the physical page of a page of this process.
func pfnOf(page []byte) (uint64, error) {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	// One word for each page: bit 63 present, bits 0-54 the number, 0 without CAP_SYS_ADMIN.
	var word [8]byte
	at := uintptr(unsafe.Pointer(&page[0])) / uintptr(os.Getpagesize()) * 8
	if _, err := f.ReadAt(word[:], int64(at)); err != nil {
		return 0, err
	}
	w := binary.NativeEndian.Uint64(word[:])
	pfn := w & (1<<55 - 1)
	if w>>63 == 0 || pfn == 0 {
		return 0, errors.New("the numbers of pages are hidden (they need CAP_SYS_ADMIN)")
	}
	return pfn, nil
}

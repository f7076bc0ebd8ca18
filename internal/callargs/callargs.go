// Package callargs prints the arguments and results of system calls with the names of their constants, as strace
// does.
//
// Import rule: callargs imports nothing of jalon.
package callargs

import (
	"math/bits"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Arg is an argument: its name and declared type, and its register.
type Arg struct {
	Name    string
	Word    uint64
	Pointer bool
	Signed  bool
	Size    int64 // of its type, bytes
}

// Append prints an argument of a system call: names for constants and flags, else a number.
func Append(b []byte, call string, a Arg) []byte {
	n := a.value()
	k := kindOf(call, a.Name)
	switch {
	case a.Pointer && n == 0: // first: names of arguments mean something else for pointers (`int *fildes`)
		return append(b, "NULL"...)
	case a.Pointer:
		return appendHex(b, n)
	case k != nil:
		return k.append(b, n)
	case isDescriptor(a.Name) && int32(n) == unix.AT_FDCWD:
		return append(b, "AT_FDCWD"...)
	case isDescriptor(a.Name):
		return strconv.AppendInt(b, int64(int32(n)), 10)
	case n > 4095 && isAddress(a.Name):
		return appendHex(b, n)
	case a.Signed:
		return strconv.AppendInt(b, int64(n), 10)
	}
	return strconv.AppendUint(b, n, 10)
}

// value is the argument extended from its type: the bits of the register above it mean nothing.
func (a *Arg) value() uint64 {
	if a.Size <= 0 || a.Size >= 8 {
		return a.Word
	}
	shift := 64 - 8*uint(a.Size)
	if a.Signed {
		return uint64(int64(a.Word<<shift) >> shift)
	}
	return a.Word << shift >> shift
}

// AppendResult prints the result of a system call: errors with their names, addresses in hexadecimal.
func AppendResult(b []byte, call string, n int64) []byte {
	switch {
	case n < 0 && n >= -4095:
		b = strconv.AppendInt(b, n, 10)
		if name := ErrorName(-n); name != "" {
			b = append(append(b, ' '), name...)
		}
		return b
	case call == "umask":
		return octal(b, uint64(n))
	case slices.Contains([]string{"mmap", "brk", "mremap", "shmat"}, call):
		return appendHex(b, uint64(n))
	}
	return strconv.AppendInt(b, n, 10)
}

// kernelErrors are error numbers that are used only in the kernel and can be seen where a system call ends.
var kernelErrors = map[int64]string{
	512: "ERESTARTSYS", 513: "ERESTARTNOINTR", 514: "ERESTARTNOHAND", 516: "ERESTART_RESTARTBLOCK", 524: "ENOTSUPP",
}

// ErrorName returns the name of an error number, or "".
func ErrorName(n int64) string {
	if name := kernelErrors[n]; name != "" {
		return name
	}
	return unix.ErrnoName(syscall.Errno(n))
}

func isDescriptor(name string) bool {
	return slices.Contains([]string{"fd", "dfd", "olddfd", "newdfd", "fildes", "oldfd", "newfd", "epfd", "sockfd", "at_fd"}, name)
}

// isAddress reports an argument that is an address although its type is a number.
func isAddress(name string) bool {
	return slices.Contains([]string{"addr", "start", "brk", "new_addr", "newsp", "vm"}, name)
}

func appendHex(b []byte, n uint64) []byte {
	return strconv.AppendUint(append(b, "0x"...), n, 16)
}

// Constant returns the value of a constant that arguments are printed with.
func Constant(name string) (value int64, ok bool) {
	for _, args := range arguments {
		for _, k := range args {
			if k == nil {
				continue
			}
			if v, ok := k.named(name); ok {
				return v, true
			}
		}
	}
	return 0, false
}

// named returns the value of one of the constants.
func (k *kind) named(name string) (value int64, ok bool) {
	if name == k.none {
		return 0, name != ""
	}
	for v, n := range k.values {
		if n == name {
			return int64(v), true
		}
	}
	for _, f := range k.flags {
		if f.name == name {
			return int64(f.bits), true
		}
	}
	return 0, false
}

// kind is a set of constants.
type kind struct {
	// mask are the bits of a value that is one of values; the other bits are flags. With whole there are no flags.
	mask   uint64
	values map[uint64]string
	flags  []flag
	none   string // for no bits
	print  func(b []byte, n uint64) []byte
}

// whole is the mask of constants that have no bits in common with others: another value is a number.
const whole = ^uint64(0)

type flag struct {
	bits uint64
	name string
}

func (k *kind) append(b []byte, n uint64) []byte {
	if k.print != nil {
		return k.print(b, n)
	}
	start := len(b)
	or := func() {
		if len(b) > start {
			b = append(b, '|')
		}
	}
	if k.values != nil {
		v := n & k.mask
		if name, ok := k.values[v]; ok {
			b, n = append(b, name...), n&^k.mask
		} else if k.mask == whole {
			return strconv.AppendInt(b, int64(n), 10)
		}
	}
	for _, f := range k.flags {
		if f.bits != 0 && n&f.bits == f.bits {
			or()
			b, n = append(b, f.name...), n&^f.bits
		}
	}
	switch {
	case n != 0:
		or()
		b = appendHex(b, n)
	case len(b) == start && k.none != "":
		b = append(b, k.none...)
	case len(b) == start:
		b = append(b, '0')
	}
	return b
}

// named makes flags, those of several bits first, because they contain others.
func named(list ...flag) []flag {
	slices.SortStableFunc(list, func(x, y flag) int { return bits.OnesCount64(y.bits) - bits.OnesCount64(x.bits) })
	return list
}

// octal prints a mode of a file.
func octal(b []byte, n uint64) []byte {
	if n != 0 {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, n, 8)
}

// signal prints the name of a signal.
func signal(b []byte, n uint64) []byte {
	if name := unix.SignalName(syscall.Signal(n)); name != "" {
		return append(b, name...)
	}
	return strconv.AppendInt(b, int64(int32(n)), 10)
}

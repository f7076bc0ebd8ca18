package process

import (
	"encoding/binary"
	"fmt"

	"github.com/jalon-trace/jalon/internal/arch/host"
	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// The components of an XSAVE area that GDB knows: their numbers are the bits of XCR0
// and XSTATE_BV (Intel SDM volume 1, chapter 13).
const (
	xX87    = 0
	xSSE    = 1
	xYmmHi  = 2 // bits 128-255 of ymm0-15
	xMask   = 5 // k0-7
	xZmmHi  = 6 // bits 256-511 of zmm0-15
	xHi16   = 7 // zmm16-31
	xPKRU   = 9
	xStates = 10
)

// Offsets in an XSAVE area. The legacy region is that of FXSAVE.
const (
	xFCW       = 0
	xFSW       = 2
	xFTW       = 4 // abridged: a bit for each physical register that is not empty
	xFOP       = 6
	xFIP       = 8
	xFCS       = 12
	xFDP       = 16
	xFDS       = 20
	xMXCSR     = 24
	xMXCSRMask = 28
	xST        = 32  // st0-7, 16 bytes each, in the order of the stack
	xXMM       = 160 // xmm0-15
	xSoftware  = 464 // Linux: what the kernel keeps in the area, as XCR0
	xHeader    = 512 // XSTATE_BV
	xLegacy    = 576 // the length of legacy region and header
)

// Values that registers have while their component is in its initial state.
const (
	initialFCW   = 0x37f
	initialMXCSR = 0x1f80
	// defaultMXCSRMask holds where the mask is 0.
	defaultMXCSRMask = 0xffbf
)

// xsaveLayout has the offsets of the components in the standard (not compacted) form, which ptrace uses. They
// depend on the processor.
type xsaveLayout [xStates]struct{ offset, size int }

// xsaveArea is what PTRACE_GETREGSET with NT_X86_XSTATE gives, or only the legacy
// region.
type xsaveArea []byte

// features are the components that the area has room for.
func (a xsaveArea) features() uint64 {
	switch {
	case len(a) < xHeader:
		return 0
	case len(a) < xLegacy:
		return 1<<xX87 | 1<<xSSE
	}
	return binary.LittleEndian.Uint64(a[xSoftware:]) | 1<<xX87 | 1<<xSSE
}

// inUse are the components that are not in their initial state: XSTATE_BV.
func (a xsaveArea) inUse() uint64 {
	if len(a) < xLegacy {
		return a.features()
	}
	return binary.LittleEndian.Uint64(a[xHeader:])
}

// component returns the bytes of one, nil if the area does not have it.
func (a xsaveArea) component(l *xsaveLayout, i int) []byte {
	c := l[i]
	if a.features()>>i&1 == 0 || c.size == 0 || c.offset < 0 || c.offset+c.size > len(a) {
		return nil
	}
	return a[c.offset : c.offset+c.size]
}

// used reports whether a component's bytes are valid. A component that is not in use has its initial values,
// whatever its bytes are.
func (a xsaveArea) used(i int) bool {
	if i == xPKRU {
		// The kernel gives the thread's PKRU here in any case; the header may be that
		// of an earlier XSAVE.
		return true
	}
	return a.inUse()>>i&1 != 0
}

// use marks a component as in use before it is written, with its initial values.
func (a xsaveArea) use(l *xsaveLayout, i int) {
	if len(a) < xLegacy {
		return
	}
	bv := a.inUse()
	if bv>>i&1 == 0 && i != xPKRU {
		mxcsr := a.mxcsr()
		if i == xX87 {
			// mxcsr and its mask lie among the bytes of x87, but do not belong to it.
			clear(a[:xMXCSR])
			clear(a[xST:xXMM])
			binary.LittleEndian.PutUint16(a[xFCW:], initialFCW)
		} else {
			clear(a.component(l, i))
		}
		a.putMXCSR(mxcsr)
	}
	// PTRACE_SETREGSET takes a PKRU that is not marked for 0, which allows all keys.
	if pkru := a.component(l, xPKRU); len(pkru) >= 4 && binary.LittleEndian.Uint32(pkru) != 0 {
		bv |= 1 << xPKRU
	}
	binary.LittleEndian.PutUint64(a[xHeader:], bv|1<<i)
}

// mxcsr is there when SSE or AVX is in use.
func (a xsaveArea) mxcsr() uint32 {
	if !a.used(xSSE) && !a.used(xYmmHi) {
		return initialMXCSR
	}
	return binary.LittleEndian.Uint32(a[xMXCSR:])
}

func (a xsaveArea) putMXCSR(v uint32) { binary.LittleEndian.PutUint32(a[xMXCSR:], v) }

func (a xsaveArea) setMXCSR(l *xsaveLayout, v uint32) error {
	mask := binary.LittleEndian.Uint32(a[xMXCSRMask:])
	if mask == 0 {
		mask = defaultMXCSRMask
	}
	if v&^mask != 0 {
		return fmt.Errorf("mxcsr: this processor does not have bits %#x", v&^mask)
	}
	a.use(l, xSSE)
	a.putMXCSR(v)
	return nil
}

// hostCPU has the register sets of this machine.
func hostCPU() rsp.CPU {
	has := host.X86()
	return rsp.CPU{AVX: has.AVX, AVX512: has.AVX512, PKeys: has.PKeys}
}

package process

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// syscallInfo is the head of struct ptrace_syscall_info (Linux 5.3).
type syscallInfo struct {
	op   uint8
	_    [7]byte
	ip   uint64
	sp   uint64
	nr   uint64 // at entry; at exit the result
	args [6]uint64
}

const (
	syscallEntry = 1
	syscallExit  = 2
)

func getSyscallInfo(tid int) (info syscallInfo, ok bool) {
	err := ptracePtr(unix.PTRACE_GET_SYSCALL_INFO, tid, unsafe.Sizeof(info), unsafe.Pointer(&info))
	return info, err == nil && info.op != 0
}

// syscallStop is a stop at the entry to a system call or at its exit, outside of
// injections.
func (p *Process) syscallStop(t *task) {
	if p.borrows(t) {
		p.letGain(t)
	}
	if p.ctl == nil || t.apart() {
		return
	}
	d := &t.dbg
	info, ok := getSyscallInfo(t.tid)
	if !ok {
		return // before Linux 5.3, or dying
	}
	d.entry = info.op == syscallEntry
	if d.call {
		if !d.entry {
			p.callDone(t)
		}
	} else if !d.entry && (d.step || d.inner) {
		d.stepDone = true
	}
	p.tellCall(t, int(info.nr))
	if d.alone == nil && d.stepDone && !p.inside(t) {
		p.arrived(t)
	} else if d.alone == nil && d.stepDone {
		p.toDo(t)
	}
}

// tellCall makes a thread stand at a call that is to be caught.
func (p *Process) tellCall(t *task, nr int) {
	o := &p.ctl.opt
	if !o.CatchSyscalls || !p.listed(t) {
		return
	}
	kind := StopSyscallEntry
	if !t.dbg.entry {
		kind = StopSyscallReturn
		var regs Regs
		if getRegs(t.tid, &regs) != nil {
			return
		}
		nr = int(regs.call())
	}
	if len(o.Syscalls) > 0 && !o.Syscalls[nr] {
		return
	}
	p.stand(t, Stop{Kind: kind, Syscall: nr})
}

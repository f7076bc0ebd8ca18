package inject

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/process/memory"
	"github.com/jalon-trace/jalon/internal/process/sys"
	"github.com/jalon-trace/jalon/internal/process/threads"
)

// Call is a system call of a list.
type Call struct {
	Nr   uint64
	Args [6]uint64
}

// Result is what a call has returned; Err is a unix.Errno.
type Result struct {
	Value uint64
	Err   error
}

// listing is what an injection needs to run lists of calls.
type listing struct {
	looked    bool
	done      unix.Signal // with which a list ends; 0: this thread runs calls one by one
	tid, tgid int         // the thread, in its own pid namespace
	foreign   bool        // that signal came for the program meanwhile; it is sent again
}

// doneSignals are candidates for listing.done: their default action is to do nothing.
var doneSignals = []unix.Signal{unix.SIGURG, unix.SIGWINCH}

// RunList runs calls in t one after the other, whether they succeed or not. An error is that of
// running them at all; results has those of the calls that were made.
//
// A thread that stops before and after each call takes two switches to jalon and back for it. A list takes
// one in all:
//
//  1. The thread is borrowed as for a single call; its pc is that of the stub's loop. The list is in the
//     scratch memory. The calls follow each other without stops.
//  2. The last call sends the thread a signal that the program neither catches nor blocks. At its
//     delivery the thread stops, behind that call in the loop, and jalon takes the signal away.
//  3. Jalon reads the results. The thread is given back in the delivery-stop that it is in: see endInDelivery.
//
// If jalon is killed, the thread runs the list to its end, drops the signal, which is ignored by
// default, and comes to the recovery code by the number -1 behind the list. The loop changes only registers
// that the recovery code puts back. So each prefix of a list must be harmless, and the whole.
//
// Under seccomp the calls run one by one: filters rest only while jalon lives. So they do where the kernel may answer
// a call with SIGSYS for another reason.
func (in *Injector[T]) RunList(t T, sp *Workspace, calls []Call) (results []Result, err error) {
	for len(calls) > 0 {
		if err := in.NeedScratch(t, sp); err != nil {
			return results, err
		}
		if err := in.need(t, sp); err != nil {
			return results, err
		}
		n := min(len(calls), maxList)
		may, err := in.mayList(t, sp)
		if err != nil {
			return results, err
		}
		if !may {
			list, err := in.RunEach(t, sp, calls)
			return append(results, list...), err
		}
		list, err := in.runList(t, sp, calls[:n])
		results = append(results, list...)
		if err != nil {
			if sys.Gone(err) {
				in.Drop()
			}
			return results, err
		}
		calls = calls[n:]
	}
	return results, nil
}

// RunEach is RunList with a stop before and after each call.
func (in *Injector[T]) RunEach(t T, sp *Workspace, calls []Call) (results []Result, err error) {
	for _, c := range calls {
		v, err := in.Run(t, sp, c.Nr, c.Args[:]...)
		if err != nil && in.isLost(err) {
			return results, err
		}
		results = append(results, Result{v, err})
	}
	return results, nil
}

// isLost reports whether an error of Run is that of the thread, and not the result of the call.
func (in *Injector[T]) isLost(err error) bool {
	_, failed := err.(unix.Errno)
	return !failed || in.inj == nil || sys.Gone(err)
}

// The list in the scratch memory: the cursor, then the calls, of 8 words each; the last word is the result.
const (
	listAt   = memory.PageSize / 2
	listCall = 64
	maxList  = (scratchSize-listAt)/listCall - 3 // without the signal, the end, and the cursor's word
)

// mayList reports whether the thread can run lists. It must be allowed to send itself a signal; security
// modules may forbid that. This is tried once in an address space; the signal is blocked, and comes to jalon at
// the first call of a list.
func (in *Injector[T]) mayList(t T, sp *Workspace) (bool, error) {
	l := &in.inj.list
	if !l.looked {
		l.looked = true
		in.inj.findSignal()
	}
	if l.done == 0 || sp.noLists {
		return false, nil
	}
	if !sp.lists {
		_, err := in.Run(t, sp, unix.SYS_TGKILL, uint64(l.tgid), uint64(l.tid), uint64(l.done))
		if err != nil && in.isLost(err) {
			return false, err
		}
		sp.lists, sp.noLists = err == nil, err != nil
	}
	return sp.lists, nil
}

// findSignal chooses the signal at the end of lists.
func (inj *injection[T]) findSignal() {
	l := &inj.list
	st, err := sys.ReadStatus(inj.t.Core().TID)
	if err != nil || inj.open || st.Seccomp != 0 || st.OwnTID == 0 || st.OwnTGID == 0 {
		return
	}
	l.tid, l.tgid = st.OwnTID, st.OwnTGID
	for _, sig := range doneSignals {
		if (st.Caught|inj.mask|st.Pending)&sys.SigBit(sig) == 0 {
			l.done = sig
			return
		}
	}
}

func (in *Injector[T]) runList(t T, sp *Workspace, calls []Call) ([]Result, error) {
	l := &in.inj.list
	in.calls += len(calls)
	done := Call{Nr: unix.SYS_TGKILL, Args: [6]uint64{uint64(l.tgid), uint64(l.tid), uint64(l.done)}}
	at := sp.Scratch + listAt
	b := binary.LittleEndian.AppendUint64(nil, at+8)
	for _, c := range append(calls[:len(calls):len(calls)], done) {
		b = binary.LittleEndian.AppendUint64(b, c.Nr)
		for _, v := range c.Args {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
		b = binary.LittleEndian.AppendUint64(b, 0)
	}
	end := at + uint64(len(b))
	b = binary.LittleEndian.AppendUint64(b, ^uint64(0))
	if err := sp.Write(at, b); err != nil {
		return nil, err
	}
	if err := sp.WriteRaw(sp.Stub+stubList, binary.LittleEndian.AppendUint64(nil, at)); err != nil {
		return nil, err
	}
	regs := in.inj.regs
	regs.SetCall(sp.Stub+stubRun, 0)
	if err := sys.SetRegs(t.Core().TID, &regs); err != nil {
		return nil, err
	}
	in.inj.masked = false // a single call after this one blocks the signal again
	if err := sys.SetSigmask(t.Core().TID, in.inj.blocked()&^sys.SigBit(l.done)); err != nil {
		return nil, err
	}
	err := in.awaitList(t, sp, end)
	if err != nil && sys.Gone(err) {
		return nil, err
	}
	if e := sp.Read(at, b); e != nil {
		return nil, e
	}
	made := (min(binary.LittleEndian.Uint64(b), end-listCall) - at - 8) / listCall
	results := make([]Result, made)
	for i := range results {
		results[i].Value, results[i].Err = resultOf(int64(binary.LittleEndian.Uint64(b[8+listCall*(i+1)-8:])))
	}
	return results, err
}

// awaitList lets t run until the list is done.
func (in *Injector[T]) awaitList(t T, sp *Workspace, end uint64) error {
	deliver := unix.Signal(0)
	for {
		if err := sys.Resume(t.Core().TID, sys.Free, deliver); err != nil {
			return err
		}
		deliver = 0
		t.Core().State = threads.Running
		ws, err := in.host.Await(t)
		if err != nil {
			return err
		}
		if in.host.Replaced(t, ws) {
			return sys.ErrThreadGone
		}
		in.stopped(t)
		switch sig := sys.SignalOf(ws); {
		case sys.EventOf(ws) != 0, sig == sys.Sysgood:
			// An interrupt that was still pending, SIGCONT's notice, or a group-stop.
			in.inj.grouped = in.inj.grouped || sig != unix.SIGTRAP
		case sig == unix.SIGSTOP:
			deliver = in.stopAtOnce()
		case sig == in.inj.list.done:
			in.inj.list.foreign = in.inj.list.foreign || !in.inj.sentItself(t)
			var cursor [8]byte
			if err := sp.Read(sp.Scratch+listAt, cursor[:]); err != nil {
				return err
			}
			if binary.LittleEndian.Uint64(cursor[:]) >= end-listCall {
				in.inj.inDelivery = true
				return nil // at the last call; one of the program's may have come just before it, and is as good
			}
		default:
			return fmt.Errorf("a list of injected system calls ended in %s", sys.SignalName(sig))
		}
	}
}

// sentItself reports whether the signal of t's stop is the one at the end of a list.
func (inj *injection[T]) sentItself(t T) bool {
	var si sys.Siginfo
	// si_pid is where si_addr is.
	return sys.GetSiginfo(t.Core().TID, &si) == nil && si.Code == sys.SITkill && uint32(si.Addr) == uint32(inj.list.tgid)
}

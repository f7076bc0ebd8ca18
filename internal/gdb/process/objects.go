package process

import (
	"errors"
	"fmt"

	"github.com/jalon-trace/jalon/internal/gdb/experiment"
	"github.com/jalon-trace/jalon/internal/gdb/stub"
	"github.com/jalon-trace/jalon/internal/image"
	"github.com/jalon-trace/jalon/internal/procdir"
)

// objects are what qXfer reads of a process.
var objects = map[string]func(t *Target, pr *proc, id stub.ThreadID, annex string) ([]byte, error){
	"auxv": func(_ *Target, pr *proc, _ stub.ThreadID, _ string) ([]byte, error) {
		return procdir.Auxv(pr.pid)
	},
	"exec-file": func(_ *Target, pr *proc, _ stub.ThreadID, _ string) ([]byte, error) {
		name, err := procdir.Exe(pr.pid)
		return []byte(name), err
	},
	"libraries-svr4": func(_ *Target, pr *proc, _ stub.ThreadID, annex string) ([]byte, error) {
		auxv, err := procdir.Auxv(pr.pid)
		if err != nil {
			return nil, err
		}
		return Libraries(pr.readAll, auxv, annex)
	},
	"siginfo": func(_ *Target, pr *proc, id stub.ThreadID, _ string) ([]byte, error) {
		return pr.p.Siginfo(id.TID)
	},
}

// readAll reads all of b or fails.
func (pr *proc) readAll(addr uint64, b []byte) error {
	n, err := pr.read(addr, b)
	if err == nil && n < len(b) {
		err = fmt.Errorf("memory at %#x cannot be read", addr+uint64(n))
	}
	return err
}

// Object implements stub.Target.
func (t *Target) Object(id stub.ThreadID, object, annex string) ([]byte, error) {
	if object == "osdata" {
		return OSData(annex)
	}
	read := objects[object]
	if read == nil {
		return nil, stub.ErrUnsupported
	}
	pid := id.PID
	if object == "exec-file" && annex != "" {
		if _, err := fmt.Sscanf(annex, "%x", &pid); err != nil {
			return nil, fmt.Errorf("%q is no process", annex)
		}
	}
	pr, err := t.find(pid)
	if err != nil {
		return nil, err
	}
	return read(t, pr, id, annex)
}

// WriteObject implements stub.Target.
func (t *Target) WriteObject(id stub.ThreadID, object, _ string, offset uint64, data []byte) (int, error) {
	if object != "siginfo" {
		return 0, stub.ErrUnsupported
	}
	pr, err := t.find(id.PID)
	if err != nil {
		return 0, err
	}
	b, err := pr.p.Siginfo(id.TID)
	if err != nil {
		return 0, err
	}
	if offset > uint64(len(b)) || uint64(len(data)) > uint64(len(b))-offset {
		return 0, errors.New("the siginfo is shorter")
	}
	copy(b[offset:], data)
	return len(data), pr.p.SetSiginfo(id.TID, b)
}

// ThreadLocal implements stub.Target.
func (t *Target) ThreadLocal(id stub.ThreadID, offset, linkMap uint64) (uint64, error) {
	pr, err := t.find(id.PID)
	if err != nil {
		return 0, err
	}
	regs, err := pr.p.GetRegs(id.TID)
	if err != nil {
		return 0, err
	}
	return image.ThreadLocal(pr.pid, pr.readAll, regs.General.ThreadPointer(), offset, linkMap)
}

// Files implements stub.Target.
func (t *Target) Files(pid int) stub.FileSystem {
	whose := pid
	if list := t.list(); whose == 0 && len(list) > 0 {
		whose = list[0].pid
	}
	return t.files.view(pid, whose)
}

// Monitor implements stub.Target.
func (t *Target) Monitor(string) (string, error) { return "", stub.ErrUnsupported }

// Engine implements stub.Target.
func (t *Target) Engine() experiment.Engine { return t.engine }

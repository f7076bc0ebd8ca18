package stub

import (
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

var _ = []struct{}{
	on((*Machine).setNonStop), on((*Machine).passSignals), on((*Machine).programSignals),
	on((*Machine).setThreadEvents), on((*Machine).catchSyscalls), on((*Machine).setDisableRandomization),
	on((*Machine).setStartupWithShell), on((*Machine).setEnvironment), on((*Machine).unsetEnvironment),
	on((*Machine).resetEnvironment), on((*Machine).setWorkingDir),
}

// setNonStop changes the mode. Stops that were not reported yet are kept for the other mode.
func (m *Machine) setNonStop(p rsp.SetNonStop) rsp.Packet {
	switch {
	case p.On == m.nonStop:
		return rsp.OK{}
	case p.On && m.caps.Kernel:
		return failf("the kernel has no threads that stop one by one")
	}
	m.pause()
	m.nonStop = p.On
	if !p.On {
		m.pending = append(eventsOf(m.queue), m.pending...)
		m.queue, m.firstOnly = nil, false
		m.haltAll()
	}
	m.applyOptions()
	return rsp.OK{}
}

func (m *Machine) passSignals(p rsp.PassSignals) rsp.Packet {
	m.options.PassSignals = signalSet(p.Signals)
	m.applyOptions()
	return rsp.OK{}
}

func (m *Machine) programSignals(p rsp.ProgramSignals) rsp.Packet {
	m.program = signalSet(p.Signals)
	return rsp.OK{}
}

// signalSet has Linux's numbers of GDB's signals; those that it has not are left out.
// Where GDB has two for one of Linux (SIGIO and SIGPOLL) the one that GDB sends counts.
func signalSet(list []uint64) map[int]bool {
	set := map[int]bool{}
	for _, gdb := range list {
		if gdb > 1<<16 {
			continue
		}
		if linux, ok := linuxSignal(int(gdb)); ok && linux != 0 && gdbSignal(linux) == int(gdb) {
			set[linux] = true
		}
	}
	return set
}

func (m *Machine) setThreadEvents(p rsp.SetThreadEvents) rsp.Packet {
	m.options.ThreadEvents = p.On
	m.applyOptions()
	return rsp.OK{}
}

func (m *Machine) catchSyscalls(p rsp.CatchSyscalls) rsp.Packet {
	m.options.CatchSyscalls = p.On
	m.options.Syscalls = nil
	for _, n := range p.Numbers {
		if p.On && n < 1<<31 {
			if m.options.Syscalls == nil {
				m.options.Syscalls = map[int]bool{}
			}
			m.options.Syscalls[int(n)] = true
		}
	}
	m.applyOptions()
	return rsp.OK{}
}

func (m *Machine) setDisableRandomization(p rsp.SetDisableRandomization) rsp.Packet {
	m.launch.RandomAddresses = !p.On
	return rsp.OK{}
}

func (m *Machine) setStartupWithShell(p rsp.SetStartupWithShell) rsp.Packet {
	m.launch.ThroughShell = p.On
	return rsp.OK{}
}

func (m *Machine) setEnvironment(p rsp.SetEnvironment) rsp.Packet {
	name, value, ok := strings.Cut(string(p.Assignment), "=")
	if !ok || name == "" {
		return failf("%q is no NAME=VALUE", p.Assignment)
	}
	if m.launch.Env == nil {
		m.launch.Env = map[string]string{}
	}
	m.launch.Env[name] = value
	m.launch.Unset = slices.DeleteFunc(m.launch.Unset, func(s string) bool { return s == name })
	return rsp.OK{}
}

func (m *Machine) unsetEnvironment(p rsp.UnsetEnvironment) rsp.Packet {
	name := string(p.Name)
	delete(m.launch.Env, name)
	if name != "" && !slices.Contains(m.launch.Unset, name) {
		m.launch.Unset = append(slices.Clone(m.launch.Unset), name)
	}
	return rsp.OK{}
}

func (m *Machine) resetEnvironment(rsp.ResetEnvironment) rsp.Packet {
	m.launch.Env, m.launch.Unset = nil, nil
	return rsp.OK{}
}

func (m *Machine) setWorkingDir(p rsp.SetWorkingDir) rsp.Packet {
	m.launch.Dir = string(p.Dir)
	return rsp.OK{}
}

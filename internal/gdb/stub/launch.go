package stub

import (
	"maps"
	"slices"
	"strings"

	"github.com/jalon-trace/jalon/internal/gdb/rsp"
)

// launcher starts programs as GDB requests them.
type launcher struct {
	*core
	roster   *roster
	reporter *reporter
	launch   LaunchOptions
}

// packets are those that it handles.
func (x *launcher) packets() []row {
	return []row{
		on("QDisableRandomization", "programs get the same addresses each time", x.setDisableRandomization),
		on("QStartupWithShell", "programs are started through a shell", x.setStartupWithShell),
		on("QEnvironmentHexEncoded", "sets a variable of their environment", x.setEnvironment),
		on("QEnvironmentUnset", "removes one", x.unsetEnvironment),
		on("QEnvironmentReset", "the environment is the server's again", x.resetEnvironment),
		on("QSetWorkingDir", "their directory", x.setWorkingDir),
	}
}

// start runs the program with its last arguments.
func (x *launcher) start() (ThreadID, error) {
	opt := x.launch
	opt.Env = maps.Clone(opt.Env) // the target may keep it
	s, err := x.target.Launch(opt)
	if err != nil {
		x.log(err.Error()) // GDB does not show it
		return ThreadID{}, err
	}
	x.reporter.begun(s)
	x.roster.general = s.Thread
	return s.Thread, nil
}

func (x *launcher) setDisableRandomization(p rsp.SetDisableRandomization) rsp.Packet {
	x.launch.RandomAddresses = !p.On
	return rsp.OK{}
}

func (x *launcher) setStartupWithShell(p rsp.SetStartupWithShell) rsp.Packet {
	x.launch.ThroughShell = p.On
	return rsp.OK{}
}

func (x *launcher) setEnvironment(p rsp.SetEnvironment) rsp.Packet {
	name, value, ok := strings.Cut(string(p.Assignment), "=")
	if !ok || name == "" {
		return failf("%q is no NAME=VALUE", p.Assignment)
	}
	if x.launch.Env == nil {
		x.launch.Env = map[string]string{}
	}
	x.launch.Env[name] = value
	x.launch.Unset = slices.DeleteFunc(x.launch.Unset, func(s string) bool { return s == name })
	return rsp.OK{}
}

func (x *launcher) unsetEnvironment(p rsp.UnsetEnvironment) rsp.Packet {
	name := string(p.Name)
	delete(x.launch.Env, name)
	if name != "" && !slices.Contains(x.launch.Unset, name) {
		x.launch.Unset = append(slices.Clone(x.launch.Unset), name)
	}
	return rsp.OK{}
}

func (x *launcher) resetEnvironment(rsp.ResetEnvironment) rsp.Packet {
	x.launch.Env, x.launch.Unset = nil, nil
	return rsp.OK{}
}

func (x *launcher) setWorkingDir(p rsp.SetWorkingDir) rsp.Packet {
	x.launch.Dir = string(p.Dir)
	return rsp.OK{}
}

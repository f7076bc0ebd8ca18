package rsp

// What GDB sets for the programs that the stub runs and the stops that it reports.
type (
	// SetNonStop `QNonStop`: threads stop one by one.
	SetNonStop struct{ On bool }
	// PassSignals `QPassSignals`: signals (GDB's numbers) that go to the program
	// without a stop; ProgramSignals `QProgramSignals`: those that it may get at all.
	PassSignals    struct{ Signals []uint64 }
	ProgramSignals struct{ Signals []uint64 }
	// SetThreadEvents `QThreadEvents`: begin and end of threads are stops.
	SetThreadEvents struct{ On bool }
	// CatchSyscalls `QCatchSyscalls`: no Numbers with On means all.
	CatchSyscalls struct {
		On      bool
		Numbers []uint64
	}
	// SetDisableRandomization `QDisableRandomization`, SetStartupWithShell
	// `QStartupWithShell`, and the environment and directory of the next Run.
	SetDisableRandomization struct{ On bool }
	SetStartupWithShell     struct{ On bool }
	SetEnvironment          struct{ Assignment Text }
	UnsetEnvironment        struct{ Name Text }
	ResetEnvironment        struct{}
	SetWorkingDir           struct{ Dir Text }
)

func (SetNonStop) Layout() string              { return "QNonStop:{On}" }
func (PassSignals) Layout() string             { return "QPassSignals:{Signals|;.}" }
func (ProgramSignals) Layout() string          { return "QProgramSignals:{Signals|;.}" }
func (SetThreadEvents) Layout() string         { return "QThreadEvents:{On}" }
func (CatchSyscalls) Layout() string           { return "QCatchSyscalls:{On}[;{Numbers|;}]" }
func (SetDisableRandomization) Layout() string { return "QDisableRandomization:{On}" }
func (SetStartupWithShell) Layout() string     { return "QStartupWithShell:{On}" }
func (SetEnvironment) Layout() string          { return "QEnvironmentHexEncoded:{Assignment}" }
func (UnsetEnvironment) Layout() string        { return "QEnvironmentUnset:{Name}" }
func (ResetEnvironment) Layout() string        { return "QEnvironmentReset" }
func (SetWorkingDir) Layout() string           { return "QSetWorkingDir:{Dir}" }

var settingRules = []rule{
	{SetNonStop{}, []Packet{OK{}}},
	{PassSignals{}, []Packet{OK{}}},
	{ProgramSignals{}, []Packet{OK{}}},
	{SetThreadEvents{}, []Packet{OK{}}},
	{CatchSyscalls{}, []Packet{OK{}}},
	{SetDisableRandomization{}, []Packet{OK{}}},
	{SetStartupWithShell{}, []Packet{OK{}}},
	{SetEnvironment{}, []Packet{OK{}}},
	{UnsetEnvironment{}, []Packet{OK{}}},
	{ResetEnvironment{}, []Packet{OK{}}},
	{SetWorkingDir{}, []Packet{OK{}}},
}

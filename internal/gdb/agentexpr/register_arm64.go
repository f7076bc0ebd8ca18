package agentexpr

// constantRegisters: there are none.
var constantRegisters map[string]int64

// otherRegister: all registers of the description are words of a thread's state.
func otherRegister(name string) (regKind, int64) { panic("BUG: agentexpr: register " + name) }

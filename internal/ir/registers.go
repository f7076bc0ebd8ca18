package ir

import (
	"github.com/jalon-trace/jalon/internal/arch"
	"github.com/jalon-trace/jalon/internal/arch/host"
)

// The registers that programs name are those of this machine's processor (package arch): the
// operations are the same for all.

// regNames are the words that Reg reads, by number.
var regNames = func() map[int64]string {
	m := map[int64]string{}
	for i := range host.Processor.Registers {
		if r := &host.Processor.Registers[i]; r.DWARF != arch.NoReg && r.Ptrace != arch.Nowhere {
			m[int64(r.DWARF)] = r.Name
		}
	}
	for _, r := range host.Processor.Computed {
		m[int64(r.DWARF)] = r.Name
	}
	return m
}()

var regNumbers = func() map[string]int64 {
	m := map[string]int64{}
	for n, s := range regNames {
		m[s] = n
	}
	return m
}()

// RegName is the name of DWARF register n in the text form; "" when Reg cannot read it.
func RegName(n int64) string { return regNames[n] }

// Wide is wide register n; nil when there is none.
func Wide(n int64) *arch.Wide {
	if n < 0 || n >= int64(len(host.Processor.Wide)) {
		return nil
	}
	return &host.Processor.Wide[n]
}

// WideName is the name of wide register n in the text form; "" when there is none.
func WideName(n int64) string {
	if r := Wide(n); r != nil {
		return r.Name
	}
	return ""
}

// WideNumber is the number of a wide register by its name.
func WideNumber(name string) (n int64, ok bool) {
	for n := range host.Processor.Wide {
		if host.Processor.Wide[n].Name == name {
			return int64(n), true
		}
	}
	return 0, false
}

// vectors is how many registers FReg can read.
func vectors() int64 { return int64(min(host.Processor.Vectors, len(host.Processor.Wide))) }

// wideSlot is how many bytes of the record a PutReg takes.
func wideSlot(i *Instr) int64 {
	if r := Wide(i.Aux); r != nil && i.W == 0 {
		return int64(max(r.Slot, r.Bytes))
	}
	return int64(i.W)
}

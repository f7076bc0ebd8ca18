package rsp

// Registers, in the numbering of the target description and in target byte order.
type (
	// ReadRegisters `g` and WriteRegisters `G`: all of them in order.
	ReadRegisters  struct{}
	WriteRegisters struct{ Data Bytes }
	// ReadRegister `p` and WriteRegister `P`.
	ReadRegister  struct{ Number uint64 }
	WriteRegister struct {
		Number uint64
		Data   Bytes
	}
	// RegisterData answers g and p.
	RegisterData struct{ Values Registers }
	// SaveRegisters `QSaveRegisterState` and RestoreRegisters surround a call that
	// GDB makes in the program; SavedState is the number that names the copy.
	SaveRegisters    struct{}
	SavedState       struct{ Number uint64 }
	RestoreRegisters struct{ Number uint64 }
)

func (ReadRegisters) Layout() string    { return "g" }
func (WriteRegisters) Layout() string   { return "G{Data}" }
func (ReadRegister) Layout() string     { return "p{Number}" }
func (WriteRegister) Layout() string    { return "P{Number}={Data}" }
func (RegisterData) Layout() string     { return "{Values}" }
func (SaveRegisters) Layout() string    { return "QSaveRegisterState" }
func (SavedState) Layout() string       { return "{Number}" }
func (RestoreRegisters) Layout() string { return "QRestoreRegisterState:{Number}" }

var registerRules = []rule{
	{ReadRegisters{}, []Packet{RegisterData{}}},
	{WriteRegisters{}, []Packet{OK{}}},
	{ReadRegister{}, []Packet{RegisterData{}}},
	{WriteRegister{}, []Packet{OK{}}},
	{SaveRegisters{}, []Packet{SavedState{}}},
	{RestoreRegisters{}, []Packet{OK{}}},
}

// Memory.
type (
	// ReadMemory `m`; the stub may answer fewer bytes than Length.
	ReadMemory struct{ Addr, Length uint64 }
	MemoryData struct{ Data Bytes }
	// ReadBinary `x` is ReadMemory answered in binary.
	ReadBinary struct{ Addr, Length uint64 }
	BinaryData struct{ Data Raw }
	// WriteMemory `M` in hexadecimal and WriteBinary `X`. Length is GDB's number; LengthOK compares it with
	// Data. X without bytes tests whether X is supported.
	WriteMemory struct {
		Addr, Length uint64
		Data         Bytes
	}
	WriteBinary struct {
		Addr, Length uint64
		Data         Raw
	}
	// SearchMemory `qSearch:memory` is answered by NotFound or Found.
	SearchMemory struct {
		Addr, Length uint64
		Pattern      Raw
	}
	NotFound struct{}
	Found    struct{ Addr uint64 }
	// MemoryCRC `qCRC`: see CRC32.
	MemoryCRC struct{ Addr, Length uint64 }
	CRC       struct{ Sum uint64 }
)

func (ReadMemory) Layout() string   { return "m{Addr},{Length}" }
func (MemoryData) Layout() string   { return "{Data}" }
func (ReadBinary) Layout() string   { return "x{Addr},{Length}" }
func (BinaryData) Layout() string   { return "b{Data}" }
func (WriteMemory) Layout() string  { return "M{Addr},{Length}:{Data}" }
func (WriteBinary) Layout() string  { return "X{Addr},{Length}:{Data}" }
func (SearchMemory) Layout() string { return "qSearch:memory:{Addr};{Length};{Pattern}" }
func (NotFound) Layout() string     { return "0" }
func (Found) Layout() string        { return "1,{Addr}" }
func (MemoryCRC) Layout() string    { return "qCRC:{Addr},{Length}" }
func (CRC) Layout() string          { return "C{Sum}" }

// LengthOK reports whether Length is that of Data.
func (p WriteMemory) LengthOK() bool { return p.Length == uint64(len(p.Data)) }

// LengthOK reports whether Length is that of Data.
func (p WriteBinary) LengthOK() bool { return p.Length == uint64(len(p.Data)) }

var memoryRules = []rule{
	{ReadMemory{}, []Packet{MemoryData{}}},
	{ReadBinary{}, []Packet{BinaryData{}}},
	{WriteMemory{}, []Packet{OK{}}},
	{WriteBinary{}, []Packet{OK{}}},
	{SearchMemory{}, []Packet{NotFound{}, Found{}}},
	{MemoryCRC{}, []Packet{CRC{}}},
}

// CRC32 continues GDB's checksum of memory (`compare-sections`) from sum, which
// begins as 0xffffffff: polynomial 0x04c11db7, highest bit first, nothing inverted.
func CRC32(sum uint32, data []byte) uint32 {
	for _, c := range data {
		sum ^= uint32(c) << 24
		for range 8 {
			if sum&(1<<31) != 0 {
				sum = sum<<1 ^ 0x04c11db7
			} else {
				sum <<= 1
			}
		}
	}
	return sum
}

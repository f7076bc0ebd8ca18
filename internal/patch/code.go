package patch

// Region is a piece of memory.
type Region struct {
	Addr  uint64
	Bytes []byte
}

package rsp

// Packets about threads.
type (
	// SelectThread `Hg` for registers and memory, `Hc` (Continue) for c and s.
	SelectThread struct {
		Continue bool
		Thread   ThreadID
	}
	// ThreadAlive `T`: OK or an error.
	ThreadAlive struct{ Thread ThreadID }
	// QueryThread `qC`.
	QueryThread   struct{}
	CurrentThread struct{ Thread ThreadID }
	// FirstThreads `qfThreadInfo` and NextThreads `qsThreadInfo` list all threads,
	// until EndOfList.
	FirstThreads struct{}
	NextThreads  struct{}
	Threads      struct{ IDs []ThreadID }
	// ThreadExtra `qThreadExtraInfo` requests a description of a thread.
	ThreadExtra struct{ Thread ThreadID }
	ThreadWords struct{ Text Text }
	// TLSAddress `qGetTLSAddr`: where Offset in the thread-local storage of the
	// module with link map LinkMap is.
	TLSAddress struct {
		Thread          ThreadID
		Offset, LinkMap uint64
	}
	Address struct{ Addr uint64 }
	// TIBAddress `qGetTIBAddr` is a thread's information block (Windows).
	TIBAddress struct{ Thread ThreadID }
)

func (SelectThread) Layout() string  { return "H{Continue?c|g}{Thread}" }
func (ThreadAlive) Layout() string   { return "T{Thread}" }
func (QueryThread) Layout() string   { return "qC" }
func (CurrentThread) Layout() string { return "QC{Thread}" }
func (FirstThreads) Layout() string  { return "qfThreadInfo" }
func (NextThreads) Layout() string   { return "qsThreadInfo" }
func (Threads) Layout() string       { return "m{IDs|,}" }
func (ThreadExtra) Layout() string   { return "qThreadExtraInfo,{Thread}" }
func (ThreadWords) Layout() string   { return "{Text}" }
func (TLSAddress) Layout() string    { return "qGetTLSAddr:{Thread},{Offset},{LinkMap}" }
func (Address) Layout() string       { return "{Addr}" }
func (TIBAddress) Layout() string    { return "qGetTIBAddr:{Thread}" }

var threadRules = []rule{
	{SelectThread{}, []Packet{OK{}}},
	{ThreadAlive{}, []Packet{OK{}}},
	{QueryThread{}, []Packet{CurrentThread{}}},
	{FirstThreads{}, []Packet{Threads{}, EndOfList{}}},
	{NextThreads{}, []Packet{Threads{}, EndOfList{}}},
	{ThreadExtra{}, []Packet{ThreadWords{}}},
	{TLSAddress{}, []Packet{Address{}}},
	{TIBAddress{}, []Packet{Address{}}},
}

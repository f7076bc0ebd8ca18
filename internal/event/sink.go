package event

// Sink takes the events of a trace, in the order of time, and its summary at the end.
type Sink interface {
	Event(*Event) error
	Summary(*Summary) error
	Flush() error
}

package event

// Sink takes the events of a trace, in the order of time.
type Sink interface {
	Event(*Event) error
	Flush() error
}

package event

// Sink receives the events of a trace in the order of time.
type Sink interface {
	Event(*Event) error
	Flush() error
}

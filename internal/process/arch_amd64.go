package process

// unsupported returns nil: processes are traced on this processor.
func unsupported(string) error { return nil }

// Package host has the processor of the machine that jalon runs on.
package host

import "github.com/jalon-trace/jalon/internal/arch/amd64"

// Processor is this machine's.
var Processor = &amd64.Processor

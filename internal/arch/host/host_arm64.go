// Package host has the processor of the machine that jalon runs on.
package host

import "github.com/jalon-trace/jalon/internal/arch/arm64"

// Processor is this machine's.
var Processor = &arm64.Processor

package main

import (
	"os"

	"github.com/jalon-trace/jalon/internal/format"
)

// Standard output and error for all text that jalon writes itself. Names and paths in it
// come from programs and files that may be hostile: see format.Plain. JSON and the
// output of traced programs do not pass here.
var (
	stdout = format.Plain(os.Stdout)
	stderr = format.Plain(os.Stderr)
)

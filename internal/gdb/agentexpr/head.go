package agentexpr

import "github.com/jalon-trace/jalon/internal/ring"

// RecordHead is how many bytes at the start of a record are its own: size, site, time
// and thread. No slot of a layout lies in them, so that who keeps those elsewhere need
// not keep the head.
const RecordHead = ring.RecHeader

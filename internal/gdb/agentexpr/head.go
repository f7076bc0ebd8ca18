package agentexpr

import "github.com/jalon-trace/jalon/internal/ring"

// RecordHead is the size of a record's head: size, site, time and thread. No slot of a layout lies in the head,
// so a caller that stores these values elsewhere need not keep it.
const RecordHead = ring.RecHeader

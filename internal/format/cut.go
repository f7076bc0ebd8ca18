package format

import "github.com/jalon-trace/jalon/internal/debuginfo"

// cutText says what is known of the callers of a frame: see debuginfo.Frame.
func cutText(cut string) string {
	if cut == debuginfo.ThroughMade {
		return "    (" + cut + ")"
	}
	return "    (the stack goes on: " + cut + ")"
}

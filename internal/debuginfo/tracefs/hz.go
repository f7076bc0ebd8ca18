package tracefs

import (
	"strconv"

	"github.com/jalon-trace/jalon/internal/lazyregexp"
)

// An age in jiffies is printed in seconds, so the text contains the compiled-in HZ.
var perSecond = lazyregexp.New(`\(jiffies - REC->dirtied_when\) / (\d+)\b`)

// HZ returns the number of jiffies per second, from the format of writeback:writeback_single_inode; ok is false
// if it is not there.
func (f *FS) HZ() (hz uint64, ok bool) {
	ev, err := f.Event("writeback", "writeback_single_inode")
	if err != nil {
		return 0, false
	}
	m := perSecond.FindStringSubmatch(ev.PrintFmt)
	if m == nil {
		return 0, false
	}
	hz, err = strconv.ParseUint(m[1], 10, 32)
	return hz, err == nil && hz > 0
}

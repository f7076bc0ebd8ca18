package tracefs

import (
	"regexp"
	"strconv"
)

// An age in jiffies is printed in seconds: the compiled-in HZ stands in the text.
var perSecond = regexp.MustCompile(`\(jiffies - REC->dirtied_when\) / (\d+)\b`)

// HZ is how many jiffies the kernel counts in a second, as the format of
// writeback:writeback_single_inode tells it. ok is false when it does not.
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

package bpf

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseKprobes(t *testing.T) {
	got, err := parseKprobes(strings.NewReader(`ffffffff8128d1b4  k  vfs_read+0x4    [FTRACE]
ffffffff8128d1c9  k  vfs_read+0x19    [OPTIMIZED]
ffffffff8128d1d0  k  vfs_read+0x20  
ffffffff8128d1d0  k  vfs_read+0x20    [DISABLED]
ffffffff81290000  k  vfs_write+0x0    [DISABLED][FTRACE]
ffffffffc0290000  r  func+0x0  module  [FTRACE]
0000000000000000  k  hidden+0x0    [FTRACE]
bad line
`))
	want := map[uint64]KprobeWay{0xffffffff8128d1b4: ByFtrace, 0xffffffff8128d1c9: ByJump, 0xffffffff8128d1d0: ByBreakpoint, 0xffffffff81290000: UnknownWay}
	delete(got, 0xffffffff81290000) // disabled
	delete(want, 0xffffffff81290000)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

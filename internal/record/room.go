package record

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// smallestPart is the least size at which a part is ended for want of room on the disk.
const smallestPart = 1 << 20

// disk returns how many bytes can be written to the disk. ok is false if it does not say.
func (w *writer) disk() (n int64, ok bool) {
	var st unix.Statfs_t
	if unix.Fstatfs(int(w.lock.Fd()), &st) != nil || st.Blocks == 0 {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}

// partSize returns the size at which the chunk that begins has to end; 0: none. Where a number of chunks is kept, the disk must have room for
// them: a chunk that filled it alone could only be removed whole, or end the recording.
func (w *writer) partSize() int64 {
	size := w.opt.Size
	if w.opt.Keep == 0 || w.opt.Flight {
		return size
	}
	room, ok := w.disk()
	if !ok {
		return size
	}
	w.mu.Lock()
	for _, n := range w.kept {
		room += n
	}
	w.mu.Unlock()
	if each := max(room/8*7/int64(w.opt.Keep), smallestPart); size == 0 || each < size {
		return each
	}
	return size
}

// early says once that chunks end before the user's time or size.
func (w *writer) early(size int64) {
	if !w.tight && (w.opt.Size == 0 || size < w.opt.Size) {
		w.tight = true
		w.warn(fmt.Sprintf("the disk has room for parts of %d MiB only (--keep %d): they end earlier", size>>20, w.opt.Keep))
	}
}

// waitForRoom waits while chunks are compressed that leave no room for more: a chunk needs room beside it until its compressed form is
// complete. Events wait in memory meanwhile.
func (w *writer) waitForRoom(packet int64) {
	if w.squeeze == nil {
		return
	}
	w.squeeze.wait(func(largest int64) bool {
		free, ok := w.disk()
		return !ok || free >= largest+packet
	})
}

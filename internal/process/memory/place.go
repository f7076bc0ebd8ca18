package memory

// Where memory is mapped that may be anywhere. Left to the kernel it would be in the highest hole that is large enough: often one that the
// program has just made by munmap, and that it fills again at once by a mapping of its own with MAP_FIXED, which it may if it
// has one thread. Memory of jalon in between would be gone. So it is mapped below the program's stack or lowest library, at a distance that
// the program's own mappings seldom reach: the kernel lets them grow downwards from there. Still further away, sanitizers have memory of
// their own.

// placeBelow is the distance, leastPlace the least gap in which memory is placed, and largePlace a large one.
const (
	placeBelow = 16 << 30
	largePlace = 4 * placeBelow
	leastPlace = 64 << 20
)

// Place returns where to map size bytes, as a hint for the kernel: if something is there by now, it maps them elsewhere. 0: no hint.
func (s *Space) Place(size uint64) uint64 {
	if s.place == 0 {
		maps, err := ReadMaps(s.Pid)
		if err != nil {
			return 0
		}
		if s.place = placeIn(maps); s.place == 0 {
			return 0
		}
	}
	s.place -= (size+PageSize-1)&^(PageSize-1) + PageSize // a page between: mappings are not merged
	return s.place
}

// placeIn returns the end of the memory for Place: in the highest gap that is large, near its end. That is below the stack, where the
// kernel maps nothing, or below the libraries. If there is none it is the largest gap.
func placeIn(maps []Mapping) uint64 {
	from, to, end := uint64(0), uint64(0), uint64(lowest)
	for _, m := range maps {
		if m.Start > end && m.Start <= highest && (m.Start-end >= largePlace || m.Start-end > to-from) {
			from, to = end, m.Start
		}
		end = max(end, m.End)
	}
	if to-from < leastPlace {
		return 0
	}
	return (to - min(placeBelow, (to-from)/2)) &^ (PageSize - 1)
}

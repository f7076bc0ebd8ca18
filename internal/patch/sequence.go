package patch

// LeadsInto reports whether code that begins at at, the abort handler of a restartable sequence (rseq(2)), may go on in
// code for which in holds: by direct branches, or by an address that it computes. It follows the branches of few
// instructions, of any function.
func LeadsInto(at uint64, read func(addr uint64, n int) ([]byte, error), in func(addr uint64) bool) bool {
	seen := map[uint64]bool{}
	for todo := []uint64{at}; len(todo) > 0 && len(seen) < 64; {
		at, todo = todo[0], todo[1:]
		for !seen[at] && len(seen) < 64 {
			if in(at) {
				return true
			}
			seen[at] = true
			i, ok := instAt(at, read)
			switch {
			case !ok:
			case i.RIPOff != 0 && in(i.RIPTarget):
				return true
			case i.Class == Jcc || i.Class == Loop || i.Class == Jmp:
				todo = append(todo, i.Target)
			}
			if !ok || i.Class.Ends() {
				break
			}
			at = i.Next()
		}
	}
	return false
}

// instAt decodes the instruction at an address of which less than the longest may be readable.
func instAt(at uint64, read func(addr uint64, n int) ([]byte, error)) (Inst, bool) {
	b, err := read(at, maxLen)
	for n := maxLen - 1; err != nil && n > 0; n-- {
		b, err = read(at, n)
	}
	if err != nil {
		return Inst{}, false
	}
	i, err := Decode(b, at)
	return i, err == nil
}

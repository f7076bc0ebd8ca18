package patch

// FirstJump returns the target of the first direct jump from at on, 0 if there is none near: where the abort handler of a
// restartable sequence (rseq(2)) goes on.
func FirstJump(at uint64, read func(addr uint64, n int) ([]byte, error)) uint64 {
	for range 16 {
		var in Inst
		b, err := read(at, maxLen)
		for n := maxLen - 1; err != nil && n > 0; n-- { // less at the end of the section
			b, err = read(at, n)
		}
		if err == nil {
			in, err = Decode(b, at)
		}
		switch {
		case err != nil:
			return 0
		case in.Class == Jmp:
			return in.Target
		case in.Class.Ends():
			return 0
		}
		at = in.Next()
	}
	return 0
}

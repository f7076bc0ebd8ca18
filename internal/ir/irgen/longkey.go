package irgen

// LongKeyMap is the map of OnLongKey, of which hits delete keys.
const LongKeyMap = 2

// OnLongKey is a program in text that executes code with the key 100, 1, 100, 100, 100 of LongKeyMap: v0 is 1, v1 is 100, and the further words
// of the key are set. Its maps are those of random programs.
func OnLongKey(code string) string {
	return `map 0 words 1 slots 8 "one"
map 1 words 5 slots 8 limit 64 shared "five"
map 2 words 1 slots 8 more 3 deletes shared "long"
b0:
  v0 = const 1
  v1 = const 100
  keyword 2, v1
  keyword 3, v1
  keyword 4, v1
  ` + code + "\n  exit\n"
}

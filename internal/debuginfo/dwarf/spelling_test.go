package dwarf

import "testing"

func TestSameName(t *testing.T) {
	for _, tt := range []struct {
		have, asked string
		want        bool
	}{
		{"Vec<int>", "Vec<int>", true},
		{"Vec<int>", "Vec< int >", true},
		{"Vec<int>", "Vec<char>", false},
		{"Vec<int>", "Vec", false},
		{"Pair<long unsigned int, char const*>", "Pair<unsigned long, const char *>", true},
		{"Pair<unsigned long, const char *>", "Pair<long unsigned int, char const*>", true},
		{"Pair<unsigned long, char *>", "Pair<unsigned long, const char *>", false},
		{"P<char const*>", "P<char *const>", false},
		{"P<Vec<int> const&>", "P<const Vec<int> &>", true},
		{"P<Vec<char const*> >", "P<Vec<const char*>>", true},
		{"A<3u>", "A<3>", true},
		{"A<3>", "A<3UL>", true},
		{"A<13>", "A<3>", false},
		{"vector<int, std::allocator<int> >", "vector<int>", true},
		{"vector<int, my::allocator<int> >", "vector<int>", false},
		{"vector<int, std::allocator<int> >", "vector<int, std::allocator<int>>", true},
		{"map<int, char, std::less<int>, std::allocator<std::pair<int const, char> > >", "map<int, char>", true},
		{"pair<int, char>", "pair<int>", false},
		{"operator<", "operator<", true},
		{"operator<<int>", "operator<", false},
	} {
		if got := sameName(tt.have, tt.asked); got != tt.want {
			t.Errorf("%s, %s: %v", tt.have, tt.asked, got)
		}
	}
}

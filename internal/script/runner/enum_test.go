package runner

import "testing"

// signs is a program with enums that have negative enumerators, of 4 and 8 bytes.
const signs = `
enum color { RED = -2, GREEN = 0, BLUE = 7 };
enum wide { SMALL = -5000000000L, LARGE = 5 };
struct both { enum color c; enum wide w; };
static volatile long sum;
__attribute__((noinline)) void shade(enum color c, struct both *p) { sum += c + (long)p; }
int main(void) {
	enum color list[] = {RED, GREEN, BLUE, (enum color)-3};
	for (int i = 0; i < 4; i++) {
		struct both b = {list[i], i & 1 ? SMALL : LARGE};
		shade(list[i], &b);
	}
	return 0;
}
`

// TestSignedEnums: negative enumerators of a program are keys and values of maps at the sites and in jalon, as text and as JSON.
func TestSignedEnums(t *testing.T) {
	path := compileC(t, "signs", signs)
	src := `uprobe:` + path + `:shade { @a[args.c] = count(); @p[args.p->c, args.p->w] = args.p->c; @w = args.p->w; if (args.c < 0) { @less = count(); } }`
	for _, json := range []bool{false, true} {
		for _, inJalon := range []bool{false, true} {
			opt := Options{Argv: []string{path}, InJalon: inJalon}
			opt.JSON = json
			got, _ := runScript(t, src, opt)
			want := "@a[-3]: 1\n@a[RED]: 1\n@a[GREEN]: 1\n@a[BLUE]: 1\n@p[-3, SMALL]: -3\n@p[RED, LARGE]: RED\n@p[GREEN, SMALL]: GREEN\n@p[BLUE, LARGE]: BLUE\n@w: SMALL\n@less: 2\n"
			if json {
				want = `{"type": "map", "data": {"@a": {"-3": 1, "RED": 1, "GREEN": 1, "BLUE": 1}}}
{"type": "map", "data": {"@p": {"-3,SMALL": -3, "RED,LARGE": -2, "GREEN,SMALL": 0, "BLUE,LARGE": 7}}}
{"type": "map", "data": {"@w": -5000000000}}
{"type": "map", "data": {"@less": 2}}
`
			}
			if got != want {
				t.Errorf("in jalon %t, got\n%s\nwant\n%s", inJalon, got, want)
			}
		}
	}
}

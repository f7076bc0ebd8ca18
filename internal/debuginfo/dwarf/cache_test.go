package dwarf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jalon-trace/jalon/internal/debuginfo/dwarf/index"
)

// withCache opens a program with an index cache in dir.
func withCache(t testing.TB, path, dir string) *Module {
	t.Helper()
	m, err := Open(path, Options{CacheDir: dir, cacheFrom: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// indexFiles lists the files in the cache.
func indexFiles(t testing.TB, dir string) []string {
	t.Helper()
	l, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// answers writes what the index decides about: places of all functions and
// lines, types, globals and units of addresses.
func answers(t testing.TB, m *Module) string {
	t.Helper()
	var b strings.Builder
	var pcs []uint64
	for _, f := range m.Functions("*") {
		s, err := m.FuncSites(f.Name)
		fmt.Fprintln(&b, f.Name, f.Lo, f.Hi, f.Inlined, s, err)
		pcs = append(pcs, f.Lo)
	}
	for _, file := range m.Files("*") {
		for _, l := range m.Lines(file) {
			s, err := m.LineSites(file, l)
			fmt.Fprintln(&b, file, l, s, err)
		}
	}
	for _, pc := range pcs {
		name, off, file, line, inl := m.Symbolize(pc + 3)
		fmt.Fprintln(&b, name, off, file, line, inl, m.Calls(pc+3))
		sc, err := m.ScopeAt(pc)
		if err != nil {
			continue
		}
		for _, n := range []string{"global_array", "shared_counter", "hidden", "file_static", "nothing_at_all", "stdout"} {
			v, err := sc.Lookup(n)
			if err == nil {
				fmt.Fprintln(&b, v.Name, v.Kind, v.Loc, v.File, v.Line)
			}
		}
	}
	return b.String()
}

// builds with all forms of units in the index: plain, with partial and type units, inlined across units,
// split.
var cacheBuilds = []variant{
	{"gcc", "-O2 -gdwarf-5"},
	{"gcc", "-O1 -gdwarf-4 -fdebug-types-section -gz=zlib-gnu"},
	{"gcc", "-O2 -gdwarf-5 -flto -ffat-lto-objects"},
	{"clang", "-O2 -gdwarf-5"},
	{"gcc", "-O2 -gdwarf-5 -gsplit-dwarf"},
}

// TestCachedIndex gets the same answers with an index just made, one read back,
// and none kept. Split debug information is not kept.
func TestCachedIndex(t *testing.T) {
	for _, v := range cacheBuilds {
		prog, dir := build(t, v, "prog.c", "other.c"), t.TempDir()
		plain, err := Open(prog, Options{NoCache: true})
		if err != nil {
			t.Fatal(err)
		}
		defer plain.Close()
		want := answers(t, plain)
		if strings.Count(want, "\n") < 100 {
			t.Errorf("%s: only %d answers", v, strings.Count(want, "\n"))
		}
		for _, from := range []string{"made", "read"} {
			m := withCache(t, prog, dir)
			if got := answers(t, m); got != want {
				t.Errorf("%s: other answers with an index %s:\n%s\nwithout:\n%s", v, from, got, want)
			}
			split := strings.Contains(v.flags, "split")
			if read := from == "read" && !split; m.idxRead != read {
				t.Errorf("%s: the index was read: %v", v, m.idxRead)
			}
			files := indexFiles(t, dir)
			if split != (len(files) == 0) {
				t.Fatalf("%s: in the cache: %v", v, files)
			}
			for _, f := range files {
				if st, err := os.Stat(f); err != nil || st.Mode().Perm() != 0o600 {
					t.Errorf("%s: %v %v", f, st.Mode(), err)
				}
			}
		}
	}
}

// TestKeptSections: compressed sections are kept and mapped; one whose file is damaged is decompressed again.
func TestKeptSections(t *testing.T) {
	prog, dir := build(t, cacheBuilds[1], "prog.c", "other.c"), t.TempDir()
	want, good := "", map[string][]byte{}
	for _, state := range []string{"decompressed", "mapped", "damaged"} {
		m := withCache(t, prog, dir)
		got := answers(t, m)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s: other answers:\n%s\nfirst:\n%s", state, got, want)
		}
		if state == "mapped" && m.d.kept.maps[secInfo] == nil {
			t.Error("not mapped")
		}
		info, _, _ := m.d.kept.path(secInfo)
		m.Close()
		files, _ := filepath.Glob(filepath.Join(dir, "*"+index.SectionExt))
		if len(files) < 3 {
			t.Fatalf("%s: kept sections: %v", state, files)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			switch state {
			case "decompressed":
				good[f] = slices.Clone(b)
			case "damaged":
				if f == info && !bytes.Equal(b, good[f]) {
					t.Errorf("%s is still damaged", f)
				}
			default:
				b[len(b)-1] ^= 1
				if err := os.WriteFile(f, b, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestNoCacheFile: small programs and those without a build-id leave nothing.
func TestNoCacheFile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	for _, p := range []string{
		build(t, variants[1], "prog.c", "other.c"),
		build(t, variant{"gcc", "-g -Wl,--build-id=none"}, "prog.c", "other.c"),
	} {
		m, err := Open(p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if s, err := m.FuncSites("main"); err != nil || len(s) != 1 {
			t.Error(s, err)
		}
	}
	m := withCache(t, build(t, variant{"gcc", "-g -Wl,--build-id=none"}, "prog.c", "other.c"), dir)
	m.FuncSites("main")
	if l := indexFiles(t, dir); len(l) != 0 {
		t.Error(l)
	}
}

// TestDamagedCache: with any content of an index file the results are right, and the file is valid afterwards.
func TestDamagedCache(t *testing.T) {
	prog, dir := build(t, variants[0], "prog.c", "other.c"), t.TempDir()
	m := withCache(t, prog, dir)
	want, _ := m.FuncSites("main")
	path := indexFiles(t, dir)[0]
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	flip := func(at int) []byte {
		b := slices.Clone(good)
		b[at] ^= 0x10
		return b
	}
	foreign := func(change func()) func() {
		return func() {
			if err := os.WriteFile(path, good, 0o600); err != nil {
				t.Fatal(err)
			}
			change()
		}
	}
	put := func(b []byte) func() {
		return func() {
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	other := filepath.Join(dir, "other")
	for name, prepare := range map[string]func(){
		"empty": put(nil), "short": put(good[:index.HeadSize-1]), "cut": put(good[:len(good)-1]), "longer": put(append(slices.Clone(good), 0)),
		"version": put(flip(len(index.Magic) - 1)), "key": put(flip(index.KeyOff)), "sum": put(flip(index.SumOff)), "counts": put(flip(index.CountsOff)), "table": put(flip(len(good) / 2)),
		"writable": foreign(func() { os.Chmod(path, 0o666) }),
		"link":     foreign(func() { os.Rename(path, other); os.Symlink(other, path) }),
		"owner":    foreign(func() { os.Chown(path, 12345, 12345) }),
	} {
		if name == "owner" && os.Geteuid() != 0 {
			continue // only root can give files away
		}
		os.Remove(path)
		prepare()
		m := withCache(t, prog, dir)
		if got, err := m.FuncSites("main"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v", name, got, err)
		}
		if m.idxRead {
			t.Errorf("%s: the file was believed", name)
		}
		if b, err := os.ReadFile(path); err != nil || !slices.Equal(b, good) {
			t.Errorf("%s: the file was not replaced: %v", name, err)
		}
	}
}

// TestCacheDirectory: nothing is written where others could write, or into
// another user's directories.
func TestCacheDirectory(t *testing.T) {
	prog := build(t, variants[0], "prog.c", "other.c")
	open := t.TempDir()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	dirs := []string{open, filepath.Join(open, "a", "b"), "/dev/null", "/proc/jalon"}
	if os.Geteuid() == 0 {
		theirs := t.TempDir()
		if err := os.Chown(theirs, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, filepath.Join(theirs, "jalon"))
	}
	for _, dir := range dirs {
		m := withCache(t, prog, dir)
		if s, err := m.FuncSites("main"); err != nil || len(s) != 1 {
			t.Error(dir, s, err)
		}
		if l := indexFiles(t, dir); len(l) != 0 {
			t.Error(dir, l)
		}
	}
}

// TestCacheWriters: an index of a file that one user may have written is not used for
// another user's file that looks the same: build-ids, sizes, and what the key samples can
// be made to agree.
func TestCacheWriters(t *testing.T) {
	content, err := os.ReadFile(build(t, variants[0], "prog.c", "other.c"))
	if err != nil {
		t.Fatal(err)
	}
	dir, want := t.TempDir(), 0
	open := func(uid, gid int, mode os.FileMode, fresh bool) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "prog")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(file, uid, gid); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if fresh {
			want++
		}
		m := withCache(t, file, dir)
		if s, err := m.FuncSites("main"); err != nil || len(s) != 1 {
			t.Error(s, err)
		}
		if got := len(indexFiles(t, dir)); got != want {
			t.Errorf("user %d, group %d, mode %o: %d indexes, want %d", uid, gid, mode, got, want)
		}
	}
	open(-1, -1, 0o755, true)
	open(-1, -1, 0o644, false)
	open(-1, -1, 0o664, true)
	open(-1, -1, 0o666, true)
	if os.Geteuid() == 0 {
		open(12345, -1, 0o755, true)
		open(12345, 12345, 0o755, false)
		open(12345, 12345, 0o775, true)
	}
}

// TestCacheLimit removes the indexes that were not used for longest.
func TestCacheLimit(t *testing.T) {
	dir := t.TempDir()
	name := func(i int) string { return filepath.Join(dir, fmt.Sprintf("%d%s", i, index.Ext)) }
	put := func(i int) { index.Store(name(i), make([]byte, 1000), 3500) }
	long := time.Now().Add(-24 * time.Hour)
	stale := filepath.Join(dir, index.TempPrefix+"1")
	foreign := filepath.Join(dir, "foreign")
	for _, f := range []string{stale, foreign} {
		os.WriteFile(f, make([]byte, 5000), 0o600)
		os.Chtimes(f, long, long)
	}
	for i := range 3 {
		put(i)
		os.Chtimes(name(i), long.Add(time.Duration(i)*time.Hour), long.Add(time.Duration(i)*time.Hour))
	}
	os.Chtimes(name(0), long.Add(10*time.Hour), long.Add(10*time.Hour)) // used again
	put(3)
	put(4)
	got := indexFiles(t, dir)
	if want := []string{name(0), name(3), name(4), foreign}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	index.Store(name(5), make([]byte, 4000), 3500)
	if _, err := os.Stat(name(5)); err == nil {
		t.Error("an index beyond the limit was kept")
	}
}

// FuzzTables opens indexes whose checksum is right and whose tables are not:
// look-ups may miss names but do nothing else.
func FuzzTables(f *testing.F) {
	prog, dir := build(f, variants[0], "prog.c", "other.c"), f.TempDir()
	m := withCache(f, prog, dir)
	m.FuncSites("main")
	good, err := os.ReadFile(indexFiles(f, dir)[0])
	if err != nil {
		f.Fatal(err)
	}
	m.mu.Lock()
	key, units, main := m.indexKey(), m.idx.units, m.idx.main
	m.mu.Unlock()
	f.Add(uint32(index.CountsOff), uint64(1)<<63, uint16(0))
	f.Add(uint32(index.HeadSize), uint64(0xffffffffffffffff), uint16(3))
	f.Fuzz(func(t *testing.T, at uint32, v uint64, step uint16) {
		b := slices.Clone(good)
		for i := range 4 { // the same damage in several rows
			if o := index.CountsOff + (int(at)+i*int(step))%(len(b)-index.CountsOff-8); o >= 0 {
				binary.LittleEndian.PutUint64(b[o:], v)
			}
		}
		index.Seal(b)
		tab := index.Open(b, key)
		if tab == nil {
			return
		}
		m.mu.Lock()
		m.idx = &unitIndex{units: units, main: main, Tables: tab}
		m.mu.Unlock()
		m.FuncSites("main")
		m.FuncSites("walk")
		m.LineSites("prog.c", 20)
		m.Functions("*")
		m.Files("*")
		m.Symbolize(v)
		if sc, err := m.ScopeAt(m.file.Lookup("main")[0].Value); err == nil {
			sc.Lookup("global_array")
			sc.Lookup("hidden")
		}
		if m.Faults() != 0 {
			t.Fatal("a look-up was only stopped at the border")
		}
	})
}

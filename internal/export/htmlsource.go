package export

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// source is a file of source text in a page: the lines near those that had events, nil between them.
type source struct {
	File  string    `json:"file"`
	First int       `json:"first"`
	Lines []*string `json:"lines"`
}

// Limits of what a page has of source files.
const (
	nearLines      = 4
	maxSourceFile  = 32 << 20
	maxSourceLine  = 400
	maxSourceLines = 20_000
	maxSourceFiles = 1000
)

// sources reads the lines of source text of the page's places and frames, from files below a directory. A trace names any files, so no
// others are read.
func (p *page) sources(dir string) (list []source, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	wanted := map[string][]int{}
	add := func(file string, line int) {
		if file != "" && line > 0 && (len(wanted) < maxSourceFiles || wanted[file] != nil) {
			wanted[file] = append(wanted[file], line)
		}
	}
	for _, s := range p.meta.Sites {
		add(s.File, s.Line)
	}
	for i := range p.meta.Frames {
		add(p.meta.Frames[i].File, p.meta.Frames[i].Line)
	}
	for name, lines := range wanted {
		f := openBelow(root, dir, name)
		if f == nil {
			continue
		}
		slices.Sort(lines)
		s := source{File: name, First: max(lines[0]-nearLines, 1)}
		s.read(f, slices.Compact(lines))
		_ = f.Close()
		if len(s.Lines) > 0 {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b source) int { return strings.Compare(a.File, b.File) })
	return list, nil
}

// openBelow opens a source file: where its path leads if that is below the directory, or where the end of its path leads from there.
func openBelow(root *os.Root, dir, name string) *os.File {
	if rel, err := filepath.Rel(dir, name); filepath.IsAbs(name) && err == nil && filepath.IsLocal(rel) {
		name = rel
	}
	for rest, ok := strings.TrimPrefix(filepath.Clean(name), "/"), true; ok; _, rest, ok = strings.Cut(rest, "/") {
		if !filepath.IsLocal(rest) {
			continue
		}
		if st, err := root.Stat(rest); err != nil || !st.Mode().IsRegular() {
			continue
		}
		if f, err := root.Open(rest); err == nil {
			if st, err := f.Stat(); err == nil && st.Mode().IsRegular() {
				return f
			}
			_ = f.Close()
		}
	}
	return nil
}

// read reads the lines near those of a list.
func (s *source) read(r io.Reader, lines []int) {
	in := bufio.NewReader(io.LimitReader(r, maxSourceFile))
	last := min(lines[len(lines)-1]+nearLines, s.First+maxSourceLines)
	for n := 1; n <= last; n++ {
		text, err := in.ReadString('\n')
		if text == "" && err != nil {
			return
		}
		for len(lines) > 1 && lines[0]+nearLines < n {
			lines = lines[1:]
		}
		if n < s.First {
			continue
		}
		if n < lines[0]-nearLines {
			s.Lines = append(s.Lines, nil)
			continue
		}
		text = utf8Text([]byte(strings.TrimRight(text, "\r\n")))
		if r := []rune(text); len(r) > maxSourceLine {
			text = string(r[:maxSourceLine]) + "…"
		}
		s.Lines = append(s.Lines, &text)
	}
}

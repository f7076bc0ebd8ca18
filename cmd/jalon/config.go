package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"golang.org/x/sys/unix"

	"github.com/jalon-trace/jalon/internal/manual"
)

// configurable are the flags that a configuration file may set: how jalon works and prints, not what it does.
var configurable = strings.Fields("buffer clock colour debug-dir elapsed elements engine format no-follow ns quiet stack strlen time vmlinux")

// configFiles are the files that are read, the later ones first in force, as the manual page has them.
var configFiles = []manual.Status{
	{Name: "/etc/jalon.conf", Meaning: "Defaults for all users: lines of the form FLAG = VALUE, such as debug-dir = /srv/debug; below a line [COMMAND] for that command only. # begins a comment"},
	{Name: "~/.config/jalon/config", Meaning: "The same for one user ($XDG_CONFIG_HOME/jalon/config). $JALON_CONFIG names one file that is read in place of both; empty: none"},
}

// configPaths are the paths of the files in the order in which they are read.
func configPaths() []string {
	if path, set := os.LookupEnv("JALON_CONFIG"); set {
		if path == "" {
			return nil
		}
		return []string{path}
	}
	paths := []string{"/etc/jalon.conf"}
	if dir, err := os.UserConfigDir(); err == nil {
		paths = append(paths, filepath.Join(dir, "jalon", "config"))
	}
	return paths
}

// settings are the values of flags by command ("": all commands) and name.
type settings map[[2]string][]string

// readSettings reads the configuration files. A file that is not there is no error, unless $JALON_CONFIG names it.
func readSettings() (settings, error) {
	all := settings{}
	_, named := os.LookupEnv("JALON_CONFIG")
	for _, path := range configPaths() {
		one := settings{}
		err := one.read(path)
		if errors.Is(err, fs.ErrNotExist) && !named {
			continue
		}
		if err != nil {
			return nil, err
		}
		maps.Copy(all, one)
	}
	return all, nil
}

// read reads a file. One that another user can write is refused: it decides which files jalon reads, maybe as root.
func (s settings) read(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return fmt.Errorf("%s is not a file", path)
	}
	if st.Uid != 0 && int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 {
		return fmt.Errorf("other users can change %s: it must belong to you or root, and only its owner may write it", path)
	}
	command := ""
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		if err := s.line(strings.TrimSpace(lines.Text()), &command); err != nil {
			return usageError(fmt.Sprintf("%s:%d: %v", path, n, err))
		}
	}
	return lines.Err()
}

// line reads FLAG = VALUE or [COMMAND].
func (s settings) line(line string, command *string) error {
	if line == "" || strings.HasPrefix(line, "#") {
		return nil
	}
	if name, ok := strings.CutPrefix(line, "["); ok {
		name, ok = strings.CutSuffix(name, "]")
		if *command = strings.TrimSpace(name); !ok {
			return fmt.Errorf("%q does not end with ]", line)
		}
		return nil
	}
	flag, value, ok := strings.Cut(line, "=")
	flag, value = strings.TrimPrefix(strings.TrimSpace(flag), "--"), strings.TrimSpace(value)
	switch {
	case !ok:
		return fmt.Errorf("%q is not FLAG = VALUE", line)
	case !slices.Contains(configurable, flag):
		return fmt.Errorf("%q cannot be set here; what can be is %s", flag, strings.Join(configurable, ", "))
	}
	key := [2]string{*command, flag}
	s[key] = append(s[key], value)
	return nil
}

// Validate implements kong.Resolver: a section names a command.
func (s settings) Validate(*kong.Application) error {
	for k := range s {
		if k[0] != "" && !slices.Contains(commandNames(), k[0]) {
			return usageError(fmt.Sprintf("the configuration has a section [%s], which is no command", k[0]))
		}
	}
	return nil
}

// Resolve implements kong.Resolver: the value of a flag that the command line does not have.
func (s settings) Resolve(_ *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	command := ""
	if parent != nil && parent.Command != nil {
		command = parent.Command.Name
	}
	values := s[[2]string{command, flag.Name}]
	if values == nil {
		values = s[[2]string{"", flag.Name}]
	}
	switch {
	case len(values) == 0:
		return nil, nil
	case flag.IsSlice():
		list := make([]any, len(values))
		for i, v := range values {
			list[i] = v
		}
		return list, nil
	}
	return values[len(values)-1], nil
}

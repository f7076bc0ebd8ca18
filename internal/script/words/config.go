package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jalon-trace/jalon/internal/script/types"
)

// Key is a row of the settings. Default is a number, true, false or a word; Words are the words that a setting
// can have.
type Key struct {
	Name    string
	Default string
	Words   []string
	Kind    types.Kind // Int, Bool or String
	Doc     string
	// Gone settings had a meaning in earlier versions of bpftrace.
	Gone bool
}

var (
	switchWords = []string{"enable", "warn", "error"}
	licenses    = []string{"GPL", "GPL v2", "GPL and additional rights", "Dual BSD/GPL", "Dual MIT/GPL", "Dual MPL/GPL"}
)

// Keys is the table of settings.
var Keys = []Key{
	{Name: "cache_user_symbols", Default: "PER_PID", Words: []string{"PER_PROGRAM", "PER_PID", "NONE"}, Kind: types.String, Doc: "without effect: jalon keeps the symbols of each file, and reads those of a process when it starts"},
	{Name: "cpp_demangle", Default: "true", Kind: types.Bool, Doc: "C++ names of user-space stacks as in the source"},
	{Name: "lazy_symbolication", Default: "false", Kind: types.Bool, Doc: "names of user-space addresses are looked up when they are printed"},
	{Name: "license", Default: "GPL", Words: licenses, Kind: types.String, Doc: "the license of the eBPF programs"},
	{Name: "log_size", Default: "1000000", Kind: types.Int, Doc: "bytes of the verifier's log"},
	{Name: "max_bpf_progs", Default: "1024", Kind: types.Int, Doc: "the number of eBPF programs"},
	{Name: "max_cat_bytes", Default: "10240", Kind: types.Int, Doc: "bytes that cat() prints"},
	{Name: "max_map_keys", Default: "4096", Kind: types.Int, Doc: "elements of a map that is not declared"},
	{Name: "max_probes", Default: "1024", Kind: types.Int, Doc: "the most attach points that a script may have"},
	{Name: "max_strlen", Default: "1024", Kind: types.Int, Doc: "bytes of a string, buffer or path of which no size is given"},
	{Name: "missing_probes", Default: "error", Words: []string{"error", "warn", "ignore"}, Kind: types.String, Doc: "what happens if a probe cannot be attached"},
	{Name: "on_stack_limit", Default: "32", Kind: types.Int, Doc: "bytes of a value that is kept on the eBPF stack"},
	{Name: "perf_rb_pages", Default: "0", Kind: types.Int, Doc: "pages of each buffer of events; 0 for jalon's choice"},
	{Name: "print_maps_on_exit", Default: "true", Kind: types.Bool, Doc: "maps are printed at the end"},
	{Name: "show_debug_info", Default: "true", Kind: types.Bool, Doc: "stacks have files and lines"},
	{Name: "stack_mode", Default: "bpftrace", Words: stackModes, Kind: types.String, Doc: "how stacks are printed"},
	{Name: "str_trunc_trailer", Default: "..", Kind: types.String, Doc: "follows a string that was cut"},
	{Name: "unstable_dw_ustack", Default: "enable", Words: switchWords, Kind: types.String, Doc: "whether dw_ustack may be used"},
	{Name: "unstable_import_statement", Default: "enable", Words: switchWords, Kind: types.String, Doc: "whether import may be used in blocks"},
	{Name: "unstable_tseries", Default: "enable", Words: switchWords, Kind: types.String, Doc: "whether tseries may be used"},
	{Name: "unstable_typeinfo", Default: "enable", Words: switchWords, Kind: types.String, Doc: "whether typeinfo may be used"},
	{Name: "use_blazesym", Default: "true", Kind: types.Bool, Doc: "without effect"},
	{Name: "max_type_res_iterations", Gone: true},
	{Name: "symbol_source", Gone: true},
	{Name: "unstable_addr", Gone: true},
	{Name: "unstable_import", Gone: true},
	{Name: "unstable_macro", Gone: true},
	{Name: "unstable_map_decl", Gone: true},
}

// renamed are former names of settings.
var renamed = map[string]string{"strlen": "max_strlen", "cat_bytes_max": "max_cat_bytes", "map_keys_max": "max_map_keys"}

// Config has the values of settings.
type Config struct{ values map[string]string }

// Value is what a script sets a key to: Text, of a kind (Int, Bool, String).
type Value struct {
	Kind types.Kind
	Text string
}

// Set sets a key, which may be written as an environment variable. warning is not empty if the setting is
// accepted but should be written otherwise.
func (c *Config) Set(name string, v Value) (warning string, err error) {
	key := strings.TrimPrefix(strings.ToLower(name), "bpftrace_")
	if key == "no_cpp_demangle" {
		key = "cpp_demangle"
		v.Text = map[string]string{"1": "false", "0": "true", "true": "false", "false": "true"}[v.Text]
	}
	if now := renamed[key]; now != "" {
		warning = fmt.Sprintf("%s is now %s", name, now)
		key = now
	}
	row := findKey(key)
	switch {
	case row == nil:
		return "", fmt.Errorf("there is no setting %q", name)
	case row.Gone:
		return name + " has no effect any more", nil
	}
	text, err := row.parse(v)
	if err != nil {
		return "", err
	}
	if c.values == nil {
		c.values = map[string]string{}
	}
	c.values[key] = text
	return warning, nil
}

// parse checks a value and returns its text.
func (k *Key) parse(v Value) (string, error) {
	switch k.Kind {
	case types.Int:
		if _, err := strconv.ParseUint(v.Text, 10, 63); err != nil || v.Kind == types.Bool {
			return "", fmt.Errorf("%s is a number, not %q", k.Name, v.Text)
		}
	case types.Bool:
		switch strings.ToLower(v.Text) {
		case "true", "1":
			return "true", nil
		case "false", "0":
			return "false", nil
		}
		return "", fmt.Errorf("%s is true or false, not %q", k.Name, v.Text)
	default:
		if v.Kind != types.String {
			return "", fmt.Errorf("%s is a word, not %q", k.Name, v.Text)
		}
		if k.Words == nil {
			return v.Text, nil
		}
		i := slices.IndexFunc(k.Words, func(w string) bool { return strings.EqualFold(w, v.Text) })
		if i < 0 {
			return "", fmt.Errorf("%s is one of %s, not %q", k.Name, strings.Join(k.Words, ", "), v.Text)
		}
		return k.Words[i], nil
	}
	return v.Text, nil
}

// IsSetting reports whether a variable of the environment is a setting.
func IsSetting(env string) bool {
	return findKey(strings.TrimPrefix(strings.ToLower(env), "bpftrace_")) != nil
}

func findKey(name string) *Key {
	for i := range Keys {
		if Keys[i].Name == name {
			return &Keys[i]
		}
	}
	return nil
}

// Word returns the value of a setting as text.
func (c *Config) Word(name string) string {
	if c != nil {
		if v, ok := c.values[name]; ok {
			return v
		}
	}
	row := findKey(name)
	if row == nil {
		panic("BUG: there is no setting " + name)
	}
	return row.Default
}

// Int returns the value of a setting that is a number.
func (c *Config) Int(name string) int64 {
	v, err := strconv.ParseInt(c.Word(name), 10, 64)
	if err != nil {
		panic("BUG: " + name + " is not a number")
	}
	return v
}

// Bool returns the value of a setting that is true or false.
func (c *Config) Bool(name string) bool { return c.Word(name) == "true" }

// record is the type of the word config.
func (c *Config) record() *types.Type {
	var fields []types.Field
	for _, k := range Keys {
		f := types.Field{Name: k.Name}
		switch {
		case k.Gone:
			continue
		case k.Kind == types.Bool:
			f.Type = types.BoolT
		case k.Kind == types.Int:
			f.Type = types.Uint64
		default:
			f.Type = types.StringOf(int64(len(c.Word(k.Name))) + 1)
		}
		fields = append(fields, f)
	}
	return types.RecordOf(fields)
}

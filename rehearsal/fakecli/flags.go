package fakecli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
)

// flags is a command line: the values of each option that was given.
type flags map[string][]string

func (f flags) has(name string) bool { _, ok := f[name]; return ok }

// get returns the last value of an option, "" if it has none.
func (f flags) get(name string) string {
	if v := f[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// parseFlags reads a command line: what follows an option, up to the next one, are its values.
// It takes any option; what the CLI takes is tested with the CLI.
func parseFlags(args []string) flags {
	f, name := flags{}, ""
	for _, arg := range args {
		if arg != "-p" && !strings.HasPrefix(arg, "--") {
			f[name] = append(f[name], arg)
			continue
		}
		option, value, inline := strings.Cut(arg, "=")
		values := f[option]
		if inline {
			values = append(values, value)
		}
		name, f[option] = option, values
	}
	return f
}

// configDir returns the directory that holds projects/.
func configDir() string {
	return cmp.Or(os.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(os.Getenv("HOME"), ".claude"))
}

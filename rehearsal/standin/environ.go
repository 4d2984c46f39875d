package standin

import (
	"path/filepath"
	"strconv"
	"strings"
)

// environ is the environment the stand-in was given.
type environ map[string]string

func readEnviron(vars []string) environ {
	e := environ{}
	for _, v := range vars {
		if k, val, ok := strings.Cut(v, "="); ok {
			e[k] = val
		}
	}
	return e
}

// on tells whether a switch such as CLAUDE_CODE_X=1 is set.
func (e environ) on(name string) bool {
	switch strings.ToLower(e[name]) {
	case "1", "true", "yes", "on":
		return true
	}
	return false
}

// number returns the variable as a non-negative number, or otherwise.
func (e environ) number(name string, otherwise int) int {
	if n, err := strconv.Atoi(e[name]); err == nil && n >= 0 {
		return n
	}
	return otherwise
}

// configDir is where projects/ lies: CLAUDE_CONFIG_DIR, else HOME/.claude.
func (e environ) configDir() string {
	if d := e["CLAUDE_CONFIG_DIR"]; d != "" {
		return d
	}
	return filepath.Join(e["HOME"], ".claude")
}

// tempDir is where the outputs of tools go.
func (e environ) tempDir() string {
	for _, name := range []string{"CLAUDE_CODE_TMPDIR", "TMPDIR"} {
		if d := e[name]; d != "" {
			return d
		}
	}
	return "/tmp"
}

// list gives the environment back, in the form exec wants, with changes applied.
func (e environ) list(changes map[string]string) []string {
	out := make([]string, 0, len(e)+len(changes))
	for k, v := range e {
		if _, changed := changes[k]; !changed {
			out = append(out, k+"="+v)
		}
	}
	for k, v := range changes {
		out = append(out, k+"="+v)
	}
	return out
}

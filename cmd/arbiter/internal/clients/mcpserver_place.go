package clients

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// place returns the directory in which a run may work, with all links resolved, so that a link cannot lead out of
// the allowed directories.
func (s *MCPServer) place(dir string) (string, error) {
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(s.o.Dirs[0], dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("directory for the run: %w", err)
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return "", fmt.Errorf("directory for the run: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a directory", dir)
	case !s.within(real):
		return "", fmt.Errorf("a run may work in %s and below, not in %s: the user allows another directory with "+
			"arbiter mcp --allow-dir DIR", strings.Join(s.o.Dirs, ", "), dir)
	}
	return real, nil
}

func (s *MCPServer) within(dir string) bool {
	for _, root := range s.o.Dirs {
		rel, err := filepath.Rel(root, dir)
		if err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// find finds a run that this server may show and control: one in an allowed directory.
func (s *MCPServer) find(named string) (journal.Info, error) {
	if strings.TrimSpace(named) == "" {
		return journal.Info{}, errors.New("the run is empty: give its id; list_runs lists the runs")
	}
	info, err := s.o.Runs.Find(named)
	if err == nil && !s.shows(info) {
		err = fmt.Errorf("run %s works in %s, which is not in %s: the user allows another directory with arbiter mcp "+
			"--allow-dir DIR", named, info.CWD, strings.Join(s.o.Dirs, ", "))
	}
	return info, err
}

// shows reports whether the server may show a run.
func (s *MCPServer) shows(info journal.Info) bool { return s.within(info.CWD) }

package statedir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
)

// Workspace is the place of one workspace's file in a directory that all workspaces share.
type Workspace struct {
	*Dir        // the caller must close it
	CWD  string // the workspace's directory, absolute and without links
	Name string // of the file, without an extension: the SHA-256 of CWD, in hex
}

// OpenWorkspace opens the directory name in the state directory dir, for the workspace cwd, and creates
// missing directories. Error: *UnsafeError if one of them is a link or another user's.
func OpenWorkspace(dir, name, cwd string) (*Workspace, error) {
	resolved, err := filepath.Abs(cwd)
	if err == nil {
		resolved, err = filepath.EvalSymlinks(resolved)
	}
	if err != nil {
		return nil, fmt.Errorf("resolve the workspace: %w", err)
	}
	state, err := Open(dir)
	if err != nil {
		return nil, err
	}
	defer state.Close()
	own, err := state.Dir(name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(resolved))
	return &Workspace{Dir: own, CWD: resolved, Name: hex.EncodeToString(sum[:])}, nil
}

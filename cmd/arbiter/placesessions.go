package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runarchive"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runhistory"
)

// placeSessions gives Claude Code the transcripts of an imported run. It is done before an agent is started, so that a
// resume that is killed meanwhile does it again.
func (r *runtimeRun) placeSessions() error {
	from := filepath.Join(r.journal.Dir(), runarchive.ProjectsDir)
	if _, err := os.Lstat(from); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	run := command.ShortID(r.choices.Options.Run)
	if err := runarchive.Place(from, runhistory.ClaudeConfig(r.choices.Options)); err != nil {
		return command.Environmentf("run %s: the transcripts of its sessions cannot be put in place: %v", run, err)
	}
	if err := os.RemoveAll(from); err != nil {
		return command.Environmentf("run %s: %v", run, err)
	}
	return nil
}

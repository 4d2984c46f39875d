package main

import (
	"context"
	"errors"
	"os"
	"slices"

	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui"
)

// maxVersion bounds, in bytes, each version of a file that the screen compares.
const maxVersion = 1 << 20

// Changes implements tui.Host.
func (h *host) Changes(ctx context.Context, run string) ([]tui.ChangedFile, error) {
	_, changes, err := h.changes(ctx, run)
	if err != nil {
		return nil, err
	}
	var list []tui.ChangedFile
	for _, c := range changes {
		list = append(list, tui.ChangedFile{Path: c.Path, Old: c.Old, Status: string(c.Status), Added: c.Added,
			Deleted: c.Deleted, Binary: c.Binary})
	}
	return list, nil
}

// Versions implements tui.Host.
func (h *host) Versions(ctx context.Context, run, path, old string) (v tui.Versions, err error) {
	r, changes, err := h.changes(ctx, run)
	if err != nil {
		return v, err
	}
	at := slices.IndexFunc(changes, func(c workspaces.Change) bool { return c.Path == path && c.Old == old })
	if at < 0 {
		return v, environmentf("%s is as it was when the run began", fileName(path))
	}
	before, cutBefore, err := r.Content(ctx, changes[at].From, maxVersion)
	if err != nil {
		return v, environmentf("%s: %v", fileName(path), err)
	}
	after, cutAfter, err := r.Content(ctx, changes[at].To, maxVersion)
	if err != nil {
		return v, environmentf("%s: %v", fileName(path), err)
	}
	return tui.Versions{Before: string(before), After: string(after), Cut: cutBefore || cutAfter}, nil
}

// changes finds out what a run has changed.
func (h *host) changes(ctx context.Context, run string) (*workspaces.Repo, []workspaces.Change, error) {
	store, err := journal.OpenStore(h.choices.StateDir)
	if err != nil {
		return nil, nil, stateDirProblem(err)
	}
	defer store.Close()
	info, err := oneRun(store, run)
	if err != nil {
		return nil, nil, err
	}
	r, err := workOf(ctx, info)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, environmentf("the directory of the run: %v", withoutPath(err))
	}
	if err != nil {
		return nil, nil, environmentf("%s: %v", workDir(info), err)
	}
	span, err := r.Work(ctx)
	if err != nil {
		return nil, nil, workError(info, err)
	}
	changes, err := r.Changes(ctx, span.From, span.To)
	if err != nil {
		return nil, nil, environmentf("list changes: %v", err)
	}
	return r, changes, nil
}

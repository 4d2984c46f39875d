package clients

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui"
)

// maxVersion bounds the size in bytes of each file version that the screen compares.
const maxVersion = 1 << 20

func (h *ScreenHost) Changes(ctx context.Context, run string) ([]tui.ChangedFile, error) {
	_, _, changes, err := h.ChangedFiles(ctx, run)
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

func (h *ScreenHost) Versions(ctx context.Context, run, path, old string) (v tui.Versions, err error) {
	r, _, changes, err := h.ChangedFiles(ctx, run)
	if err != nil {
		return v, err
	}
	at := slices.IndexFunc(changes, func(c workspaces.Change) bool { return c.Path == path && c.Old == old })
	if at < 0 {
		return v, command.Environmentf("%s is as it was when the run began", subcommands.FileName(path))
	}
	before, cutBefore, err := r.Content(ctx, changes[at].From, maxVersion)
	if err != nil {
		return v, command.Environmentf("%s: %v", subcommands.FileName(path), err)
	}
	after, cutAfter, err := r.Content(ctx, changes[at].To, maxVersion)
	if err != nil {
		return v, command.Environmentf("%s: %v", subcommands.FileName(path), err)
	}
	return tui.Versions{Before: string(before), After: string(after), Cut: cutBefore || cutAfter,
		Object: changes[at].To.ID}, nil
}

// Revert implements tui.Host.
func (h *ScreenHost) Revert(ctx context.Context, run string, c contract.Revert) error {
	r, info, err := h.work(ctx, run)
	if err != nil {
		return err
	}
	if info.Live {
		return runstore.PlayedElsewhere(info.Run, info.PID)
	}
	return subcommands.RevertChange(ctx, r, info, c)
}

// Land implements tui.Host.
func (h *ScreenHost) Land(ctx context.Context, run string) (string, error) {
	return h.command(ctx, "land", "--state-dir", h.choices.StateDir, run)
}

// Fork implements tui.Host.
func (h *ScreenHost) Fork(ctx context.Context, run string, at int) (string, error) {
	return h.command(ctx, "fork", "--state-dir", h.choices.StateDir, "--at", strconv.Itoa(at), "--detach", run)
}

// command runs a command of arbiter in a process of its own, because this one draws the screen.
func (h *ScreenHost) command(ctx context.Context, args ...string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = h.choices.Place
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	text := strings.TrimSpace(sanitize.Text(said.String()))
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && text != "" {
		return "", subcommands.Refused("%s", strings.ReplaceAll(text, "arbiter: ", ""))
	}
	return text, err
}

// Open implements tui.Host.
func (h *ScreenHost) Open(run, path string, line int) error {
	r, info, err := h.work(h.ctx, run)
	if err != nil {
		return err
	}
	if branch, err := r.Commit(h.ctx, r.Branch(workspaces.Main)); err == nil && branch.ID != "" {
		return subcommands.Refused("the agents of run %s work in directories of their own: their work is not in your files "+
			"until it is landed", command.ShortID(info.Run))
	}
	file := filepath.Join(r.Root, filepath.FromSlash(path))
	if _, err := os.Lstat(file); err != nil {
		return subcommands.Refused("%s cannot be opened: %v", subcommands.FileName(path), command.WithoutPath(err))
	}
	return h.runEditor(editorPlace(editorName(), file, line)...)
}

// work opens the files that a run worked on.
func (h *ScreenHost) work(ctx context.Context, run string) (*workspaces.Repo, journal.Info, error) {
	store, info, err := runstore.FindIn(h.choices.StateDir, run)
	if err != nil {
		return nil, info, err
	}
	defer store.Close()
	r, err := runstore.PastWork(ctx, h.choices.StateDir, info)
	if errors.Is(err, os.ErrNotExist) {
		return nil, info, command.Environmentf("the directory of the run: %v", command.WithoutPath(err))
	}
	if err != nil {
		return nil, info, command.Environmentf("%s: %v", runstore.WorkDir(info), err)
	}
	return r, info, nil
}

// ChangedFiles returns the changes of a run.
func (h *ScreenHost) ChangedFiles(
	ctx context.Context, run string,
) (*workspaces.Repo, journal.Info, []workspaces.Change, error) {
	r, info, err := h.work(ctx, run)
	if err != nil {
		return nil, info, nil, err
	}
	span, err := r.Work(ctx)
	if err != nil {
		return nil, info, nil, subcommands.WorkError(info, err)
	}
	changes, err := r.Changes(ctx, span.From, span.To)
	if err != nil {
		return nil, info, nil, command.Environmentf("list changes: %v", err)
	}
	return r, info, changes, nil
}

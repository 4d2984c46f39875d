package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// clone creates a repository in w.Dir that borrows the objects of the user's, with w.Branch checked out at
// tip.
func (m *Worktrees) clone(ctx context.Context, w Worktree, tip string) error {
	format, err := m.repo.Git.Text(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	there := m.repo.Git
	there.At = nil // there is no repository yet
	_, err = there.Write(ctx, "init", "--quiet", "--template=", "--object-format="+format, "-b", w.Branch, w.Dir)
	if err != nil {
		return err
	}
	if err := m.shareObjects(ctx, w.Dir); err != nil {
		return err
	}
	place, err := git.Locate(w.Dir)
	if err != nil {
		return err
	}
	there.Dir, there.At = w.Dir, &place
	if _, err := there.Write(ctx, "update-ref", "refs/heads/"+w.Branch, tip); err != nil {
		return err
	}
	_, err = there.Write(ctx, "read-tree", "-m", "-u", "HEAD")
	return err
}

// shareObjects gives a new repository the objects of the user's, and the harmless settings.
func (m *Worktrees) shareObjects(ctx context.Context, dir string) error {
	gitDir, objects := filepath.Join(dir, ".git"), filepath.Join(m.repo.CommonDir, "objects")
	if strings.ContainsAny(objects, "\n\"") {
		return fmt.Errorf("%q: a repository with such a path cannot be cloned; use isolation worktree", objects)
	}
	for _, dir := range []string{"objects/info", "info"} {
		if err := os.MkdirAll(filepath.Join(gitDir, dir), 0o777); err != nil {
			return err
		}
	}
	alternates := filepath.Join(gitDir, "objects", "info", "alternates")
	if err := os.WriteFile(alternates, []byte(objects+"\n"), 0o666); err != nil {
		return err
	}
	for _, file := range []string{"shallow", "info/exclude", "info/attributes"} {
		b, err := os.ReadFile(filepath.Join(m.repo.CommonDir, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(gitDir, file), b, 0o666)
		}
		if err != nil {
			return err
		}
	}
	settings, err := m.repo.Carried()
	if err != nil {
		return err
	}
	// A sandbox prevents git in the clone from writing there.
	file := "--file=" + filepath.Join(gitDir, "config")
	for _, s := range settings {
		value := s.Value
		if s.Bare {
			value = "true"
		}
		if _, err := m.repo.Git.Write(ctx, "config", file, "--add", s.Key, value); err != nil {
			return err
		}
	}
	return nil
}

func errNoClone(w Worktree) error {
	return fmt.Errorf("%s is not a clone any more: its .git directory is missing (%w)", w.Dir, fs.ErrNotExist)
}

// fetch brings the commits of a clone into references of this run, and moves its branch in the user's repository. It
// returns the commit of the clone's HEAD.
func (m *Worktrees) fetch(ctx context.Context, w Worktree) (head string, err error) {
	there, err := git.Locate(w.Dir)
	if errors.Is(err, git.ErrNone) || err == nil && there.GitDir != filepath.Join(w.Dir, ".git") {
		err = errNoClone(w)
	}
	if err != nil {
		return "", err
	}
	// The git that sends the commits would use the configuration of the clone.
	source, err := there.View(m.repo.Git.Views)
	if err != nil {
		return "", err
	}
	defer source.Close()
	if err := source.Source(); err != nil {
		return "", err
	}
	below := m.repo.Ref(name(w.Orchestrator))
	_, err = m.repo.Git.Write(ctx, "-c", "fetch.fsckObjects=true", "-c", "fetch.writeCommitGraph=false",
		"-c", "protocol.file.allow=always", "fetch", "--quiet", "--no-tags", "--no-recurse-submodules",
		"--no-write-fetch-head", "--no-auto-maintenance", "--refmap=", source.Dir,
		"+HEAD:"+below+"/head", "+refs/heads/*:"+below+"/heads/*")
	if err != nil {
		return "", err
	}
	branch := "refs/heads/" + w.Branch
	found, err := m.repo.Commits(ctx, below+"/head", below+"/heads/"+w.Branch, branch)
	if err != nil {
		return "", err
	}
	tip := found[1].ID
	if tip == "" { // the agent deleted it
		tip = found[2].ID
	}
	err = m.repo.Move(ctx, "arbiter: fetched", Update{Ref: branch, Old: found[2].ID, New: tip})
	return found[0].ID, err
}

package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// ErrMoved reports a reference that another process moved meanwhile. Nothing was changed: look again, and retry.
var ErrMoved = errors.New("the reference was moved by another process")

// Ref returns the full name of a reference of this run: "base", "orch-1/wip".
func (r *Repo) Ref(name string) string { return "refs/arbiter/" + r.Run + "/" + name }

// Branch returns the full name of a branch of this run: "main", "orch-1.1".
func (r *Repo) Branch(name string) string { return "refs/heads/arbiter/" + r.Run + "/" + name }

// Commit is a commit and its tree. The zero Commit means that there is none.
type Commit struct{ ID, Tree string }

// Commits looks up revisions; a missing one gives the zero Commit.
func (r *Repo) Commits(ctx context.Context, revisions ...string) ([]Commit, error) {
	var in bytes.Buffer
	for _, rev := range revisions {
		if strings.ContainsAny(rev, "\n\x00") {
			return nil, fmt.Errorf("revision %q holds a line end", rev)
		}
		fmt.Fprintf(&in, "%s^{commit}\n%[1]s^{tree}\n", rev)
	}
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"cat-file", "--batch-check=%(objectname)"}, Stdin: in.Bytes()})
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 2*len(revisions) {
		return nil, fmt.Errorf("git cat-file answered %d of %d questions", len(lines), 2*len(revisions))
	}
	commits := make([]Commit, len(revisions))
	for i := range commits {
		id, tree := lines[2*i], lines[2*i+1]
		if !strings.HasSuffix(id, " missing") && !strings.HasSuffix(id, " ambiguous") {
			commits[i] = Commit{id, tree}
		}
	}
	return commits, nil
}

// Commit looks up one revision; [Commit.ID] is empty if there is none.
func (r *Repo) Commit(ctx context.Context, revision string) (Commit, error) {
	all, err := r.Commits(ctx, revision)
	if err != nil {
		return Commit{}, err
	}
	return all[0], nil
}

// Update is a move of a reference: from Old ("" if it must not exist) to New ("" deletes it).
type Update struct{ Ref, Old, New string }

// Move moves references: all, or none. reason goes into reflogs if there are any. If all of them already
// have their new values, it does nothing. Errors: [ErrMoved], git's.
func (r *Repo) Move(ctx context.Context, reason string, updates ...Update) error {
	var in bytes.Buffer
	for _, u := range updates {
		switch {
		case u.Old == u.New:
		case u.New == "":
			fmt.Fprintf(&in, "delete %s\x00%s\x00", u.Ref, u.Old)
		case u.Old == "":
			fmt.Fprintf(&in, "create %s\x00%s\x00", u.Ref, u.New)
		default:
			fmt.Fprintf(&in, "update %s\x00%s\x00%s\x00", u.Ref, u.New, u.Old)
		}
	}
	if in.Len() == 0 {
		return nil
	}
	call := git.Call{Args: []string{"update-ref", "-m", reason, "-z", "--stdin"}, Stdin: in.Bytes(), Writes: true}
	failed := r.move(ctx, call, updates)
	if e, ok := errors.AsType[*git.Error](failed); ok && strings.Contains(e.Stderr, "couldn't set") {
		// Another git removed an empty directory of references at the moment when this one needed it.
		failed = r.move(ctx, call, updates)
	}
	return failed
}

// move makes one attempt.
func (r *Repo) move(ctx context.Context, call git.Call, updates []Update) error {
	failed := r.pastLocks(ctx, nil, func() error {
		_, err := r.Git.Do(ctx, call)
		return err
	})
	if failed == nil || ctx.Err() != nil {
		return failed
	}
	names := make([]string, len(updates))
	for i, u := range updates {
		names[i] = u.Ref
	}
	above := []string{"arbiter", "arbiter/" + r.Run} // git keeps no branch below the name of another
	below := func(ref string) bool { return strings.HasPrefix(ref, r.Branch("")) }
	now, err := r.Commits(ctx, append(names, "refs/heads/"+above[0], "refs/heads/"+above[1])...)
	if err != nil {
		return errors.Join(failed, err)
	}
	done, moved := true, ""
	for i, u := range updates {
		done = done && now[i].ID == u.New
		if now[i].ID != u.Old && now[i].ID != u.New {
			moved = u.Ref
		}
	}
	switch {
	case done:
		return nil
	case moved != "":
		return fmt.Errorf("%s: %w", moved, ErrMoved)
	}
	for i, branch := range above {
		if now[len(updates)+i].ID != "" && slices.ContainsFunc(names, below) {
			return fmt.Errorf("the branch %s is in the way of the branches of this run, arbiter/%s/…: rename it: "+
				"git branch -m %[1]s NEW-NAME", branch, r.Run)
		}
	}
	return failed
}

// Refs lists the references of this run below a prefix of [Repo.Ref] ("" for all), with the commits they name.
func (r *Repo) Refs(ctx context.Context, prefix string) (map[string]string, error) {
	return r.below(ctx, r.Ref(prefix))
}

// below lists references, with the commits they name.
func (r *Repo) below(ctx context.Context, prefix string) (map[string]string, error) {
	out, err := r.Git.Text(ctx, "for-each-ref", "--format=%(objectname) %(refname)",
		strings.TrimSuffix(prefix, "/"))
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		refs[name] = id
	}
	return refs, nil
}

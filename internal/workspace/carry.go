package workspace

// This file brings the snapshots of a run, its branches and its files from one clone of a repository to
// another.
//
// They travel in a Git bundle that has what was added since the commit with which the run began. The other
// clone must have that commit, and the files that the run changed must be unchanged there since that
// commit.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// export is the name of the snapshot of the files when they are packed.
const export = "export"

// shown is how many files an error names.
const shown = 5

// notWritten reports files that have neither the state before the run nor the state after it.
func notWritten(files []Blocked) error {
	var list []string
	for _, b := range files[:min(len(files), shown)] {
		list = append(list, b.Path+" ("+b.Reason+")")
	}
	if more := len(files) - shown; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return errors.New("files of the run cannot be written: " + strings.Join(list, ", "))
}

// PackRun writes a bundle to a file, and returns the commit that the other clone must have. It does not
// include files that Git ignores. Error: [ErrNoSnapshot] if the run recorded none.
func PackRun(ctx context.Context, r *Repo, file string) (base string, err error) {
	first, err := r.Find(ctx, Base)
	if err != nil {
		return "", err
	}
	if first.Commit.ID == "" || first.Head == "" {
		return "", ErrNoSnapshot
	}
	if _, err := r.Again(ctx, export); err != nil {
		return "", err
	}
	args := []string{"bundle", "create", "--quiet", file}
	for _, prefix := range []string{r.Ref(""), r.Branch("")} {
		refs, err := r.below(ctx, prefix)
		if err != nil {
			return "", err
		}
		args = append(args, slices.Sorted(maps.Keys(refs))...)
	}
	_, err = r.Git.Write(ctx, append(args, "^"+first.Head)...)
	return first.Head, err
}

// UnpackRun unpacks a bundle into a repository: the files of the work tree get the state in which they were
// packed, and the run's references are created. Nothing is written if a file is in the way. A call after a
// crash finishes the work. It returns the commit that was checked out there.
func UnpackRun(ctx context.Context, r *Repo, file, base string) (head string, err error) {
	r, unlock, err := r.Lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if !commitID().MatchString(base) {
		return "", fmt.Errorf("%.80q is not a commit", base)
	}
	there, err := r.Commit(ctx, base)
	if err != nil {
		return "", err
	}
	if there.ID == "" {
		return "", fmt.Errorf("the repository has no commit %s, which the run began with: fetch it", base)
	}
	refs, err := fetch(ctx, r, file)
	if err != nil {
		return "", err
	}
	packed := refs[r.Ref(export)]
	if packed == "" {
		return "", errors.New("the bundle has no files of the run")
	}
	plan, err := PrepareApply(ctx, r, base, packed, nil)
	if err != nil {
		return "", err
	}
	if blocked := plan.left(); len(blocked) > 0 {
		return "", notWritten(blocked)
	}
	updates, err := moves(ctx, r, refs)
	if err != nil {
		return "", err
	}
	late, err := plan.Run(ctx)
	if err != nil {
		return "", err
	}
	if len(late) > 0 {
		return "", notWritten(late)
	}
	if err := r.Move(ctx, "arbiter: imported", updates...); err != nil {
		return "", err
	}
	found, err := r.Commit(ctx, packed+"^1")
	return found.ID, err
}

var commitID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
})

// fetch brings the objects of a bundle into the repository, each checked, and returns its references. It
// does not move references.
func fetch(ctx context.Context, r *Repo, file string) (map[string]string, error) {
	out, err := r.Git.Text(ctx, "bundle", "list-heads", file)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		ours := strings.HasPrefix(name, r.Ref("")) || strings.HasPrefix(name, r.Branch(""))
		if !ours || !commitID().MatchString(id) {
			return nil, fmt.Errorf("the bundle has a reference that is none of the run's: %.120q", name)
		}
		refs[name] = id
	}
	return refs, r.take(ctx, file, slices.Sorted(maps.Keys(refs))...)
}

// take fetches from another repository, or from a bundle. Each object is checked, and only what is named is moved.
func (r *Repo) take(ctx context.Context, from string, what ...string) error {
	_, err := r.Git.Write(ctx, append([]string{"-c", "fetch.fsckObjects=true", "-c", "fetch.writeCommitGraph=false",
		"-c", "protocol.file.allow=always", "fetch", "--quiet", "--no-tags", "--no-recurse-submodules",
		"--no-write-fetch-head", "--no-auto-maintenance", "--refmap=", from}, what...)...)
	return err
}

// moves returns the references to create. Existing ones must be equal.
func moves(ctx context.Context, r *Repo, refs map[string]string) ([]Update, error) {
	names := slices.Sorted(maps.Keys(refs))
	now, err := r.Commits(ctx, names...)
	if err != nil {
		return nil, err
	}
	var updates []Update
	for i, name := range names {
		switch now[i].ID {
		case refs[name]:
		case "":
			updates = append(updates, Update{Ref: name, New: refs[name]})
		default:
			return nil, fmt.Errorf("%s is of the same run and names another commit: remove it first (git update-ref -d %[1]s)",
				name)
		}
	}
	return updates, nil
}

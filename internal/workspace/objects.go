package workspace

import (
	"bytes"
	"context"
	"crypto/sha1" // Git's own names of objects
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// maxTogether bounds the contents that are read together, in bytes; a larger file is read alone.
const maxTogether = 32 << 20

// Damaged returns the first object of a commit, of its trees and of its files, whose content does not have its name;
// empty if there is none. Git itself compares them when objects arrive from elsewhere, and not when it reads its own.
func (r *Repo) Damaged(ctx context.Context, c Commit) (string, error) {
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"ls-tree", "-r", "-t", "-l", "-z", "--full-tree", c.ID}})
	if git.Exit(err) > 0 || errors.Is(err, git.ErrTooMuch) { // a tree that was made to contain itself has no end
		return c.Tree, nil
	}
	if err != nil {
		return "", err
	}
	ids, seen, size := []string{c.ID, c.Tree}, map[string]bool{}, 0
	for _, entry := range append(Fields(out), "") {
		if f := strings.Fields(entry); len(f) > 3 && f[1] != "commit" && !seen[f[2]] {
			seen[f[2]] = true
			n, _ := strconv.Atoi(f[3]) // a tree has none
			ids, size = append(ids, f[2]), size+n
		}
		if entry != "" && size < maxTogether && len(ids) < 1000 {
			continue
		}
		if bad, err := r.damaged(ctx, ids, size); err != nil || bad != "" {
			return bad, err
		}
		ids, size = nil, 0
	}
	return "", nil
}

func (r *Repo) damaged(ctx context.Context, ids []string, size int) (string, error) {

	out, err := r.Git.Do(ctx, git.Call{Args: []string{"cat-file", "--batch"}, Max: size + git.DefaultMax,
		Stdin: []byte(strings.Join(ids, "\n") + "\n")})
	if err != nil && git.Exit(err) < 0 && !errors.Is(err, git.ErrTooMuch) {
		return "", err
	}
	for _, id := range ids {
		header, rest, _ := bytes.Cut(out, []byte("\n"))
		f := strings.Fields(string(header))
		if len(f) != 3 || f[0] != id {
			return id, nil
		}
		n, err := strconv.Atoi(f[2])
		if err != nil || n < 0 || n >= len(rest) {
			return id, nil
		}
		var sum hash.Hash = sha1.New()
		if len(id) == 2*sha256.Size {
			sum = sha256.New()
		}
		fmt.Fprintf(sum, "%s %d\x00", f[1], n)
		sum.Write(rest[:n])
		if hex.EncodeToString(sum.Sum(nil)) != id {
			return id, nil
		}
		out = rest[n+1:]
	}
	return "", nil
}

// Content returns a file of a tree, at most most bytes of it. The zero Entry and a submodule have no
// content.
func (r *Repo) Content(ctx context.Context, e Entry, most int) (text []byte, cut bool, err error) {
	if e.ID == "" || e.Mode == ModeModule {
		return nil, false, nil
	}
	text, err = r.Git.Do(ctx, git.Call{Args: []string{"cat-file", "blob", e.ID}, Max: most})
	if errors.Is(err, git.ErrTooMuch) {
		return text, true, nil
	}
	return text, false, err
}

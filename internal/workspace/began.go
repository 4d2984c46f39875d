package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// BeganName is the name of a run's file for [Options.Began].
const BeganName = "repository.json"

// began is the repository as it was when the run began.
type began struct {
	git.Place
	Survey git.Survey `json:"survey"`
	Partly bool       `json:"partly,omitempty"` // there was not enough time to look everywhere
}

// Begin records in the file of [Options.Began] which repository the run uses, and what is in it that runs something.
// If the file exists, it is left as it is.
func (r *Repo) Begin(ctx context.Context) error {
	file := r.options.Began
	if _, err := os.Lstat(file); file == "" || err == nil {
		return nil
	}
	survey, all, err := r.Survey(ctx)
	if err != nil {
		return err
	}
	return writeRecord(file, began{r.Place, survey, !all})
}

// beginning reads the record; ok is false if there is none.
func (r *Repo) beginning() (b began, ok bool, err error) {
	text, err := os.ReadFile(r.options.Began)
	if r.options.Began == "" || errors.Is(err, fs.ErrNotExist) {
		return b, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return b, false, fmt.Errorf("read which repository the run began with: %w", err)
	}
	return b, true, nil
}

// same fails if the run began with another repository.
func (r *Repo) same() error {
	b, ok, err := r.beginning()
	if err != nil || !ok || b.Place == r.Place {
		return err
	}
	return &git.ChangedError{What: fmt.Sprintf("the run began in %s with the repository %s (common directory %s), and "+
		"now the repository is that of %s: %s (%s)", b.Root, b.GitDir, b.CommonDir, r.Root, r.GitDir, r.CommonDir)}
}

// shownPlanted is how many finds a warning names.
const shownPlanted = 10

// Planted returns a warning about what git would run or use in the work tree and was not there when the run began;
// empty if there is nothing, or if there is no record.
func (r *Repo) Planted(ctx context.Context) (string, error) {
	b, ok, err := r.beginning()
	if err != nil || !ok {
		return "", err
	}
	now, all, err := r.Survey(ctx)
	if err != nil {
		return "", err
	}
	warning := ""
	if list := now.New(b.Survey); len(list) > 0 {
		seen := "was not there, or was different"
		if b.Partly {
			seen = "was not there, was different, or was not looked at"
		}
		warning = "git would run or use what " + seen + ", when the run began: " + listed(list, shownPlanted) +
			". Look at it before you run git there."
	}
	if !all {
		warning = strings.TrimSpace(warning + " Not all directories were searched for repositories, because there are too " +
			"many.")
	}
	return warning, nil
}

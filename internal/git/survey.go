package git

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Bounds of a survey.
const (
	surveyTime    = 3 * time.Second
	maxSurveyFile = 1 << 20 // bytes that are read of a hook
)

// Survey is what makes git run something, use another repository, or write elsewhere, in a work tree and its
// repository: each with a value that differs when it has changed. Names are relative to the top of the work tree where
// they are below it.
type Survey map[string]string

// Survey looks for repositories below the work tree, for settings that run something, for hooks, and for links in
// repositories. It looks into ignored directories, too, because git does not ignore a repository there, but follows no
// links. It runs nothing. all is false if there was not enough time to look everywhere.
func (p Place) Survey(ctx context.Context) (found Survey, all bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	s := surveyor{ctx: ctx, root: p.Root, found: Survey{}}
	for _, dir := range slices.Compact([]string{p.CommonDir, p.GitDir}) { // a linked worktree has submodules of its own
		err = cmp.Or(err, s.modules(dir))
	}
	s.settings(filepath.Join(p.Root, ".gitmodules"))
	s.tree(p.Root)
	return s.found, ctx.Err() == nil, err
}

// New lists what is new or has changed since an earlier survey.
func (s Survey) New(since Survey) []string {
	var list []string
	for name, sum := range s {
		if before, known := since[name]; !known || before != sum {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

type surveyor struct {
	ctx   context.Context
	root  string
	found Survey
}

func (s *surveyor) add(path, what string, sum []byte) {
	if rel, err := filepath.Rel(s.root, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	digest := sha256.Sum256(sum)
	s.found[path+what] = hex.EncodeToString(digest[:8])
}

// settings records the settings of a configuration file that run something. A file that cannot be read is recorded.
func (s *surveyor) settings(file string) {
	all, err := Settings(file)
	if err != nil {
		s.add(file, " (unreadable)", []byte(err.Error()))
	}
	sums := map[string]string{}
	for _, set := range all {
		harmless := filepath.Base(file) == ".gitmodules" && (strings.HasSuffix(set.Key, ".path") ||
			!strings.HasPrefix(set.Value, "!"))
		if set.Runs() && !harmless {
			sums[set.Key] += set.Value + "\x00"
		}
	}
	for key, sum := range sums {
		s.add(file, " ("+key+")", []byte(sum))
	}
}

// modules records what runs in a Git directory and in those of its submodules.
func (s *surveyor) modules(dir string) error {
	modules, err := Submodules(filepath.Join(dir, "modules"))
	for _, d := range append(modules, dir) {
		s.repository(d)
	}
	return err
}

// repository records what runs in a Git directory.
func (s *surveyor) repository(dir string) {
	for _, name := range []string{"config", "config.worktree"} {
		s.settings(filepath.Join(dir, name))
	}
	for _, name := range []string{CommonDirFile, "info/attributes", "objects/info/alternates"} {
		if text, err := read(filepath.Join(dir, name), maxSurveyFile); err != nil || len(text) > 0 {
			s.add(filepath.Join(dir, name), "", text)
		}
	}
	hooks, _ := os.ReadDir(filepath.Join(dir, "hooks")) // an unreadable directory runs nothing
	for _, e := range hooks {
		path := filepath.Join(dir, "hooks", e.Name())
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Mode()&0o111 == 0 ||
			strings.HasSuffix(path, ".sample") {
			continue
		}
		text, _ := read(path, maxSurveyFile)
		s.add(path, "", text)
	}
	s.links(dir)
}

// unlinked are the directories of a repository where git follows no link to write, and those that are looked at apart.
var unlinked = []string{"objects", "lfs", "annex/objects", "modules", "hooks"}

// links records the links and pipes in a Git directory: git opens some of its files where they lead, for example to
// append to a log of references, or to write the message of the next commit.
func (s *surveyor) links(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		below, _ := filepath.Rel(dir, path) // it is below
		switch {
		case s.ctx.Err() != nil:
			return fs.SkipAll
		case err != nil: // git cannot read it either
		case d.IsDir() && slices.Contains(unlinked, below):
			return fs.SkipDir
		case d.Type()&(fs.ModeSymlink|fs.ModeNamedPipe) != 0:
			target, _ := os.Readlink(path) // a pipe has none
			s.add(path, " (a link or a pipe)", []byte(target))
		}
		return nil
	})
}

// tree looks for repositories in the directories of a work tree.
func (s *surveyor) tree(dir string) {
	if s.ctx.Err() != nil {
		return
	}
	entries, _ := os.ReadDir(dir) // what cannot be read, git cannot use either
	parts := 0
	for _, e := range entries {
		switch e.Name() {
		case "HEAD", "objects", "refs", CommonDirFile:
			parts++
		case ".git":
			if dir != s.root {
				s.nested(filepath.Join(dir, e.Name()), e)
			}
		}
	}
	if parts > 1 && LooksBare(dir) {
		s.add(dir, " (a bare repository)", nil)
		s.repository(dir)
		return
	}
	for _, e := range entries {
		if e.IsDir() && e.Name() != ".git" {
			s.tree(filepath.Join(dir, e.Name()))
		}
	}
}

// nested records a repository in a directory of the work tree.
func (s *surveyor) nested(dotGit string, e fs.DirEntry) {
	info, err := os.Stat(dotGit)
	switch {
	case err == nil && info.IsDir():
		s.add(dotGit, " (a repository)", nil)
		if e.IsDir() {
			_ = s.modules(dotGit) // of what cannot be searched, the rest is recorded
		}
	case !errors.Is(err, fs.ErrNotExist):
		text, _ := read(dotGit, maxPointer)
		s.add(dotGit, " (a repository)", text)
	}
}

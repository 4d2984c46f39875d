package workspace_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// play is a run with several Orchestrators. Each line that an Orchestrator writes is unique, and stays.
type play struct {
	*rand.Rand
	gittest.Dir
	repo     *workspace.Repo
	manager  *workspace.Worktrees
	trees    []workspace.Worktree
	lines    map[int][]string // written, by Orchestrator
	reported map[int][]string // files in the last conflict, by Orchestrator; nil if the last merge went well
	count    int

	conflicts int
}

var files = []string{"a", "dir/c", "fresh"}

// write inserts a line somewhere.
func (p *play) write(w workspace.Worktree) {
	path := filepath.Join(w.Dir, files[p.IntN(len(files))])
	text, _ := os.ReadFile(path)
	lines := strings.SplitAfter(string(text), "\n")
	p.count++
	line := fmt.Sprintf("line %d of %d\n", p.count, w.Orchestrator)
	lines = slices.Insert(lines, p.IntN(len(lines)), line)
	p.Must(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(strings.Join(lines, "")), 0o644))
	p.lines[w.Orchestrator] = append(p.lines[w.Orchestrator], line)
}

// merge merges the work into the run branch. After a conflict the Orchestrator may merge in its own
// worktree.
func (p *play) merge(w workspace.Worktree) {
	head, err := p.manager.Head(ctx, w)
	p.Must(err)
	result, err := workspace.MergeInto(ctx, p.repo, p.repo.Branch("main"), head, "merge "+w.Branch)
	p.Must(err)
	p.reported[w.Orchestrator] = result.Files
	if result.Status == workspace.MergeConflict {
		p.conflicts++
	}
	if result.Status != workspace.MergeConflict || p.IntN(2) == 0 {
		return
	}
	there := gittest.Dir{TB: p.TB, Path: w.Dir}
	there.Commit("before merging")
	if w.Kind == workspace.WorktreeClone {
		there.Git("fetch", "-q", p.Path, p.repo.Branch("main"))
	} else {
		there.Git("fetch", "-q", ".", p.repo.Branch("main"))
	}
	if there.Command("merge", "-q", "FETCH_HEAD").Run() != nil {
		for name := range there.Files() {
			path := filepath.Join(w.Dir, name)
			text, err := os.ReadFile(path)
			p.Must(err)
			both := slices.DeleteFunc(strings.SplitAfter(string(text), "\n"), func(l string) bool {
				return strings.HasPrefix(l, "<<<<<<<") || strings.HasPrefix(l, "=======") ||
					strings.HasPrefix(l, ">>>>>>>")
			})
			p.Must(os.WriteFile(path, []byte(strings.Join(both, "")), 0o644))
		}
		there.Commit("resolved")
	}
	p.merge(w)
}

// TestNoWorkIsLost: several Orchestrators work at random, commit or do not, are merged or conflict, and
// are removed. Every line is in the run branch, or on the branch of a reported conflict, or in the saved
// changes.
func TestNoWorkIsLost(t *testing.T) {
	rounds, conflicts, saved := 2, 0, 0
	if testkit.AtNight() {
		rounds = 60
	}
	for seed := range rounds {
		d := gittest.New(t, map[string]string{"a": "1\n2\n3\n4\n5\n", "b": "1\n2\n3\n", "dir/c": "1\n"})
		p := &play{Rand: rand.New(rand.NewPCG(uint64(seed), 5)), Dir: d, lines: map[int][]string{},
			reported: map[int][]string{}}
		p.manager, p.repo = manager(d)
		_, err := workspace.MergeInto(ctx, p.repo, p.repo.Branch("main"), "trunk", "start")
		d.Must(err)
		for n := range 2 + p.IntN(3) {
			w, err := p.manager.Create(
				ctx,
				workspace.WorktreeSpec{Orchestrator: n, Generation: 1, Kind: kinds[p.IntN(2)],
					From: p.repo.Branch("main")},
			)
			d.Must(err)
			p.trees = append(p.trees, w)
		}
		for range 20 {
			w := p.trees[p.IntN(len(p.trees))]
			switch p.IntN(5) {
			case 0:
				p.merge(w)
			case 1, 2:
				(gittest.Dir{TB: t, Path: w.Dir}).Commit("work")
			default:
				p.write(w)
			}
		}
		for _, w := range p.trees {
			p.merge(w)
		}
		conflicts += p.conflicts
		for _, w := range p.trees {
			s, err := p.manager.Remove(ctx, w, false)
			d.Must(err)
			places := []string{all(d, p.repo.Branch("main"))}
			if s.Commit != "" {
				saved++
				places = append(places, all(d, s.Commit))
			}
			if len(p.reported[w.Orchestrator]) > 0 {
				places = append(places, all(d, w.Branch))
			}
			for _, line := range p.lines[w.Orchestrator] {
				if !slices.ContainsFunc(places, func(text string) bool { return strings.Contains(text, line) }) {
					t.Errorf("seed %d: %q of %s (%s) is lost", seed, line, w.Branch, w.Kind)
				}
			}
		}
	}
	if conflicts == 0 || saved == 0 {
		t.Errorf("%d conflicts, %d times something was saved: the test shows nothing", conflicts, saved)
	}
}

func all(d gittest.Dir, commit string) string {
	var text strings.Builder
	for _, content := range d.Tree(commit) {
		text.WriteString(content)
	}
	return text.String()
}

package subcommands

// This part of the package runs checks on a checkout: when work is landed, and by `arbiter verify`.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/git"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

func unconfinedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "unconfined", Usage: "run the commands without a sandbox: they can do what you can"}
}

// bench returns what runs commands in dir, with or without a sandbox.
func bench(c *cli.Context, dir string) (*Bench, error) {
	b := Unconfined()
	if !c.Bool("unconfined") {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		hide := []string{}
		if state, err := command.StatePath(c.String("state-dir")); err == nil {
			hide = append(hide, state)
		}
		if config, err := os.UserConfigDir(); err == nil {
			hide = append(hide, filepath.Join(config, "arbiter"))
		}
		ctx, cancel := context.WithTimeout(c.Context, settings.SandboxTrial)
		defer cancel()
		if b, err = NewBench(ctx, dir, self, hide...); err != nil {
			return nil, err
		}
	}
	b.Env = supervisor.GitEnvironment(nil)
	return b, nil
}

// checkout has the files of a tree in a temporary directory, and returns the directory of the run in it.
func checkout(
	ctx context.Context, r *workspaces.Repo, tree, below string,
) (dir string, stage *workspaces.Stage, err error) {
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"ls-tree", "-r", "-z", "--name-only", "--full-tree", tree}})
	if err != nil {
		return "", nil, err
	}
	if stage, err = r.Stage(ctx, tree, workspaces.Fields(out)); err != nil {
		return "", nil, err
	}
	root, _ := filepath.EvalSymlinks(stage.Dir) // empty after an error
	dir = filepath.Join(root, filepath.FromSlash(below))
	real, _ := filepath.EvalSymlinks(dir)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() || real != dir || !filepath.IsLocal("./"+below) {
		_ = stage.Close() // what is wrong is said
		return "", nil, &Mismatch{What: "note", Text: fmt.Sprintf("%.100q is no directory of the commit", below)}
	}
	return dir, stage, nil
}

// prove runs each claim that has a command twice on the files of the plan, in two checkouts, and makes the note. Nil:
// there is nothing to prove, or no way to.
func (l *landing) prove(plan workspaces.Landed, without []string) (*Note, error) {
	if l.c.Bool("no-receipts") || len(l.claims) == 0 {
		return nil, nil
	}
	note := &Note{Run: l.info.Run, Tree: plan.Tree, Work: plan.Work, Dir: l.repo.Prefix,
		Receipts: []Receipt{}}
	var dirs [2]string
	for i := range dirs {
		dir, stage, err := checkout(l.c.Context, l.repo, plan.Tree, l.repo.Prefix)
		if err != nil {
			return nil, l.failed(err)
		}
		defer stage.Close()
		dirs[i] = dir
	}
	b, err := bench(l.c, dirs[0])
	if err != nil {
		fmt.Fprintf(l.Stderr, "arbiter: there are no receipts, because checks run in a sandbox only: %s; --unconfined "+
			"runs them without\n", sanitize.Line(err.Error(), maxWarning))
		return nil, l.c.Context.Err()
	}
	var failed []string
	for _, c := range l.claims {
		why := "it has no command"
		switch {
		case len(note.Receipts) == MaxReceipts:
			why = "there are too many"
		case strings.Contains(c.Command, sanitize.MarkStart):
			why = "its command held a secret"
		case c.Command != "" && c.status != verdict.CheckPassed:
			why = c.status + " in the run"
		case c.Command != "":
			r, problem, err := l.runTwice(b, c, plan.Tree, dirs)
			if err != nil {
				return nil, l.failed(err)
			}
			if why = problem; why == "" {
				note.Receipts = append(note.Receipts, r)
				continue
			}
			fmt.Fprintf(l.Stderr, "arbiter: %s: %s\n", sanitize.Line(c.Command, 200), sanitize.Line(why, maxWarning))
			if c.tree != "" && c.tree != plan.Tree || len(without) > 0 {
				failed = append(failed, sanitize.Line(c.Command, 100))
			}
		}
		c.Why = why
		note.Unproven = append(note.Unproven, c.Claim)
	}
	if len(failed) > 0 && !l.c.Bool("force") {
		return nil, Refused("run %s is not landed: what passed in the run does not pass on the landed files, which "+
			"differ: %s; --include takes along what was left out, --force lands all the same",
			command.ShortID(l.info.Run), strings.Join(failed, "; "))
	}
	return note, nil
}

// runTwice runs a claim in two checkouts. problem says why that proves nothing.
func (l *landing) runTwice(
	b *Bench, c claim, tree string, dirs [2]string,
) (r Receipt, problem string, err error) {
	var did [2]Outcome
	for i, dir := range dirs {
		if did[i], err = b.Run(l.c.Context, c.Command, dir); err != nil {
			return r, "", err
		}
		o := verdict.Outcome{Exit: did[i].Exit, Output: did[i].Output, Bytes: did[i].Bytes}
		expect := c.Text
		if c.Kind == Criterion {
			expect = ""
		}
		switch result, why := o.Meets(expect); {
		case did[i].TimedOut:
			return r, "it did not end in time on a checkout of the commit", nil
		case result != verdict.CheckPassed:
			return r, fmt.Sprintf("it passed in the run, and not on a checkout of the commit, which has no ignored "+
				"files, no repository and no network (%s): %s", why, lastLine(did[i].Output)), nil
		}
	}
	return c.Receipt(tree, did[0], did[1]), "", nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

func (e env) verifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", Usage: "repeat the checks of a landed commit, and compare", ArgsUsage: "[COMMIT]",
		Description: strings.TrimSpace(`
Without COMMIT it is HEAD. verify compares the commit, its files and its note, checks the files out in a scratch
directory, repeats the commands of the note there and compares exit codes and outputs. It needs no login, no Claude Code
and no run. In a clone, fetch the note first: git fetch origin refs/notes/arbiter:refs/notes/arbiter

The author of the commit chose the commands: they run in the sandbox, on a copy, without a network. Without a working
sandbox verify refuses.

Exit code 1: refused, stdout says what does not match: commit, tree, note, exit code or output; 5: also if there is
no working sandbox.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(), command.JSONFlag(), unconfinedFlag(),
			&cli.StringFlag{Name: "cwd", Usage: "the repository of `DIR` (default: the current directory)"},
		},
		Action: func(c *cli.Context) error {
			name := cmp.Or(c.Args().First(), "HEAD")
			dir, err := command.Workspace(c)
			if err != nil {
				return err
			}
			r, err := workspaces.Open(c.Context, workspaces.Options{Dir: dir, Run: "verifying"})
			switch {
			case err == workspaces.ErrNoGit: // not one that wraps it: git is missing, or the repository bare
				return command.Usagef("verify: %s is in no Git repository: go to a clone of it, or name one with --cwd", dir)
			case err != nil:
				return command.Environmentf("verify: %v", err)
			}
			if err := warnOf(c.Context, e.Stderr, r); err != nil {
				return command.Environmentf("verify: %v", err)
			}
			commit, err := r.Commit(c.Context, name)
			switch {
			case err != nil:
				return command.Environmentf("verify: %v", err)
			case commit.ID == "":
				return command.Usagef("verify: there is no commit %q here", name)
			}
			return e.verify(c, r, commit)
		},
	}
}

// verified is what `arbiter verify --json` prints.
type verified struct {
	Commit   string     `json:"commit"`
	Tree     string     `json:"tree"`
	Run      string     `json:"run,omitempty"`
	Verified bool       `json:"verified"`
	Mismatch string     `json:"mismatch,omitempty"` // commit, tree, note, exit code or output
	Why      string     `json:"why,omitempty"`
	Repeated []repeated `json:"repeated"`
	Unproven []Claim    `json:"unproven"` // at landing
}

type repeated struct {
	Receipt
	Mismatch string `json:"mismatch,omitempty"`
	Why      string `json:"why,omitempty"`
}

func (e env) verify(c *cli.Context, r *workspaces.Repo, commit workspaces.Commit) error {
	v := verified{Commit: commit.ID, Tree: commit.Tree, Repeated: []repeated{}, Unproven: []Claim{}}
	err := v.repeat(c, r)
	var m *Mismatch
	if errors.As(err, &m) {
		v.Mismatch, v.Why = m.What, m.Text
	} else if err != nil {
		return err
	}
	v.Verified = v.Mismatch == ""
	if c.Bool("json") {
		if err := json.NewEncoder(e.Stdout).Encode(v); err != nil {
			return err
		}
	} else {
		v.print(e)
	}
	if !v.Verified {
		return Refused("commit %s is not verified: %s: %s", command.ShortID(v.Commit), v.Mismatch, v.Why)
	}
	return nil
}

// repeat compares the commit with its note, and runs the commands of the note. The first mismatch is the error.
func (v *verified) repeat(c *cli.Context, r *workspaces.Repo) error {
	ctx := c.Context
	problem := func(err error) error { return command.Environmentf("verify: %v", err) }
	damaged, err := r.Damaged(ctx, workspaces.Commit{ID: v.Commit, Tree: v.Tree})
	switch {
	case err != nil:
		return problem(err)
	case damaged != "":
		return &Mismatch{What: "tree", Text: "the object " + damaged + " is missing, or its content was changed"}
	}
	message, err := r.Git.Text(ctx, "log", "-1", "--format=%B", v.Commit)
	if err != nil {
		return problem(err)
	}
	text, err := r.Note(ctx, v.Commit, MaxNote)
	if err != nil {
		return problem(err)
	}
	note, err := Match(message, v.Tree, text)
	if err != nil {
		return err
	}
	v.Run, v.Unproven = note.Run, append(v.Unproven, note.Unproven...)
	if len(note.Receipts) == 0 {
		return &Mismatch{What: "note", Text: "it has no receipt: nothing was proved when the commit was landed"}
	}
	dir, stage, err := checkout(ctx, r, v.Tree, note.Dir)
	if m := (*Mismatch)(nil); errors.As(err, &m) {
		return m
	}
	if err != nil {
		return problem(err)
	}
	defer stage.Close()
	b, err := bench(c, dir)
	if err != nil {
		return command.Environmentf("verify: the author of the commit chose the commands, so they run in a sandbox only: "+
			"%v; --unconfined runs them without", err)
	}
	var first error
	for _, receipt := range note.Receipts {
		did, err := b.Run(ctx, receipt.Command, dir)
		if err != nil {
			return problem(err)
		}
		again := repeated{Receipt: receipt}
		var m *Mismatch
		if errors.As(receipt.Repeats(did), &m) {
			again.Mismatch, again.Why = m.What, m.Text
			if first == nil {
				first = &Mismatch{What: m.What, Text: fmt.Sprintf("%s: %s", receipt.Command, m.Text)}
			}
		}
		v.Repeated = append(v.Repeated, again)
	}
	return first
}

func (v *verified) print(e env) {
	for _, r := range v.Repeated {
		result, compared := "passed ", "the same output"
		switch r.Output {
		case Timed:
			compared = "the same output besides times"
		case Varies:
			compared = "the output varies and is not compared"
		}
		if r.Mismatch != "" {
			result, compared = "refused", r.Mismatch+": "+r.Why
		}
		fmt.Fprintf(e.Stdout, "%s %s (exit code %d; %s)\n", result, sanitize.Line(r.Command, 200), r.Exit,
			sanitize.Line(compared, 300))
	}
	for _, u := range v.Unproven {
		fmt.Fprintf(e.Stdout, "unproven %s: %s\n", sanitize.Line(u.Kind+" "+u.Text+" "+u.Command, 200),
			sanitize.Line(u.Why, 300))
	}
	if v.Verified {
		fmt.Fprintf(e.Stdout, "commit %s is verified: %s of run %s repeated\n", command.ShortID(v.Commit),
			words.Count(len(v.Repeated), "receipt"), command.ShortID(sanitize.Line(v.Run, 50)))
	}
}

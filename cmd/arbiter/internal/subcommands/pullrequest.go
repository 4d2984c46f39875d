package subcommands

// This part of the package opens a pull request with gh, GitHub's own program. It and git push run as the user would
// run them: with the user's environment, login, configuration and hooks.

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/report"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// remote is where branches are pushed to.
const remote = "origin"

// maxPullRequest bounds the text of a pull request, in bytes: GitHub takes 65536 characters.
const maxPullRequest = 60000

// pullRequest is one that is to be opened.
type pullRequest struct {
	workEnv
	dir, branch, title, body string
}

// pullRequest finds out whether a pull request can be opened from the branch that is checked out, and asks. It changes
// nothing.
func (l *landing) pullRequest() (*pullRequest, error) {
	ctx := l.c.Context
	branch, err := l.repo.Git.Text(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return nil, Refused("--pr: %v", workspaces.ErrDetached)
	}
	planted, err := l.repo.Planted(ctx)
	switch {
	case err != nil:
		return nil, command.Environmentf("--pr: %v", err)
	case planted != "":
		return nil, Refused("--pr pushes with your own git, which obeys the repository: look at what is named above, then "+
			"push yourself: git push %s %s", remote, words.Quote(branch))
	}
	var body bytes.Buffer
	if err := report.Write(&body, l.report, report.Markdown); err != nil {
		return nil, err
	}
	title, _, _ := strings.Cut(strings.TrimSpace(l.message()), "\n")
	p := &pullRequest{l.workEnv, l.repo.Root, branch, title, words.Head(body.String(), maxPullRequest)}
	main, err := p.run(ctx, "", "gh", "repo", "view", "--json", "defaultBranchRef", "--jq", ".defaultBranchRef.name")
	switch {
	case err != nil:
		return nil, err
	case main == branch:
		return nil, Refused("--pr: %s is the default branch of the repository: make one for the pull request first: "+
			"git switch -c NAME", branch)
	case l.c.Bool("yes"):
		return p, nil
	}
	question := fmt.Sprintf("Land run %s, run git push %s %s, and open a pull request into %s with its report?",
		command.ShortID(l.info.Run), remote, sanitize.Line(branch, 100), sanitize.Line(main, 100))
	switch yes, asked := l.Confirm(question); {
	case !asked:
		return nil, Refused("--pr asks before it pushes, and nobody can be asked here: add --yes")
	case !yes:
		return nil, Refused("nothing was landed or pushed")
	}
	return p, nil
}

// open pushes the branch with its notes, and opens the pull request. Its address goes to stdout.
func (p *pullRequest) open(ctx context.Context) error {
	ref := "refs/heads/" + p.branch
	if _, err := p.run(ctx, "", "git", "push", "--set-upstream", remote, ref+":"+ref); err != nil {
		return err
	}
	if _, err := p.run(ctx, "", "git", "push", remote, workspaces.NotesRef); err != nil {
		fmt.Fprintf(p.Stderr, "arbiter: the receipts were not pushed: %s\n", sanitize.Line(err.Error(), maxWarning))
	}
	address, err := p.run(ctx, p.body, "gh", "pr", "create", "--head", p.branch, "--title", p.title, "--body-file", "-")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.Stdout, sanitize.Text(address))
	return err
}

func (p *pullRequest) run(ctx context.Context, stdin, program string, args ...string) (string, error) {
	out, err := command.RunAsUser(ctx, p.dir, stdin, program, args...)
	return strings.TrimSpace(out), err
}

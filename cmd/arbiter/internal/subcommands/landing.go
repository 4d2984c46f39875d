package subcommands

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/report"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

func (e Env) landCommand() *cli.Command {
	return &cli.Command{
		Name: "land", Usage: "commit the work of a run on the branch that is checked out", ArgsUsage: "[RUN]",
		Description: strings.TrimSpace(`
Without RUN it is the last run in this directory. Its work becomes one commit of yours, titled after the task.
Uncommitted changes are never overwritten: if some are in the way, or there is a conflict, nothing changes. Files
that only a command created are left out and listed, unless --include names them. The commands of acceptance criteria and
checks run twice on a checkout of the commit, in the sandbox. What passed is attached to the commit as a note.

Exit code 1: refused, for a conflict, uncommitted changes, a merge or rebase under way, no branch, nothing to land, a
check that is pending or fails, or no to a question; 5: also if gh is missing or fails.`),
		Flags: []cli.Flag{
			settings.StateDirFlag(),
			&cli.StringFlag{Name: "message", Usage: "message of the commit, as `TEXT`"},
			&cli.BoolFlag{Name: "keep-commits", Usage: "keep the commits of the run, and join them by a merge"},
			&cli.BoolFlag{Name: "squash", Usage: "as one commit with all changes, which is the default"},
			&cli.StringSliceFlag{Name: "include", Usage: "take `PATH` along although only a command created it; repeatable"},
			&cli.BoolFlag{Name: "force", Usage: "land although checks are pending or fail"},
			&cli.BoolFlag{Name: "no-receipts", Usage: "run no checks, and attach no receipts"},
			unconfinedFlag(),
			&cli.BoolFlag{Name: "pr", Usage: "push the branch and open a pull request with gh (asks)"},
			&cli.BoolFlag{Name: "yes", Usage: "do not ask before --pr pushes"},
		},
		Action: runstore.InRuns(e.land),
	}
}

// landing is one call of `arbiter land`.
type landing struct {
	Env
	c    *cli.Context
	repo *workspaces.Repo
	info journal.Info
	record
	report *report.Report
}

// record is what the events of a run say about its proofs and its files.
type record struct {
	claims  []claim
	written []string // files that an editing tool wrote, or that a hand-off document lists
}

// claim is a criterion or a check, with its last result in the run.
type claim struct {
	Claim
	status string // passed, failed, …
	tree   string // on which a criterion was tested
}

func (e Env) land(c *cli.Context, store *runstore.Runs) error {
	switch {
	case c.IsSet("message") && strings.TrimSpace(c.String("message")) == "":
		return command.Usagef("--message is empty: give the text of the commit")
	case slices.Contains(c.StringSlice("include"), ""): // else it would be the whole directory
		return command.Usagef("--include is empty: name a file or a directory")
	case c.Bool("squash") && c.Bool("keep-commits"):
		return command.Usagef("--squash and --keep-commits exclude each other")
	}
	l := landing{Env: e, c: c}
	var err error
	if l.repo, l.info, err = e.openWork(c, store, c.Args().First()); err != nil {
		return err
	}
	if err := l.read(store); err != nil {
		return err
	}
	var pr *pullRequest
	if c.Bool("pr") {
		if pr, err = l.pullRequest(); err != nil {
			return err
		}
	}
	result, err := l.run()
	if err != nil {
		return err
	}
	branch := strings.TrimPrefix(result.Branch, "refs/heads/")
	if result.Status == workspaces.MergeNothing {
		fmt.Fprintf(e.Stdout, "%s has all that run %s has merged\n", branch, command.ShortID(l.info.Run))
	} else {
		fmt.Fprintf(e.Stdout, "%s is now %s\n", branch, command.ShortID(result.Head))
	}
	if pr != nil {
		return pr.open(c.Context)
	}
	return nil
}

func (l *landing) run() (workspaces.Landed, error) {
	ctx := l.c.Context
	q, err := l.request()
	if err != nil {
		return workspaces.Landed{}, err
	}
	var pending []string // criteria and checks that did not pass when they ran last, or that did not run
	for _, c := range l.claims {
		if c.Command != "" && c.status != verdict.CheckPassed && c.status != verdict.CheckUnclear {
			pending = append(pending, sanitize.Line(c.Command, 100)+" ("+c.status+")")
		}
	}
	if len(pending) > 0 && !l.c.Bool("force") {
		return workspaces.Landed{}, command.Failedf("run %s is not landed, because checks have not passed: %s; --force "+
			"lands it all the same", command.ShortID(l.info.Run), strings.Join(pending, "; "))
	}
	plan, err := workspaces.PlanLand(ctx, l.repo, q)
	if err != nil || plan.Work == "" {
		return plan, l.failed(err)
	}
	if q.Without, err = l.leftOut(q, plan); err != nil {
		return plan, l.failed(err)
	}
	if len(q.Without) > 0 {
		names := make([]string, len(q.Without))
		for i, name := range q.Without {
			names[i] = words.Quote(FileName(name))
		}
		fmt.Fprintf(l.Stderr, "arbiter: left out, because only a command created it (--include PATH takes it along): "+
			"%s\n", sanitize.Line(strings.Join(names, " "), maxWarning))
		if plan, err = workspaces.PlanLand(ctx, l.repo, q); err != nil || plan.Work == "" {
			return plan, l.failed(err)
		}
	}
	stamp := Stamp{Run: l.info.Run, Tree: plan.Tree, Work: plan.Work}
	note, err := l.prove(plan, q.Without)
	if err != nil {
		return plan, err
	}
	if note != nil {
		if q.Note, stamp.Note, err = note.Encode(); err != nil {
			return plan, err
		}
	}
	q.Tree, q.Message = plan.Tree, stamp.Message(l.message())
	result, err := workspaces.Land(ctx, l.repo, q)
	if err == nil && note != nil {
		fmt.Fprintf(l.Stderr, "arbiter: %s on the landed files, %d unproven: arbiter verify %s%s\n",
			words.Count(len(note.Receipts), "check")+" passed", len(note.Unproven), command.ShortID(result.Head),
			settings.PlaceForCommand(runstore.WorkDir(l.info)))
	}
	return result, l.failed(err)
}

// failed explains why nothing was landed.
func (l *landing) failed(err error) error {
	switch _, ok := errors.AsType[*workspaces.LandError](err); {
	case err == nil:
		return nil
	case ok, errors.Is(err, workspaces.ErrMoved):
		return command.Failedf("land run %s: %v", command.ShortID(l.info.Run), err)
	}
	return command.Environmentf("land run %s: %v", command.ShortID(l.info.Run), err)
}

// request says what is landed: the changes of the user's files between two snapshots, or the run branch. What an
// earlier landing has brought is not landed again, unless that was reverted.
func (l *landing) request() (q workspaces.LandRequest, err error) {
	found, err := l.repo.Commits(l.c.Context, l.repo.Ref(workspaces.Base), l.repo.Ref(workspaces.End),
		l.repo.Branch(workspaces.Main))
	if err != nil {
		return q, l.failed(err)
	}
	base, end, branch := found[0].ID, found[1].ID, found[2].ID
	switch {
	case base != "" && end != "":
		q = workspaces.LandRequest{Commit: end, Since: base, Here: true, Squash: true}
	case branch != "":
		q = workspaces.LandRequest{Commit: branch, Squash: !l.c.Bool("keep-commits")}
	default:
		return q, command.Failedf("run %s has no snapshot of its work and no branch %s: there is nothing to land",
			command.ShortID(l.info.Run), strings.TrimPrefix(l.repo.Branch(workspaces.Main), "refs/heads/"))
	}
	if q.Here && l.c.Bool("keep-commits") {
		return q, command.Usagef("--keep-commits: run %s worked in the workspace itself; its commits are on your branch "+
			"already", command.ShortID(l.info.Run))
	}
	before, err := landings(l.c.Context, l.repo, l.info.Run)
	before = slices.DeleteFunc(before, func(x landed) bool { return x.Reverted })
	if err != nil || len(before) == 0 {
		return q, l.failed(err)
	}
	last, err := l.repo.Commit(l.c.Context, before[0].Work)
	if last.ID != "" {
		q.Since = last.ID
	}
	return q, l.failed(err)
}

// message is the text of the commit, without the stamp.
func (l *landing) message() string {
	if text := l.c.String("message"); text != "" {
		return text
	}
	title := "Land the work of Arbiter's run " + l.repo.Run
	if n := len(l.report.Tasks); n > 0 {
		title = cmp.Or(sanitize.Line(words.Title(l.report.Tasks[n-1]), 72), title)
	}
	text := title + "\n\n"
	for line := range strings.Lines(l.report.Summary) {
		text += strings.Join(command.Wrap(line, 72), "\n") + "\n"
	}
	return text
}

// read reads what the run was asked, did and proved.
func (l *landing) read(store *runstore.Runs) (err error) {
	problem := func(err error) error {
		return command.Environmentf("read run %s: %v", command.ShortID(l.info.Run), err)
	}
	if l.report, _, err = runstore.PastReport(l.c.Context, store, l.info); err != nil {
		return problem(err)
	}
	if !l.info.Empty {
		state, _, err := runstore.LastState(store, l.info.Run)
		if err != nil && !l.c.Bool("force") { // its criteria are not known
			return problem(err)
		}
		for _, a := range state.Task.Acceptance.Events() {
			c := Claim{Kind: Criterion, Text: a.Text, Command: a.Command}
			l.claims = append(l.claims, claim{c, a.Status, a.Tree})
		}
	}
	if _, err := store.EachLine(l.c.Context, l.info.Run, l.take); err != nil {
		return problem(err)
	}
	return nil
}

// take reads an event about checks and files.
func (l *record) take(_ time.Time, line []byte) error {
	name := contract.EventNameOf(line)
	if name == "tool_use" {
		var use struct {
			Tool  string
			Input struct {
				File     string `json:"file_path"`
				Notebook string `json:"notebook_path"`
			}
		}
		if err := json.Unmarshal(line, &use); err != nil {
			return err
		}
		if file := cmp.Or(use.Input.File, use.Input.Notebook); file != "" && use.Tool != "Read" {
			l.written = append(l.written, file)
		}
		return nil
	}
	if name != "check" && name != "handoff" {
		return nil
	}
	e, err := contract.DecodeWritten(line)
	switch b := e.Body.(type) {
	case contract.Check:
		x := b.Receipt
		c := claim{Claim{Kind: Check, Text: x.Expect, Command: x.Command}, x.Result, ""}
		l.claims = append(slices.DeleteFunc(l.claims, func(o claim) bool { return o.Claim == c.Claim }), c)
	case contract.Handoff:
		if b.Document != nil {
			l.written = append(l.written, b.Document.Files...)
		}
	}
	return err
}

// leftOut lists added files that only a command created: no agent wrote them with a tool, listed them in a document, or
// committed them.
func (l *landing) leftOut(q workspaces.LandRequest, plan workspaces.Landed) ([]string, error) {
	changes, err := l.repo.Changes(l.c.Context, plan.Head, plan.Tree)
	if err != nil {
		return nil, err
	}
	committed := map[string]bool{}
	if !q.Here {
		if committed, err = l.committed(plan.Head, q.Commit); err != nil {
			return nil, err
		}
	}
	var list []string
	for _, c := range changes {
		named := func(name string) bool { return below(c.Path, name) }
		include := slices.ContainsFunc(l.c.StringSlice("include"), named)
		if c.Status == workspaces.Added && !include && !committed[c.Path] && !l.wrote(c.Path) {
			list = append(list, c.Path)
		}
	}
	return list, nil
}

// below reports whether a path is another, or in that directory.
func below(name, dir string) bool {
	dir = path.Clean(dir)
	return dir == "." || name == dir || strings.HasPrefix(name, dir+"/")
}

// wrote reports whether an agent claims a file. Absolute names are those of its own directory, which may be gone.
func (l *landing) wrote(name string) bool {
	return slices.ContainsFunc(l.written, func(w string) bool {
		w = path.Clean(w)
		return path.IsAbs(w) && strings.HasSuffix(w, "/"+name) || w != "." && below(name, w) ||
			w != "." && below(name, path.Join(l.repo.Prefix, w))
	})
}

// committed lists files that agents added by commits of their own.
func (l *landing) committed(from, to string) (map[string]bool, error) {
	out, err := l.repo.Git.Text(l.c.Context, "log", "-z", "--no-renames", "--diff-filter=A", "--name-only",
		"--format=%x01%s", from+".."+to)
	files, own := map[string]bool{}, false
	for _, field := range workspaces.Fields([]byte(out)) {
		field = strings.TrimPrefix(field, "\n")
		if subject, ok := strings.CutPrefix(field, "\x01"); ok {
			own = !strings.HasPrefix(strings.TrimPrefix(strings.ToLower(subject), "unfinished "), "work of orch-")
		} else if own {
			files[field] = true
		}
	}
	return files, err
}

// landed is a commit that landed work of a run.
type landed struct {
	ID string
	Stamp
	Merge, Reverted bool
}

// maxLandings bounds the commits that are searched for landings.
const maxLandings = 2000

// landings lists the landings of a run on the branch that is checked out, the last one first.
func landings(ctx context.Context, r *workspaces.Repo, run string) (list []landed, err error) {
	const reverts = "This reverts commit "
	out, err := r.Git.Text(ctx, "log", "-z", "-n", fmt.Sprint(maxLandings), "--fixed-strings",
		"--grep=Arbiter-Run: "+run, "--grep="+reverts, "--format=%H %P%n%B", "HEAD")
	reverted := ""
	for _, text := range workspaces.Fields([]byte(out)) {
		head, message, _ := strings.Cut(text, "\n")
		ids := strings.Fields(head)
		if i := strings.Index(message, reverts); i >= 0 {
			reverted += message[i:]
		}
		if stamp, ok := ReadStamp(message); ok && stamp.Run == run && len(ids) > 0 {
			list = append(list, landed{ids[0], stamp, len(ids) > 2, strings.Contains(reverted, ids[0])})
		}
	}
	return list, err
}

// sayLanded says what of a run was landed, and how that is reverted.
func (e Env) sayLanded(ctx context.Context, r *workspaces.Repo, info journal.Info) error {
	list, err := landings(ctx, r, info.Run)
	for _, l := range list {
		if l.Reverted {
			continue
		}
		option := ""
		if l.Merge {
			option = "-m 1 "
		}
		fmt.Fprintf(e.Stderr, "arbiter: run %s was landed as %s, which undo leaves as it is. To revert it: git revert "+
			"%s%s\n", command.ShortID(info.Run), command.ShortID(l.ID), option, l.ID)
	}
	return err
}

// remote is where branches are pushed to.
const remote = "origin"

// maxPullRequest bounds the text of a pull request, in bytes: GitHub takes 65536 characters.
const maxPullRequest = 60000

// pullRequest is one that is to be opened.
type pullRequest struct {
	Env
	dir, branch, title, body string
}

// pullRequest finds out whether a pull request can be opened from the branch that is checked out, and asks. It changes
// nothing.
func (l *landing) pullRequest() (*pullRequest, error) {
	ctx := l.c.Context
	branch, err := l.repo.Git.Text(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return nil, command.Failedf("--pr: %v", workspaces.ErrDetached)
	}
	planted, err := l.repo.Planted(ctx)
	switch {
	case err != nil:
		return nil, command.Environmentf("--pr: %v", err)
	case planted != "":
		return nil, command.Failedf("--pr pushes with your own git, which obeys the repository: look at what is named "+
			"above, then push yourself: git push %s %s", remote, words.Quote(branch))
	}
	var body bytes.Buffer
	if err := report.Write(&body, l.report, report.Markdown); err != nil {
		return nil, err
	}
	title, _, _ := strings.Cut(strings.TrimSpace(l.message()), "\n")
	p := &pullRequest{l.Env, l.repo.Root, branch, title, words.Head(body.String(), maxPullRequest)}
	main, err := p.run(ctx, "", "gh", "repo", "view", "--json", "defaultBranchRef", "--jq", ".defaultBranchRef.name")
	switch {
	case err != nil:
		return nil, err
	case main == branch:
		return nil, command.Failedf("--pr: %s is the default branch of the repository: make one for the pull request first: "+
			"git switch -c NAME", branch)
	case l.c.Bool("yes"):
		return p, nil
	}
	question := fmt.Sprintf("Land run %s, run git push %s %s, and open a pull request into %s with its report?",
		command.ShortID(l.info.Run), remote, sanitize.Line(branch, 100), sanitize.Line(main, 100))
	switch yes, asked := l.Confirm(question); {
	case !asked:
		return nil, command.Failedf("--pr asks before it pushes, and nobody can be asked here: add --yes")
	case !yes:
		return nil, command.Failedf("nothing was landed or pushed")
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

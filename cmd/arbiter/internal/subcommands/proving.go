package subcommands

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/evidence"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/git"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// This part of the package runs checks on a checkout: when work is landed, and by `arbiter verify`.

func unconfinedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "unconfined", Usage: "run the commands without a sandbox: they can do what you can"}
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
func (l *landing) prove(plan workspaces.Landed, without []string) (note *Note, err error) {
	if l.c.Bool("no-receipts") || len(l.claims) == 0 {
		return nil, nil
	}
	ctx, stop := command.Interruptible(l.c.Context, false) // the commands, and the checkouts, must not stay
	defer stop()
	defer func() {
		if ctx.Err() != nil {
			note, err = nil, command.BySignal(ctx, "nothing was landed")
		}
	}()
	note = &Note{Run: l.info.Run, Tree: plan.Tree, Work: plan.Work, Dir: l.repo.Prefix,
		Receipts: []Receipt{}}
	var dirs [2]string
	for i := range dirs {
		dir, stage, err := checkout(ctx, l.repo, plan.Tree, l.repo.Prefix)
		if err != nil {
			return nil, l.failed(err)
		}
		defer stage.Close()
		dirs[i] = dir
	}
	b, err := bench(ctx, l.c, dirs[0])
	if err != nil {
		fmt.Fprintf(l.Stderr, "arbiter: there are no receipts, because checks run in a sandbox only: %s; --unconfined "+
			"runs them without\n", sanitize.Line(err.Error(), maxWarning))
		return nil, nil
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
			r, problem, err := runTwice(ctx, b, c, plan.Tree, dirs)
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
		return nil, command.Failedf("run %s is not landed: what passed in the run does not pass on the landed files, which "+
			"differ: %s; --include takes along what was left out, --force lands all the same",
			command.ShortID(l.info.Run), strings.Join(failed, "; "))
	}
	return note, nil
}

// runTwice runs a claim in two checkouts. problem says why that proves nothing.
func runTwice(
	ctx context.Context, b *Bench, c claim, tree string, dirs [2]string,
) (r Receipt, problem string, err error) {
	var did [2]Outcome
	for i, dir := range dirs {
		if did[i], err = b.Run(ctx, c.Command, dir); err != nil {
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
			text := strings.TrimSpace(did[i].Output)
			return r, fmt.Sprintf("it passed in the run, and not on a checkout of the commit, which has no ignored "+
				"files, no repository and no network (%s): %s", why, text[strings.LastIndexByte(text, '\n')+1:]), nil
		}
	}
	return c.Receipt(tree, did[0], did[1]), "", nil
}

func (e Env) verifyCommand() *cli.Command {
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

func (e Env) verify(c *cli.Context, r *workspaces.Repo, commit workspaces.Commit) error {
	v := verified{Commit: commit.ID, Tree: commit.Tree, Repeated: []repeated{}, Unproven: []Claim{}}
	ctx, stop := command.Interruptible(c.Context, false) // the commands, and the checkout, must not stay
	defer stop()
	err := v.repeat(ctx, c, r)
	var m *Mismatch
	if ctx.Err() != nil {
		return command.BySignal(ctx, "")
	} else if errors.As(err, &m) {
		v.Mismatch, v.Why = m.What, m.Text
	} else if err != nil {
		return err
	}
	v.Verified = v.Mismatch == ""
	if c.Bool("json") {
		if err := e.PrintJSON(v); err != nil {
			return err
		}
	} else {
		v.print(e)
	}
	if !v.Verified {
		return command.Failedf("commit %s is not verified: %s: %s", command.ShortID(v.Commit), v.Mismatch, v.Why)
	}
	return nil
}

// repeat compares the commit with its note, and runs the commands of the note. The first mismatch is the error.
func (v *verified) repeat(ctx context.Context, c *cli.Context, r *workspaces.Repo) error {
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
	b, err := bench(ctx, c, dir)
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

func (v *verified) print(e Env) {
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

// Lines at the end of a commit's message.
const (
	trailerRun  = "Arbiter-Run: "
	trailerTree = "Arbiter-Tree: "
	trailerNote = "Arbiter-Receipts: sha256:"
	trailerWork = "Arbiter-Work: "
)

// MaxNote bounds a note, in bytes, and MaxReceipts the receipts in it.
const (
	MaxNote     = 1 << 20
	MaxReceipts = 200
)

// Note binds what a run proved to the commit that landed its work, so that it can be proved again.
//
// The commit names the run, its own tree and the digest of the note in the last paragraph of its message. The note, in
// refs/notes/arbiter, has a receipt for each command that passed on a checkout of that tree. So a commit with another
// tree, or a note with another byte, do not belong together ([Match]). Somebody who makes a commit of their own can
// make a note for it: then what the commands do counts, when they are run again ([Bench]).
type Note struct {
	Version  int       `json:"v"`
	Run      string    `json:"run"`
	Tree     string    `json:"tree"`
	Work     string    `json:"work"`          // the run's commit
	Dir      string    `json:"dir,omitempty"` // below the top of the tree, in which the commands run
	Receipts []Receipt `json:"receipts"`
	Unproven []Claim   `json:"unproven,omitempty"`
}

// Receipt says what a command did on the tree of the commit.
type Receipt struct {
	Claim
	Exit   int     `json:"exit_code"`
	SHA256 string  `json:"sha256"` // of the output of stdout and stderr, in hexadecimal
	Output Compare `json:"output"`
	Steady string  `json:"sha256_without_times,omitempty"`
	Tree   string  `json:"tree"`
	Digest string  `json:"digest"` // of the members above: it says which receipt of a note was changed
}

// Claim is a criterion, or a check of a hand-off document.
type Claim struct {
	Kind    string `json:"kind"` // criterion or check
	Text    string `json:"text,omitempty"`
	Command string `json:"command,omitempty"`
	Why     string `json:"why,omitempty"` // nothing proves it
}

// Kinds of claims.
const (
	Criterion = "criterion"
	Check     = "check"
)

// Compare says what of an output must be the same when a command is run again.
type Compare string

// What is compared, besides the exit code.
const (
	Same   Compare = "same"   // each byte
	Timed  Compare = "timed"  // each byte besides times
	Varies Compare = "varies" // nothing: two runs at landing had different outputs
)

// Stamp is what a commit says about itself.
type Stamp struct{ Run, Tree, Note, Work string }

// Message returns a commit's message with a stamp.
func (s Stamp) Message(text string) string {
	text = strings.TrimSpace(text) + "\n\n" + trailerRun + s.Run + "\n" + trailerTree + s.Tree + "\n"
	if s.Note != "" {
		text += trailerNote + s.Note + "\n"
	}
	return text + trailerWork + s.Work
}

// ReadStamp reads the last paragraph of a message. ok is false if the commit is no landing.
func ReadStamp(message string) (s Stamp, ok bool) {
	message = strings.TrimRight(message, "\n")
	for line := range strings.Lines(message[strings.LastIndex(message, "\n\n")+1:]) {
		for prefix, to := range map[string]*string{trailerRun: &s.Run, trailerTree: &s.Tree, trailerNote: &s.Note,
			trailerWork: &s.Work} {
			if value, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix); found {
				if *to != "" {
					return Stamp{}, false
				}
				*to = value
			}
		}
	}
	return s, s.Run != "" && s.Tree != ""
}

// Encode returns the bytes of a note and their digest. It sets the digests of the receipts.
func (n *Note) Encode() (text []byte, digest string, err error) {
	n.Version = 1
	for i := range n.Receipts {
		n.Receipts[i].Digest = n.Receipts[i].digest()
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err = enc.Encode(n)
	return out.Bytes(), Digest(out.Bytes()), err
}

func (r Receipt) digest() string {
	r.Digest = ""
	line, _ := jsonl.Marshal(r) // texts and a number
	return Digest(line)
}

// Digest returns the SHA-256 of a text in hexadecimal.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Mismatch says what does not belong together. What is commit, tree, note, command, exit code or output.
type Mismatch struct{ What, Text string }

func (m *Mismatch) Error() string { return m.What + ": " + m.Text }

func mismatch(what, format string, args ...any) error {
	return &Mismatch{what, fmt.Sprintf(format, args...)}
}

// Match returns the note of a commit if it belongs to the commit with this message and tree. Error: [*Mismatch].
func Match(message, tree string, note []byte) (Note, error) {
	stamp, ok := ReadStamp(message)
	switch {
	case !ok:
		return Note{}, mismatch("commit", "its message has no %s and %s in its last paragraph: arbiter land did not make "+
			"it, or the message was changed", strings.TrimSpace(trailerRun), strings.TrimSpace(trailerTree))
	case stamp.Tree != tree:
		return Note{}, mismatch("tree", "the files are those of tree %s, and the commit was landed with tree %s", tree,
			stamp.Tree)
	case stamp.Note == "":
		return Note{}, mismatch("commit", "it was landed without receipts")
	case note == nil:
		return Note{}, mismatch("note", "there is none: fetch it with git fetch origin "+
			"refs/notes/arbiter:refs/notes/arbiter")
	case Digest(note) != stamp.Note:
		return Note{}, mismatch("note", "its SHA-256 is %s, and the commit names %.80s%s", Digest(note), stamp.Note,
			changed(note))
	}
	var n Note
	if err := json.Unmarshal(note, &n); err != nil {
		return Note{}, mismatch("note", "it cannot be read: %v", err)
	}
	switch {
	case n.Version != 1:
		return Note{}, mismatch("note", "it has version %d, and this arbiter reads version 1", n.Version)
	case n.Run != stamp.Run || n.Work != stamp.Work:
		return Note{}, mismatch("commit", "it names run %.50q and work %.64q, and the note %.50q and %.64q", stamp.Run,
			stamp.Work, n.Run, n.Work)
	case n.Tree != tree:
		return Note{}, mismatch("tree", "the note is about tree %.64q, and the commit has %s", n.Tree, tree)
	case len(n.Receipts) > MaxReceipts:
		return Note{}, mismatch("note", "it has %d receipts, and at most %d are allowed", len(n.Receipts), MaxReceipts)
	}
	for i, r := range n.Receipts {
		if r.digest() != r.Digest || r.Tree != tree {
			return Note{}, mismatch("note", "receipt %d does not fit itself or the tree", i+1)
		}
	}
	return n, nil
}

// changed names the receipts of a note that were changed.
func changed(note []byte) string {
	var n Note
	if json.Unmarshal(note, &n) != nil {
		return ""
	}
	for i, r := range n.Receipts {
		if r.digest() != r.Digest {
			return fmt.Sprintf("; receipt %d was changed: its command, exit code, output or tree", i+1)
		}
	}
	return ""
}

// commandLimit bounds a command; that of an acceptance criterion of a run is the same.
const commandLimit = 30 * time.Minute

// Bench runs commands on a checkout, in a sandbox on a copy of it: nothing that they do leaves the copy, they have no
// network, and see no files with credentials.
type Bench struct {
	Env map[string]string

	config *bridge.SandboxConfig // nil: in the checkout itself, without a sandbox
	checks *evidence.Collector
	owner  bridge.Owner
}

// newBench returns a bench without a sandbox.
func newBench() *Bench {
	return &Bench{checks: evidence.New(), owner: bridge.Owner{Run: "proof-" + rand.Text()}}
}

// bench returns what runs commands in dir: with --unconfined without a sandbox, else in one that holds, as a probe
// found that tried to break out of it. The error says why there is none.
func bench(ctx context.Context, c *cli.Context, dir string) (*Bench, error) {
	b := newBench()
	b.Env = supervisor.GitEnvironment(nil)
	if c.Bool("unconfined") {
		return b, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := sandbox.Find()
	if err != nil {
		return nil, err
	}
	state, _ := command.StatePath(c.String("state-dir")) // without one there is nothing to hide
	b.config = &bridge.SandboxConfig{Program: program, Hide: command.Private(state), Network: bridge.NetworkNone}
	ctx, cancel := context.WithTimeout(ctx, settings.SandboxTrial)
	defer cancel()
	result, err := sandbox.Verify(ctx, *b.config, sandbox.Place{CWD: dir, Self: []string{self, sandbox.ProbeCommand},
		Env: proctree.EnvList(proctree.EnvFrom(os.Environ(), nil)), Mark: proctree.Mark{Run: b.owner.Run, Agent: "canary"}})
	switch {
	case err != nil:
		return nil, err
	case !result.Holds:
		return nil, errors.New(result.Reason)
	case !result.Scratch:
		return nil, errors.New(result.ScratchReason)
	}
	return b, nil
}

// Outcome is what a command did. Steady is the SHA-256 of its output with times replaced.
type Outcome struct {
	bridge.CheckResult
	Steady string
}

// Run runs a command in a directory.
func (b *Bench) Run(ctx context.Context, command, dir string) (Outcome, error) {
	steady := &steadyHash{sum: sha256.New()}
	r, err := b.checks.CheckInto(ctx, b.owner, bridge.CheckParams{Command: command, CWD: dir, Env: b.Env,
		TimeoutMS: int(commandLimit / time.Millisecond), Sandbox: b.config, Scratch: b.config != nil}, steady)
	steady.flush()
	return Outcome{r, hex.EncodeToString(steady.sum.Sum(nil))}, err
}

// Receipt makes a receipt from two runs of a command on the same files in different directories.
func (c Claim) Receipt(tree string, first, second Outcome) Receipt {
	r := Receipt{Claim: c, Exit: first.Exit, SHA256: first.SHA256, Tree: tree}
	switch {
	case first.Steady != second.Steady:
		r.Output = Varies
	case first.SHA256 != first.Steady: // it has times, even if they were the same by chance
		r.Output, r.Steady = Timed, first.Steady
	default:
		r.Output = Same
	}
	return r
}

// Repeats compares what a command did with its receipt. Error: [*Mismatch].
func (r Receipt) Repeats(o Outcome) error {
	switch {
	case o.TimedOut:
		return mismatch("exit code", "it did not end in %s, and the receipt has exit code %d", commandLimit, r.Exit)
	case o.Exit != r.Exit:
		return mismatch("exit code", "it is %d, and the receipt has %d", o.Exit, r.Exit)
	case r.Output == Varies:
		return nil
	case r.Output == Timed && o.Steady != r.Steady:
		return mismatch("output", "its SHA-256 without times is %s, and the receipt has %s", o.Steady, r.Steady)
	case r.Output == Same && o.SHA256 != r.SHA256:
		return mismatch("output", "its SHA-256 is %s, and the receipt has %s", o.SHA256, r.SHA256)
	case r.Output != Timed && r.Output != Same:
		return mismatch("note", "output %.20q is not known", r.Output)
	}
	return nil
}

// times are what differs each time a command runs: durations, times of day, dates, and what go test prints for one.
var times = command.Pattern(`\(cached\)|\b[0-9]+(?:[.,][0-9]+)? ?(?:ns|µs|us|ms|s|secs?|seconds?|m|mins?|minutes?)\b|` +
	`\b[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?\b|\b[0-9]{4}-[0-9]{2}-[0-9]{2}\b`)

// maxSteadyLine is the most of a line that is looked at as one, in bytes.
const maxSteadyLine = 64 << 10

// steadyHash hashes an output with each time replaced by the same word. Without times it is the hash of the output.
type steadyHash struct {
	sum  hash.Hash
	line []byte
}

var _ io.Writer = (*steadyHash)(nil)

func (h *steadyHash) Write(p []byte) (int, error) {
	for _, c := range p {
		h.line = append(h.line, c)
		if c == '\n' || len(h.line) >= maxSteadyLine {
			h.flush()
		}
	}
	return len(p), nil
}

func (h *steadyHash) flush() {
	h.sum.Write(times().ReplaceAll(h.line, []byte("TIME")))
	h.line = h.line[:0]
}

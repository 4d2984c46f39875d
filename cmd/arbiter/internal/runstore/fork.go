package runstore

// This part of the package makes a run that continues from a moment before a decision of another run.
//
// The new run is built like an imported one (Store.Stage): a first segment with the state of that moment, the events
// up to it, the images, and the transcripts of the sessions up to the turn that is repeated, under other ids. It
// becomes visible with one rename. Its files are made when it starts, by [ResumeFiles]: a process that was killed
// repeats that. Of the other run, nothing is changed.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	google "github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// History is how many bytes of its journal a run keeps so that it can be forked, besides those that a resume needs.
const History = 64 << 20

// ForkError says why a run cannot be forked at a decision.
type ForkError struct{ Reason string }

func (e *ForkError) Error() string { return e.Reason }

func notForked(format string, args ...any) error { return &ForkError{fmt.Sprintf(format, args...)} }

// ForkText says where a run branched off; empty: it did not.
func ForkText(f *journal.Fork) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("from run %s before decision %d, with $%.4f of costs of that run", command.ShortID(f.Run), f.At,
		f.CostUSD)
}

// forkPlan says which commits the files of a fork begin with. It is a file of the run until they are made.
type forkPlan struct {
	Base   string       `json:"base"` // commit of the first snapshot
	Main   string       `json:"main"` // commit with the files that the run had by then
	Shared bool         `json:"shared,omitempty"`
	Agents []forkedWork `json:"agents,omitempty"`
}

// forkedWork is the work of an Orchestrator in a directory of its own.
type forkedWork struct {
	runconfig.Worktree
	Agent  string `json:"agent"`
	Commit string `json:"commit"` // with its files
}

// ForkPlanName is the file of a forked run that has not begun: its files are still to be made.
const ForkPlanName = "fork.json"

// Fork makes a run that continues another one just before a decision, and returns its id and what a person should know.
// shared: if the other run has worked without Git, the new one works in the same directory, with the files as they are
// now. Error: [ForkError].
func (r *Runs) Fork(
	ctx context.Context, info journal.Info, at int, shared bool,
) (run string, notes []string, err error) {
	find := supervisor.ForkFinder{Number: at}
	recovery, err := r.ReadAll(info.Run, find.Take)
	switch {
	case err != nil:
		return "", nil, err
	case !find.Found:
		return "", nil, noSuchDecision(&find, recovery)
	case info.Rehearsal:
		return "", nil, notForked("it is a rehearsal, whose model plays in its own process only")
	}
	run = google.NewString()
	forked, err := find.Fork(run)
	if err != nil {
		return "", nil, notForked("%v", err)
	}
	isolated := forked.State.Options.Workspace.Enabled()
	if !isolated && !shared {
		return "", nil, notForked("it has worked without Git, so there is no record of its files: with --isolation shared "+
			"the new run works in the same directory (%s), with the files as they are now", info.CWD)
	}
	staged, err := r.Stage(run)
	if err != nil {
		return "", nil, err
	}
	defer func() { err = errors.Join(err, staged.Close()) }()
	f := forking{find: &find, forked: forked, staged: staged, from: r.Dir(info.Run)}
	if err := f.copySessions(); err != nil {
		return "", nil, err
	}
	images, err := ImagesOf(f.from)
	for _, file := range images {
		if err == nil {
			err = f.copyFile(strings.TrimPrefix(file.Path, RunDir+"/"))
		}
	}
	if err != nil {
		return "", nil, err
	}
	log, err := r.EventLog(info.Run)
	if err != nil {
		return "", nil, err
	}
	defer log.Close()
	if err := f.copyEvents(ctx, log); err != nil {
		return "", nil, err
	}
	crashpoint.Here("fork.copied")
	if isolated {
		if err := f.planFiles(ctx, r.Root, info); err != nil {
			return "", nil, err
		}
	}
	state, err := forked.Encode(f.seq)
	if err != nil {
		return "", nil, err
	}
	err = staged.Begin(journal.Meta{CWD: info.CWD, Began: time.Now(), Version: command.Version(), Title: info.Title,
		ForkedFrom: &journal.Fork{Run: info.Run, At: at, Isolated: isolated,
			CostUSD: forked.State.Options.ForkedFrom.CostUSD}}, find.Input, state, f.end)
	if err == nil {
		crashpoint.Here("fork.staged")
		err = staged.Commit(func(*journal.Meta) {}, func() error { return nil })
	}
	crashpoint.Here("fork.committed")
	return run, f.notes, err
}

// noSuchDecision names the decisions at which a run can be forked.
func noSuchDecision(find *supervisor.ForkFinder, recovery journal.Recovery) error {
	switch first, last := find.First, find.Last(); {
	case recovery.Harmed():
		return notForked("its journal is damaged (%s)", recovery.Damage[0])
	case last < first:
		return notForked("it has made no decision that can be made again")
	case find.Number < first && find.Number > 0:
		return notForked("its journal does not go back to decision %d: --at can be %d to %d", find.Number, first, last)
	default:
		return notForked("it has no decision %d: --at can be %d to %d (arbiter decide --explain lists them)", find.Number,
			first, last)
	}
}

// forking copies what a run has into a new one.
type forking struct {
	find   *supervisor.ForkFinder
	forked *supervisor.Forked
	staged *journal.Staged
	from   string // the directory of the run that is forked
	notes  []string

	seq   uint64 // of the last event copied
	end   journal.LogPosition
	merge string // commit of the last merge before the decision
}

// copySessions copies the transcripts of the sessions that go on, up to the turn that is repeated. The CLI's own fork
// (--fork-session) cannot do that: it finds no message from before a compaction, and needs the other run's transcript
// at each start.
func (f *forking) copySessions() error {
	config := ClaudeConfig(f.find.State.Options)
	for _, s := range f.forked.Sessions {
		a, _ := f.find.State.Agent(s.Agent)
		if slices.Contains(f.forked.Afresh, s.Agent) {
			f.notes = append(f.notes, fmt.Sprintf("%s begins a new session with what Arbiter knows of the old one: sessions "+
				"of the make %s cannot be copied", a.Name, a.Make))
			continue
		}
		files, err := Transcripts(config, s.From)
		if err != nil {
			return err
		}
		if len(files) == 0 && a.HasHistory {
			f.forked.Lost(s.Agent)
			f.notes = append(f.notes, fmt.Sprintf("%s begins a new session with what Arbiter knows of the old one, whose "+
				"transcript (%s) is gone", a.Name, s.From))
		}
		for i, file := range files {
			said, err := f.readSession(file, s, i == 0)
			if err != nil {
				return err
			}
			if i == 0 && !said {
				f.forked.Emptied(s.Agent)
				break
			}
		}
	}
	return nil
}

// readSession copies one file of a session. Of its transcript, it copies the lines before the turn that is repeated, if
// there are messages: the CLI does not resume a session without any.
func (f *forking) readSession(file ArchiveSource, s supervisor.ForkedSession, cut bool) (said bool, err error) {
	in, n, err := file.Open()
	if err != nil {
		return false, err
	}
	defer in.Close()
	var out bytes.Buffer
	read := bufio.NewReaderSize(io.LimitReader(in, n), 64<<10)
	for {
		line, err := read.ReadBytes('\n')
		if errors.Is(err, io.EOF) && cut { // a line that is being written is of a later turn
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		message, after := f.place(line, s)
		if cut && after {
			break
		}
		said = said || message
		text := f.forked.Rename.Replace(string(line))
		if s.FromTop != "" {
			text = movePaths(text, s.FromTop, s.ToTop)
		}
		out.WriteString(text)
		if err != nil {
			break
		}
	}
	if cut && !said {
		return false, nil
	}
	return said, f.staged.Add(f.forked.Rename.Replace(file.Path), &out)
}

// place reports whether a line of a transcript is a message, and whether it is of the turn that is repeated, or of a
// later one.
func (f *forking) place(line []byte, s supervisor.ForkedSession) (message, after bool) {
	var x struct {
		Type, UUID string
		Timestamp  time.Time
		Merged     []string `json:"mergedSendUuids"`
		Attachment struct {
			Source string `json:"source_uuid"`
		}
	}
	_ = json.Unmarshal(line, &x) // other lines have no place of their own
	repeated := slices.ContainsFunc(append(x.Merged, x.UUID, x.Attachment.Source), func(id string) bool {
		return id != "" && slices.Contains(s.Cut, id)
	})
	return x.Type == "user" || x.Type == "assistant",
		repeated || x.Timestamp.After(f.find.State.Budget.Runtime.LastAt)
}

// movePaths replaces a directory by another one in JSON text, where it is not a part of another name.
func movePaths(text, from, to string) string {
	quoted := func(s string) string {
		b, _ := jsonl.Marshal(s)
		return strings.Trim(string(b), `"`)
	}
	from, to = quoted(from), quoted(to)
	part := func(b byte) bool {
		return b == '-' || b == '_' || b == '.' || b >= 0x80 || unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b))
	}
	var out strings.Builder
	for {
		i := strings.Index(text, from)
		if i < 0 {
			out.WriteString(text)
			return out.String()
		}
		end := i + len(from)
		out.WriteString(text[:i])
		escape := i > 1 && text[i-2] == '\\' && strings.IndexByte("nrt", text[i-1]) >= 0 // a line end, for example
		if i > 0 && !escape && (part(text[i-1]) || text[i-1] == '/') || end < len(text) && part(text[end]) {
			out.WriteString(from)
		} else {
			out.WriteString(to)
		}
		text = text[end:]
	}
}

func (f *forking) copyFile(name string) error {
	in, _, err := openRegular(filepath.Join(f.from, filepath.FromSlash(name)))
	if err != nil {
		return err
	}
	defer in.Close()
	return f.staged.Add(name, in)
}

// copyEvents copies the event log up to the decision.
func (f *forking) copyEvents(ctx context.Context, log *journal.EventLog) error {
	read, write := io.Pipe()
	added := make(chan error, 1)
	go func() { // ends when the log is written, or cannot be
		err := f.staged.Add(journal.LogName, read)
		read.CloseWithError(err)
		added <- err
	}()
	var chain journal.LogChain
	var offset int64
	_, err := log.Each(ctx, journal.LogPosition{}, func(e journal.LogEntry) error {
		if e.Input > f.find.Input {
			return journal.ErrEnough
		}
		x := journal.LogContent{Input: e.Input, At: e.At}
		if e.Line != nil {
			x.Line = []byte(f.forked.Rename.Replace(string(e.Line)))
			l, err := contract.DecodeLine(x.Line)
			if err != nil {
				return err
			}
			f.seq = l.Seq
			if m, ok := l.Body.(contract.Merge); ok && m.Status == string(input.StatusMerged) {
				f.merge = m.Head
			}
		} else {
			x.Record = []byte(f.forked.Rename.Replace(string(e.Record)))
		}
		line, err := chain.Append(nil, x)
		if err == nil {
			_, err = write.Write(line)
		}
		offset += int64(len(line))
		return err
	})
	write.CloseWithError(err)
	err = <-added // also what kept the log from being read
	f.end = journal.LogPosition{Offset: offset, Prev: chain}
	return err
}

// planFiles finds the commits with the files of that moment, and records them for [ResumeFiles].
func (f *forking) planFiles(ctx context.Context, root string, info journal.Info) error {
	old := &f.find.State
	repo, err := PastWork(ctx, root, info)
	if err != nil {
		return notForked("its repository cannot be used: %v", err)
	}
	w := old.Options.Workspace
	p := forkPlan{Base: w.Base, Shared: !w.Isolated(), Main: f.merge}
	switch {
	case p.Shared:
		p.Main = old.Changes.Last
		if p.Main == "" {
			p.Main = w.Base
		}
	case p.Main == "": // nothing was merged yet
		p.Main = w.Base + "^1"
	}
	for _, a := range f.forked.State.Agents {
		was, _ := old.Agent(a.ID)
		if was.Own.Branch == "" || was.Gone() {
			continue
		}
		p.Agents = append(p.Agents, forkedWork{Agent: a.ID, Worktree: a.Own,
			Commit: cmp.Or(old.Changes.Marks[a.ID].Commit, was.Own.Base)})
	}
	commits := []string{p.Base, p.Main}
	for _, a := range p.Agents {
		commits = append(commits, a.Commit)
	}
	found, err := repo.Commits(ctx, commits...)
	if err != nil {
		return err
	}
	for i, c := range found {
		if c.ID == "" {
			return notForked("its files of that moment are gone: Git has removed the snapshot %s", commits[i])
		}
	}
	p.Main = found[1].ID
	raw, err := json.Marshal(p)
	if err == nil {
		err = f.staged.Add(ForkPlanName, bytes.NewReader(raw))
	}
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(f.from, workspaces.BeganName)); err != nil {
		return nil
	}
	return f.copyFile(workspaces.BeganName)
}

// readForkPlan reads the plan of a run with that parent of the agents' own directories; nil: there is none.
func readForkPlan(own string) (*forkPlan, error) {
	file := filepath.Join(filepath.Dir(own), ForkPlanName)
	raw, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var p forkPlan
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return &p, nil
}

// PlaceWork creates the directories that the Orchestrators of a run that was forked had. Without a plan it does
// nothing. A call after a crash finishes the work.
func (f *Files) PlaceWork(ctx context.Context) error {
	p, err := readForkPlan(f.Workspace.Own)
	if p == nil || err != nil {
		return err
	}
	for _, a := range p.Agents {
		crashpoint.Here("fork.place")
		if err := f.placeWork(ctx, a); err != nil {
			return fmt.Errorf("the directory of %s in the forked run: %w", a.Agent, err)
		}
	}
	crashpoint.Here("fork.placed")
	return os.Remove(filepath.Join(filepath.Dir(f.Workspace.Own), ForkPlanName))
}

// placeMain creates the references of a run that was forked: its first snapshot and its run branch. Without a plan it
// does nothing. A call after a crash finishes the work; [Files.PlaceWork] does the rest.
func (f *Files) placeMain(ctx context.Context) error {
	p, err := readForkPlan(f.Workspace.Own)
	if p == nil || err != nil {
		return err
	}
	found, err := f.repo.Commits(ctx, p.Base, p.Base+"^1", p.Main, p.Main+"^1", f.repo.Ref(workspaces.Base), f.main())
	if err != nil {
		return err
	}
	base, main := found[0].ID, found[2].ID
	if p.Shared && main != base { // its history has the first snapshot, so that both can be compared
		parents := []string{base}
		if found[3].ID != found[1].ID {
			parents = append(parents, found[3].ID)
		}
		main, err = f.repo.Record(ctx, nil, found[2].Tree, "arbiter: files of the run that was forked", parents...)
		if err != nil {
			return err
		}
	}
	var updates []workspaces.Update
	for i, u := range []workspaces.Update{{Ref: f.repo.Ref(workspaces.Base), New: base}, {Ref: f.main(), New: main}} {
		if found[4+i].ID == "" {
			updates = append(updates, u)
		}
	}
	return f.repo.Move(ctx, "arbiter: forked", updates...)
}

// placeWork creates the directory of an Orchestrator, with its commits and the files that it had not committed.
func (f *Files) placeWork(ctx context.Context, p forkedWork) error {
	dirs, w, err := f.find(p.Agent)
	if err != nil {
		return err
	}
	generation := 1
	_, _ = fmt.Sscanf(p.Branch[strings.LastIndexByte(p.Branch, '.')+1:], "%d", &generation)
	w, err = dirs.Create(ctx, workspaces.WorktreeSpec{Orchestrator: w.Orchestrator, Generation: generation,
		Kind: workspaces.WorktreeKind(p.Isolation), From: p.Base})
	if err != nil {
		return err
	}
	there, err := f.repo.At(ctx, w.Dir)
	if err == nil {
		_, err = there.Git.Write(ctx, "reset", "--hard", "--quiet", p.Commit)
	}
	if err == nil && strings.HasPrefix(f.subject(ctx, p.Commit), snapshotSubject) {
		_, err = there.Git.Write(ctx, "reset", "--mixed", "--quiet", p.Commit+"^1")
	}
	return err
}

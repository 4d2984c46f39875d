package clients

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/yamldoc"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// Limits for the search in a workspace.
const (
	maxListed    = 500    // completions of a path prefix
	maxDocuments = 200    // Markdown files offered
	maxWalked    = 20_000 // directory entries visited for them
	maxDepth     = 6
	titleBytes   = 4 << 10
	inputsKept   = 500 // typed inputs

	filesKept = 5 * time.Second // cache time of the workspace's file list
)

// Files implements tui.Host: it returns the entries of the prefix's directory that start with the prefix, and then
// deeper files of the workspace whose paths contain the letters of the prefix in order.
func (h *ScreenHost) Files(ctx context.Context, prefix string) []string {
	dir, base := filepath.Split(prefix)
	entries, err := os.ReadDir(h.inside(dir))
	var list []string
	for _, e := range entries {
		name := e.Name()
		if ctx.Err() != nil || len(list) == maxListed {
			break
		}
		if err != nil || !strings.HasPrefix(strings.ToLower(name), strings.ToLower(base)) ||
			strings.HasPrefix(name, ".") && !strings.HasPrefix(base, ".") {
			continue
		}
		if path := dir + name; e.IsDir() {
			list = append(list, path+"/")
		} else {
			list = append(list, path)
		}
	}
	if base == "" || strings.HasPrefix(prefix, ".") || strings.HasPrefix(prefix, "~") || filepath.IsAbs(prefix) {
		return list
	}
	letters := []rune(strings.ToLower(prefix))
	for _, path := range h.files.under(ctx, h.choices.Place) {
		if len(list) >= maxListed {
			break
		}
		if hasLetters(path, letters) && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	return list
}

// hasLetters reports whether a path contains the lower-case letters in order.
func hasLetters(path string, letters []rune) bool {
	for _, r := range path {
		if len(letters) > 0 && unicode.ToLower(r) == letters[0] {
			letters = letters[1:]
		}
	}
	return len(letters) == 0
}

// fileList caches the files of the workspace, because they are requested for each typed letter.
type fileList struct {
	mu   sync.Mutex // guards the following members
	at   time.Time
	list []string
}

// under lists the files under a directory, without hidden or generated ones, the nearest to the top first.
func (f *fileList) under(ctx context.Context, place string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && time.Since(f.at) < filesKept {
		return f.list
	}
	list := walk(ctx, place, math.MaxInt, func(string) bool { return true })
	if ctx.Err() == nil { // else it is not all
		f.list, f.at = list, time.Now()
	}
	return list
}

// walk lists the wanted files under a directory, without hidden or generated ones, the nearest to the top first.
func walk(ctx context.Context, place string, depth int, wanted func(rel string) bool) (list []string) {
	walked := 0
	_ = filepath.WalkDir(place, func(path string, e fs.DirEntry, err error) error {
		walked++
		rel, _ := filepath.Rel(place, path)
		hidden := rel != "." && strings.HasPrefix(filepath.Base(path), ".")
		switch {
		case err != nil && e != nil && e.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case walked > maxWalked || ctx.Err() != nil:
			return fs.SkipAll
		case e.IsDir() && rel != "." && (hidden || slices.Contains(skipped, e.Name()) ||
			strings.Count(rel, string(filepath.Separator)) >= depth):
			return fs.SkipDir
		case e.Type().IsRegular() && !hidden && wanted(rel):
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	slices.SortStableFunc(list, func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })
	return list
}

// inside returns the absolute path for a path relative to the workspace, to the home directory (~/), or absolute.
func (h *ScreenHost) inside(path string) string {
	path, _ = settings.ExpandHome(path) // without a home, it is as it was
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(h.choices.Place, path)
}

// Image implements tui.Host.
func (h *ScreenHost) Image(path string) (absolute, size string, err error) {
	is, _, err := runstore.ReadImages(h.inside(path))
	return is.Path, is.Size(), err
}

// skipped are directories that do not contain requirements.
var skipped = []string{"node_modules", "vendor", "target", "dist", "build", "__pycache__"}

// Documents implements tui.Host. It returns Markdown files, the nearest to the top first.
func (h *ScreenHost) Documents(ctx context.Context) (list []tui.Document) {
	markdown := func(rel string) bool {
		return slices.Contains([]string{".md", ".markdown"}, strings.ToLower(filepath.Ext(rel)))
	}
	for _, rel := range walk(ctx, h.choices.Place, maxDepth, markdown) {
		path := h.inside(rel)
		if info, err := os.Lstat(path); err == nil && len(list) < maxDocuments {
			list = append(list, tui.Document{Path: rel, Bytes: info.Size(), Title: heading(path)})
		}
	}
	return list
}

// heading returns the first heading of a Markdown file, or "" if its beginning has none.
func heading(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, titleBytes)
	n, _ := f.Read(head)
	for line := range bytes.Lines(head[:n]) {
		if text, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("#")); ok {
			return string(bytes.TrimSpace(bytes.TrimLeft(text, "#")))
		}
	}
	return ""
}

// ReadDocument implements tui.Host.
func (h *ScreenHost) ReadDocument(path string) (string, error) {
	return settings.ReadRequirements(h.inside(path))
}

// Save implements tui.Host. It never overwrites a file.
func (h *ScreenHost) Save(name, text string) (string, error) {
	path := h.inside(name)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("%s is there already: name another file", name)
	}
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// inputsFile returns the file with typed inputs, one quoted line each, oldest first.
func (h *ScreenHost) inputsFile() string { return filepath.Join(h.choices.StateDir, "inputs") }

// Inputs implements tui.Host.
func (h *ScreenHost) Inputs() []string {
	raw, _ := os.ReadFile(h.inputsFile()) // without it, there are none
	var list []string
	for line := range strings.Lines(string(raw)) {
		if text, bad := strconv.Unquote(strings.TrimSpace(line)); bad == nil && text != "" {
			list = append(list, text)
		}
	}
	return list[max(len(list)-inputsKept, 0):]
}

// Remember implements tui.Host. Errors are ignored: the history of inputs is a convenience.
func (h *ScreenHost) Remember(text string) {
	if len(text) > settings.MaxTask/16 {
		return
	}
	h.typed.Lock() // workers call it concurrently
	defer h.typed.Unlock()
	list := append(h.Inputs(), text)
	var b strings.Builder
	for _, t := range list[max(len(list)-inputsKept, 0):] {
		b.WriteString(strconv.Quote(t) + "\n")
	}
	dir, err := statedir.Open(filepath.Dir(h.inputsFile()))
	if err != nil {
		return
	}
	defer dir.Close()
	_ = dir.ReplaceUnsynced(filepath.Base(h.inputsFile()), []byte(b.String()))
}

// maxVersion bounds the size in bytes of each file version that the screen compares.
const maxVersion = 1 << 20

func (h *ScreenHost) Changes(ctx context.Context, run string) ([]tui.ChangedFile, error) {
	_, _, changes, err := h.ChangedFiles(ctx, run)
	if err != nil {
		return nil, err
	}
	var list []tui.ChangedFile
	for _, c := range changes {
		list = append(list, tui.ChangedFile{Path: c.Path, Old: c.Old, Status: string(c.Status), Added: c.Added,
			Deleted: c.Deleted, Binary: c.Binary})
	}
	return list, nil
}

func (h *ScreenHost) Versions(ctx context.Context, run, path, old string) (v tui.Versions, err error) {
	r, _, changes, err := h.ChangedFiles(ctx, run)
	if err != nil {
		return v, err
	}
	at := slices.IndexFunc(changes, func(c workspaces.Change) bool { return c.Path == path && c.Old == old })
	if at < 0 {
		return v, command.Environmentf("%s is as it was when the run began", subcommands.FileName(path))
	}
	before, cutBefore, err := r.Content(ctx, changes[at].From, maxVersion)
	after, cutAfter, afterErr := r.Content(ctx, changes[at].To, maxVersion)
	if err = cmp.Or(err, afterErr); err != nil {
		return v, command.Environmentf("%s: %v", subcommands.FileName(path), err)
	}
	return tui.Versions{Before: string(before), After: string(after), Cut: cutBefore || cutAfter,
		Object: changes[at].To.ID}, nil
}

// Revert implements tui.Host.
func (h *ScreenHost) Revert(ctx context.Context, run string, c contract.Revert) error {
	r, info, err := h.work(ctx, run)
	if err != nil {
		return err
	}
	if info.Live {
		return runstore.PlayedElsewhere(info.Run, info.PID)
	}
	return subcommands.RevertChange(ctx, r, info, c)
}

// Land implements tui.Host.
func (h *ScreenHost) Land(ctx context.Context, run string) (string, error) {
	return h.command(ctx, "land", "--state-dir", h.choices.StateDir, run)
}

// Fork implements tui.Host.
func (h *ScreenHost) Fork(ctx context.Context, run string, at int) (string, error) {
	return h.command(ctx, "fork", "--state-dir", h.choices.StateDir, "--at", strconv.Itoa(at), "--detach", run)
}

// command runs a command of arbiter in a process of its own, because this one draws the screen.
func (h *ScreenHost) command(ctx context.Context, args ...string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir = h.choices.Place
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err = cmd.Run()
	text := strings.TrimSpace(sanitize.Text(said.String()))
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && text != "" {
		return "", command.Failedf("%s", strings.ReplaceAll(text, "arbiter: ", ""))
	}
	return text, err
}

// Open implements tui.Host.
func (h *ScreenHost) Open(run, path string, line int) error {
	r, info, err := h.work(h.ctx, run)
	if err != nil {
		return err
	}
	if branch, err := r.Commit(h.ctx, r.Branch(workspaces.Main)); err == nil && branch.ID != "" {
		return command.Failedf("the agents of run %s work in directories of their own: their work is not in your files "+
			"until it is landed", command.ShortID(info.Run))
	}
	file := filepath.Join(r.Root, filepath.FromSlash(path))
	if _, err := os.Lstat(file); err != nil {
		return command.Failedf("%s cannot be opened: %v", subcommands.FileName(path), command.WithoutPath(err))
	}
	return h.runEditor(editorPlace(subcommands.EditorName(), file, line)...)
}

// work opens the files that a run worked on.
func (h *ScreenHost) work(ctx context.Context, run string) (*workspaces.Repo, journal.Info, error) {
	store, info, err := runstore.FindIn(h.choices.StateDir, run)
	if err != nil {
		return nil, info, err
	}
	defer store.Close()
	r, err := subcommands.OpenWork(ctx, store, info)
	return r, info, err
}

// ChangedFiles returns the changes of a run.
func (h *ScreenHost) ChangedFiles(
	ctx context.Context, run string,
) (*workspaces.Repo, journal.Info, []workspaces.Change, error) {
	r, info, err := h.work(ctx, run)
	if err != nil {
		return nil, info, nil, err
	}
	span, err := r.Work(ctx)
	if err != nil {
		return nil, info, nil, subcommands.WorkError(info, err)
	}
	changes, err := r.Changes(ctx, span.From, span.To)
	if err != nil {
		return nil, info, nil, command.Environmentf("list changes: %v", err)
	}
	return r, info, changes, nil
}

// reports are the statuses of finished runs, for which the screen offers the report.
var reports = []string{contract.StatusComplete, contract.StatusIncomplete, contract.StatusFailed,
	contract.StatusCancelled, contract.StatusInterrupted}

func (h *ScreenHost) Runs(ctx context.Context) ([]tui.RunInfo, error) {
	store, err := runstore.OpenIn(h.choices.StateDir)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	list, err := store.List()
	if err != nil {
		return nil, command.Environmentf("list the runs: %v", err)
	}
	infos := make([]tui.RunInfo, 0, len(list))
	for _, i := range list {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		infos = append(infos, h.runInfo(store.Costed(ctx, i)))
	}
	return infos, nil
}

// runInfo returns what a screen shows of a run, except its cost while no process has ended it.
func (h *ScreenHost) runInfo(i journal.Info) tui.RunInfo {
	line := runstore.LineOf(i)
	return tui.RunInfo{
		ID: i.Run, Title: i.Title, Status: line.Status, LastActive: i.LastActive, Bytes: i.Bytes,
		CostUSD: i.CostUSD, CostUnknown: i.CostUnknown, Rehearsal: i.Rehearsal,
		CWD: i.CWD, Here: command.SameDir(i.CWD, h.choices.Place), Live: i.Live,
		Finished: slices.Contains(reports, line.Status), Resumable: line.Resumable,
	}
}

// State returns the flag with which commands find the runs, with a leading space; empty: without one.
func (h *ScreenHost) State() string {
	return cmp.Or(settings.StateForCommand(h.choices.StateDir), settings.StateForResume(h.choices.StateDir))
}

// Report implements tui.Host.
func (h *ScreenHost) Report(ctx context.Context, run string) (string, error) {
	store, info, err := runstore.FindIn(h.choices.StateDir, run)
	if err != nil {
		return "", err
	}
	defer store.Close()
	r, _, err := runstore.PastReport(ctx, store, info)
	if err != nil {
		return "", command.Environmentf("report on run %s: %v", command.ShortID(info.Run), err)
	}
	var text bytes.Buffer
	if err := report.Write(&text, r, report.Markdown); err != nil {
		return "", err
	}
	return text.String(), nil
}

// Explain implements tui.Host.
func (h *ScreenHost) Explain(ctx context.Context, run string, number int) (string, error) {
	store, info, err := runstore.FindIn(h.choices.StateDir, run)
	if err != nil {
		return "", err
	}
	defer store.Close()
	list, _, err := store.Decisions(ctx, run)
	if err != nil {
		return "", command.Environmentf("read run %s: %v", command.ShortID(run), err)
	}
	for _, r := range slices.Backward(list) {
		if number == 0 || r.Number == number && !r.Unused {
			var text bytes.Buffer
			subcommands.WriteExplanation(&text, subcommands.ExplainDecision(run, info.Rehearsal, r, nil))
			return text.String(), nil
		}
	}
	if number == 0 {
		return "", command.Usagef("no decision has been recorded in this run yet")
	}
	return "", command.Usagef("run %s has no decision %d: it has %d", command.ShortID(run), number,
		runstore.LastDecision(list))
}

// RunsText lists the runs as text. state is [ScreenHost.State].
func RunsText(list []tui.RunInfo, state string, now time.Time) string {
	if len(list) == 0 {
		return "There are no runs yet."
	}
	var b strings.Builder
	for _, r := range list {
		fmt.Fprintf(&b, "%s %s%s", command.ShortID(r.ID), sanitize.Line(r.Status, 40),
			eventtext.After(", ", eventtext.Total(r.CostUSD, r.Rehearsal, r.CostUnknown)))
		if d := now.Sub(r.LastActive); !r.Live && d > 0 {
			b.WriteString(", " + eventtext.Span(d) + " ago")
		}
		fmt.Fprintf(&b, ", in %s: %s\n", sanitize.Line(r.CWD, 100), sanitize.Line(r.Title, 100))
	}
	fmt.Fprintf(&b, "To show a live one: arbiter attach RUN%s. To resume one: arbiter --resume --session RUN%[1]s. "+
		"To read its report: arbiter report RUN%[1]s.", state)
	return b.String()
}

// This file has the page of settings, and its changes of the user's configuration file.

// secretLists are settings whose values are not shown, but only the names of their variables.
var secretLists = []string{"env", "arbiter-env"}

func (h *ScreenHost) Settings(context.Context) ([]tui.Setting, string, error) {
	var list []tui.Setting
	err := settings.Parsed(h.choices.Line, func(c *cli.Context) error {
		trusted := h.choices.Trusting.Trusted
		given, err := settings.ApplyConfig(c, h.choices.Place, trusted)
		if err != nil {
			return err
		}
		for _, s := range settings.Table {
			if s.Flagged {
				continue
			}
			list = append(list, settingRow(s, c, given[s.Name]))
		}
		return nil
	})
	return list, h.choices.Config, err
}

// settingRow returns a setting in the form for the page.
func settingRow(s settings.Setting, c *cli.Context, source string) tui.Setting {
	about := command.FlagDoc(s.Flag())
	t := tui.Setting{Name: s.Name, Group: s.Group, About: about.About, Choices: command.Choices(about.Value),
		Value: valueOfSetting(s, c), Source: source, When: "with the next run"}
	if s.Kind == settings.KindBool {
		t.Choices = []string{"true", "false"}
	}
	if s.Value != nil {
		t.Default = fmt.Sprint(s.Value)
	}
	switch {
	case s.Name == "theme":
		t.When = "at once"
	case s.Group == "The screen":
		t.When = "with the next start of the screen"
	case s.Name == "model":
		t.When = "with the next run; /model changes the present one"
	case s.Name == "permissions", s.Group == "Permissions" && s.Kind == settings.KindList:
		t.When = "with the next run; /permissions, /allow, /ask and /deny change the present one"
	}
	return t
}

// valueOfSetting returns the value of a setting in the form that [ScreenHost.ChangeSetting] accepts.
func valueOfSetting(s settings.Setting, c *cli.Context) string {
	if s.Kind != settings.KindList {
		return strings.Join(s.Texts(c), "")
	}
	items := s.Texts(c)
	if len(items) == 0 {
		return ""
	}
	for i, item := range items {
		if slices.Contains(secretLists, s.Name) {
			name, _, _ := strings.Cut(item, "=")
			item = name + "=…"
		}
		items[i] = yamldoc.EditedText(item)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// configFile returns the path of the user's configuration file.
func (h *ScreenHost) configFile() (string, error) {
	if h.choices.Config == "" {
		return "", command.Environmentf("there is no place for a configuration file: set HOME or XDG_CONFIG_HOME, or use " +
			"--config")
	}
	return h.choices.Config, nil
}

// OpenSettings implements tui.Host.
func (h *ScreenHost) OpenSettings() error {
	file, err := h.configFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return command.Environmentf("create the directory of your configuration: %v", command.WithoutPath(err))
	}
	return h.runEditor(file)
}

// ChangeSetting implements tui.Host.
func (h *ScreenHost) ChangeSetting(_ context.Context, name, value string) (string, error) {
	s, ok := settings.Named(name)
	if !ok || s.Flagged {
		return "", command.Usagef("there is no setting %q: /settings lists them", name)
	}
	if slices.Contains(secretLists, name) && strings.Contains(value, "=…") {
		return "", command.Usagef("%s: write the values in full, in place of …", name)
	}
	written := ""
	file, err := h.configFile()
	if err == nil && value != "" {
		written, err = settingYAML(s, value)
	}
	if err != nil {
		return "", err
	}
	if err := rewriteConfig(h.choices, file, name, written); err != nil {
		return "", err
	}
	message := fmt.Sprintf("%s: %s, written to %s", name, value, file)
	if value == "" {
		message = fmt.Sprintf("%s is the default again: removed from %s", name, file)
	}
	return message, nil
}

// settingYAML returns a value in the form for the file, or an error if the value is not valid for the setting.
func settingYAML(s settings.Setting, value string) (string, error) {
	about := command.FlagDoc(s.Flag())
	if words := command.Choices(about.Value); words != nil && !slices.Contains(words, value) {
		return "", command.Usagef("%s: %q is not one of %s", s.Name, value, strings.Join(words, ", "))
	}
	if s.Kind == settings.KindList && strings.HasPrefix(value, "[") {
		return value, nil // checked when the file is read again
	}
	if s.Kind == settings.KindList {
		return "[" + yamldoc.EditedText(value) + "]", nil
	}
	if _, err := s.Parse(value); err != nil {
		return "", command.Usagef("%s: %q is not %s", s.Name, value, s.Kind.Article())
	}
	if s.Kind == settings.KindText || s.Kind == settings.KindDuration {
		return yamldoc.EditedText(value), nil
	}
	return value, nil
}

// rewriteConfig changes or removes one key of a configuration file, provided that the program accepts the resulting
// file.
func rewriteConfig(s settings.Choices, file, key, value string) error {
	return settings.ChangeConfig(file, func(src []byte) ([]byte, error) {
		out, err := yamldoc.Edit(src, key, value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		dir, err := os.MkdirTemp("", "arbiter-settings-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		trial := filepath.Join(dir, "config.yaml")
		if err := os.WriteFile(trial, out, 0o600); err != nil {
			return nil, err
		}
		err = settings.Parsed(append(slices.Clone(s.Line), "--config="+trial), func(c *cli.Context) error {
			_, err := settings.ReadChoices(c)
			return err
		})
		if err != nil {
			return nil, errors.New(strings.ReplaceAll(err.Error(), trial, file))
		}
		return out, nil
	})
}

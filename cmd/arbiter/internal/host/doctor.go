package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// DoctorState is the severity of a finding.
type DoctorState string

// The states of a finding.
const (
	DoctorOK   DoctorState = "ok"
	DoctorNote DoctorState = "note" // good to know, nothing is wrong
	DoctorWarn DoctorState = "warn" // a run can start, but something will not work fully
	DoctorFail DoctorState = "fail" // no run can start or finish its work
)

// Finding is the result of one check.
type Finding struct {
	Area  string      `json:"area"`
	Name  string      `json:"name"`
	State DoctorState `json:"state"`
	Found string      `json:"found"`
	Fix   string      `json:"fix,omitempty"` // a command to type, or other advice
}

// Areas of findings.
const (
	AreaClaude      = "claude"
	AreaAbilities   = "abilities"
	AreaEnvironment = "environment"
	AreaSettings    = "settings"
	AreaPlaces      = "directories"
	AreaTerminal    = "terminal"
	AreaMachine     = "machine"
	AreaLeftovers   = "leftovers"
)

// areas are in the order of the report, each with the method that checks it.
var areas = []struct {
	name  string
	check func(*examination)
}{
	{AreaClaude, (*examination).checkClaude}, {AreaAbilities, (*examination).checkAbilities},
	{AreaEnvironment, (*examination).checkEnvironment}, {AreaSettings, (*examination).checkSettings},
	{AreaPlaces, func(e *examination) {
		e.state()
		e.other("configuration", e.Config)
		e.other("sessions", e.Sessions)
		e.other("temporary", e.Temp)
		e.workspace()
	}},
	{AreaTerminal, (*examination).checkTerminal},
	{AreaMachine, (*examination).checkMachine}, {AreaLeftovers, (*examination).checkLeftovers},
}

// examination judges the surroundings, one area after the other.
type examination struct {
	Surroundings
	area  string
	found []Finding
}

// Examine judges the surroundings.
func Examine(s Surroundings) []Finding {
	e := examination{Surroundings: s}
	for _, area := range areas {
		e.area = area.name
		area.check(&e)
	}
	return e.found
}

func (e *examination) add(name string, state DoctorState, found, fix string) {
	e.found = append(e.found, Finding{Area: e.area, Name: name, State: state, Found: found, Fix: fix})
}

// ruling is a finding that holds under a condition.
type ruling struct {
	when       bool
	state      DoctorState
	found, fix string
}

// first adds the first of several rulings whose condition holds, if there is one.
func (e *examination) first(name string, list ...ruling) {
	for _, v := range list {
		if v.when {
			e.add(name, v.state, v.found, v.fix)
			return
		}
	}
}

// DoctorReport has all findings, in the form of `arbiter doctor --json`.
type DoctorReport struct {
	Arbiter  string              `json:"arbiter"` // version
	State    DoctorState         `json:"state"`   // the worst of all
	Counts   map[DoctorState]int `json:"counts"`
	Findings []Finding           `json:"findings"`
}

// doctorStates are the states from good to bad, with the sign of each, the same in ASCII, and its colour from the
// terminal's own palette, so that it fits its background.
var doctorStates = []struct {
	state               DoctorState
	sign, ascii, colour string
}{{DoctorOK, "✓", "+", "32"}, {DoctorNote, "·", "-", "36"}, {DoctorWarn, "!", "!", "33"}, {DoctorFail, "✗", "x", "31"}}

// rank returns the place of a state among [doctorStates].
func (s DoctorState) rank() int {
	for i := range doctorStates {
		if doctorStates[i].state == s {
			return i
		}
	}
	return 0
}

// NewReport summarizes findings, which are grouped by area.
func NewReport(version string, findings []Finding) DoctorReport {
	r := DoctorReport{Arbiter: version, State: worst(findings), Findings: findings,
		Counts: map[DoctorState]int{DoctorOK: 0, DoctorNote: 0, DoctorWarn: 0, DoctorFail: 0}}
	for _, f := range findings {
		r.Counts[f.State]++
	}
	return r
}

// worst returns the worst state of findings.
func worst(findings []Finding) DoctorState {
	worst := DoctorOK
	for _, f := range findings {
		if f.State.rank() > worst.rank() {
			worst = f.State
		}
	}
	return worst
}

// DoctorStyle is how a report is printed for a person.
type DoctorStyle struct {
	ASCII  bool
	Colour bool
}

// maxLine bounds found and fixes; only an unusually long path exceeds it.
const maxLine = 1000

// Print writes the report as lines for a person.
func (r DoctorReport) Print(w io.Writer, s DoctorStyle) error {
	var b strings.Builder
	area, width := "", 0
	for _, f := range r.Findings {
		width = max(width, len([]rune(f.Name)))
	}
	for _, f := range r.Findings {
		if f.Area != area {
			if area != "" {
				b.WriteString("\n")
			}
			area = f.Area
			fmt.Fprintln(&b, s.painted("1", area))
		}
		f.print(&b, s, width+1)
	}
	over := r.State
	if over == DoctorNote {
		over = DoctorOK
	}
	fmt.Fprintf(&b, "\n%s %s\n", s.sign(over), r.summary())
	_, err := io.WriteString(w, b.String())
	return err
}

func (f Finding) print(w io.Writer, s DoctorStyle, width int) {
	fmt.Fprintf(w, "%s %-*s %s\n", s.sign(f.State), width, f.Name, sanitize.Line(sanitize.Redact(f.Found), maxLine))
	if f.Fix != "" {
		arrow := "→"
		if s.ASCII {
			arrow = "->"
		}
		fmt.Fprintf(w, "  %-*s %s %s\n", width, "", arrow, sanitize.Line(f.Fix, maxLine))
	}
}

// summary returns the last line.
func (r DoctorReport) summary() string {
	warnings := ""
	if n := r.Counts[DoctorWarn]; n > 0 {
		warnings = ", " + words.Count(n, "warning")
	}
	if n := r.Counts[DoctorFail]; n > 0 {
		text := "A run cannot start here, or would fail: " + words.Count(n, "failure") + warnings + "."
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.State == DoctorFail && f.Area != AreaClaude }) {
			text += " A rehearsal can: arbiter --rehearse"
		}
		return text
	}
	return "A run can start here" + warnings + "."
}

func (s DoctorStyle) sign(state DoctorState) string {
	x := doctorStates[state.rank()]
	if s.ASCII {
		return s.painted(x.colour, x.ascii)
	}
	return s.painted(x.colour, x.sign)
}

func (s DoctorStyle) painted(colour, text string) string {
	if !s.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (e *examination) checkLeftovers() {
	o := e.Leftovers
	var bytes int64
	var live int
	var damaged, interrupted, worktrees []journal.Info
	for _, run := range o.Runs {
		bytes += run.Bytes
		switch {
		case run.Live:
			live++
		case run.Damaged:
			damaged = append(damaged, run)
		case runstore.Status(run) == runstore.Interrupted:
			interrupted = append(interrupted, run)
		}
		if !run.Live && slices.Contains(o.Worktrees, run.Run) {
			worktrees = append(worktrees, run)
		}
	}
	if o.Problem != "" {
		e.add("runs", DoctorNote, "were not looked for: "+o.Problem, "")
	} else {
		e.add("runs", DoctorOK, fmt.Sprintf("%s, %s; %d live", words.Count(len(o.Runs), "run"), words.Size(bytes), live), "")
	}
	for _, run := range damaged {
		id := command.ShortID(run.Run)
		e.add("damaged", DoctorWarn, "run "+id+": "+run.Problem, "arbiter sessions show "+id+o.Named)
	}
	for _, run := range shown(interrupted) {
		id := command.ShortID(run.Run)
		e.add("interrupted", DoctorNote, "run "+id+" in "+run.CWD, "arbiter --resume --session "+id+o.NamedToResume)
	}
	if n := len(interrupted) - len(shown(interrupted)); n > 0 {
		e.add("interrupted", DoctorNote, "and "+words.Count(n, "more run"), "arbiter sessions"+o.Named)
	}
	for _, run := range shown(worktrees) {
		id := command.ShortID(run.Run)
		e.add("worktrees", DoctorNote, "of agents of run "+id+" in "+run.CWD+"; removing the run saves their work first",
			"arbiter sessions rm "+id+o.Named)
	}
	if len(o.Processes) > 0 {
		var names, pids []string
		for _, p := range o.Processes {
			names, pids = append(names, fmt.Sprintf("%s (%d)", p.Name, p.PID)), append(pids, strconv.Itoa(p.PID))
		}
		e.add("processes", DoctorWarn, "still run after the end of their run; the next run ends them: "+
			strings.Join(names, ", "),
			"kill -KILL "+strings.Join(pids, " "))
	}
	var kinds []string
	paths := map[string][]string{}
	for _, s := range o.Scratch {
		if paths[s.What] == nil {
			kinds = append(kinds, s.What)
		}
		paths[s.What] = append(paths[s.What], words.Quote(s.Path))
	}
	for _, kind := range kinds {
		found, some := fmt.Sprintf("%d %s", len(paths[kind]), kind), paths[kind]
		if len(some) > maxPaths {
			some = some[:maxPaths]
			found += fmt.Sprintf("; this removes %d of them", maxPaths)
		}
		e.add("scratch directories", DoctorNote, found, "rm -rf "+strings.Join(some, " "))
	}
}

// shown returns the runs that are reported one by one.
func shown(runs []journal.Info) []journal.Info { return runs[:min(len(runs), 3)] }

// maxPaths bounds the number of paths in one command, so that the command is printed completely.
const maxPaths = 10

// Surroundings has the observations about this machine, as plain data.
type Surroundings struct {
	OS     string // as in runtime.GOOS
	UID    int
	Getenv func(string) string
	// Unknown are the variables of the environment that look like settings, and are none.
	Unknown []string

	Claude    DoctorClaude
	Seen      Observed // in a trial; nil: there was none
	Tested    string   // version of Claude Code to fall back to
	Terminal  DoctorTerminal
	Settings  DoctorSettings
	State     DoctorPlace // where runs are kept
	Config    DoctorPlace // arbiter's own configuration
	Sessions  DoctorPlace // Claude's, where transcripts are written
	Temp      DoctorPlace
	Workspace DoctorWorkspace
	Limits    []int64            // of this process and of the system, as in [limits]; -1: none or unknown
	Isolation proctree.Isolation // in which agents run
	Sandbox   DoctorSandbox
	Leftovers Leftovers
}

// DoctorClaude is the Claude Code CLI that was found, and its answer about its login.
type DoctorClaude struct {
	ClaudeFindings
	Named string   // by a flag, a variable or the configuration; empty: claude on PATH
	Hints []string // names of files and variables that can provide a login
	// Shadowed are other CLIs on PATH, Elsewhere those not on PATH. Links are resolved.
	Shadowed, Elsewhere []string
}

// DoctorTerminal describes the standard streams of this process.
type DoctorTerminal struct {
	Stdin, Stdout bool // are terminals
	Width, Height int  // 0: unknown
	UTF8          bool // the locale uses UTF-8
	// Clipboard is tmux's option set-clipboard; empty outside of tmux, or if tmux does not report it.
	Clipboard string
}

// DoctorSettings is the result of reading the configuration.
type DoctorSettings struct {
	Files   []string // that were read
	Problem string   // in flags, variables or files
	Agents  []string // problems of agent files
	Hosts   []string // other machines that are configured
	Makes   []DoctorMake
	// Templates is the problem of a prompt template.
	Templates string
	// Skipped says why the other settings were not checked.
	Skipped string
}

// DoctorMake is a configured make of agents.
type DoctorMake struct {
	Name    string
	Version string // what it says about itself; empty: it was not started
	Lacks   []string
	Problem string
}

// DoctorWorkspace is the directory in which a run would work.
type DoctorWorkspace struct {
	DoctorPlace
	Home       bool   // it is the home directory or above it
	Git        string // why git cannot be used; empty: it can
	Repository bool   // of git
	Trust      settings.TrustState
}

// DoctorPlace is a directory.
type DoctorPlace struct {
	Path    string
	Problem string // why it cannot be used; the other members do not count then
	Exists  bool
	Mode    uint32 // permission bits
	Owner   int
	Link    bool
	// Written says why no file can be written and synced there. For a directory that does not exist yet, that is
	// about the nearest existing one above it.
	Written string
	Synced  time.Duration // how long the sync took
	Free    int64         // bytes; -1: unknown
	Network string        // kind of network file system; "": none
}

// DoctorSandbox is the result of trying the sandbox.
type DoctorSandbox struct {
	Mode      string // as configured: off, auto, on
	Installed bool
	Holds     bool
	Version   string
	Confines  string // what it confines
	Reason    string // it does not hold, or is not available
	// Restricted: the system does not let users create namespaces (AppArmor).
	Restricted bool
}

// Leftovers are what runs that are over have left.
type Leftovers struct {
	Problem   string // why it was not inspected
	Runs      []journal.Info
	Worktrees []string // ids of the runs with worktrees of agents left
	Processes []proctree.Process
	Scratch   []DoctorScratch
	// Named is the flag, with a leading space, that makes a command use the state directory of these runs.
	// NamedToResume is the same for arbiter itself, which reads the configuration. Empty: no flag is needed.
	Named, NamedToResume string
}

// DoctorScratch is a scratch directory among the temporary files.
type DoctorScratch struct {
	Path string
	What string // such as "workspace of a rehearsal"
}

// npmInstall is the command that installs Claude Code on PATH.
const npmInstall = "npm install -g @anthropic-ai/claude-code"

func (e *examination) checkClaude() {
	c := e.Claude
	export, found := "", fmt.Sprintf("%s (%s)", c.Version, c.Path)
	if c.Missing && len(c.Elsewhere) > 0 {
		export = "export ARBITER_CLAUDE=" + words.Quote(c.Elsewhere[0])
		if c.Named == "" {
			c.Problem = "it is not on PATH, but is installed in " + c.Elsewhere[0]
		}
	}
	e.first("claude",
		ruling{export != "", DoctorFail, c.Problem, export},
		ruling{c.Missing, DoctorFail, c.Problem, npmInstall},
		ruling{c.Problem != "", DoctorFail, c.Problem, npmInstall + "@latest"},
		ruling{c.StandIn, DoctorNote, found + ": a stand-in, which plays rehearsals only", npmInstall},
		ruling{claude.Untested(c.Version) != "", DoctorNote, claude.Untested(c.Version), ""},
		ruling{true, DoctorOK, found, ""})
	if c.Missing || c.Problem != "" {
		return
	}
	if len(c.Shadowed) > 0 {
		e.add("others", DoctorNote, "also on PATH, and not used: "+strings.Join(c.Shadowed, ", "), "")
	}
	in, login := c.Login, "claude auth login"
	if c.Named != "" {
		login = words.Quote(c.Path) + " auth login"
	}
	who := in.Method
	if in.Email != "" {
		who += " (" + in.Email + ")"
	}
	if c.StandIn {
		return // it has none
	}
	e.first("login",
		ruling{in.Known && in.LoggedIn, DoctorOK, who, ""},
		ruling{in.Known, DoctorFail, "claude is not logged in", login},
		ruling{len(c.Hints) > 0, DoctorNote, "claude does not say; there is " + strings.Join(c.Hints, ", "), ""},
		ruling{true, DoctorWarn, "claude does not say, and there is neither a key nor a login to be seen", login})
}

// inspectDeadline bounds the inspection of the CLI.
const inspectDeadline = 20 * time.Second

// ClaudeFindings is what can be learned about the CLI that a run would use, without starting a session.
type ClaudeFindings struct {
	bridge.ClaudeInfo
	Login   claude.Login
	Problem string // why the CLI cannot be used
	Missing bool   // there is no CLI
}

// InspectClaude finds out whether there is a usable CLI and, if login is set, whether it is logged in.
func InspectClaude(ctx context.Context, path string, login bool) (s ClaudeFindings) {
	ctx, cancel := context.WithTimeout(ctx, inspectDeadline)
	defer cancel()
	spec := bridge.ClaudeSpec{Path: cmp.Or(path, "claude")}
	l := claude.NewLauncher("")
	var err error
	if s.ClaudeInfo, err = l.Detect(ctx, spec); err != nil {
		s.Problem = err.Error()
		if rpc, ok := errors.AsType[*bridge.RPCError](err); ok {
			s.Problem, s.Missing = rpc.Message, rpc.Category == bridge.CatClaudeMissing
		}
	} else if login {
		s.Login = l.Login(ctx, spec)
	}
	return s
}

// Thresholds for findings.
const (
	littleFree = 1 << 30  // bytes: for a run's journal, transcripts and a build
	noFree     = 32 << 20 // with less, a run soon fails
	slowSync   = time.Second
)

// state checks the state directory, without which no run can start.
func (e *examination) state() {
	const another = `export ARBITER_STATE_DIR=/var/tmp/arbiter-"$(id -un)"`
	p, sessions := e.State, "arbiter sessions"+e.Leftovers.Named
	at, mode := words.Quote(p.Path), fmt.Sprintf("%s has mode %04o: ", p.Path, p.Mode)
	e.first("state",
		ruling{p.Problem != "", DoctorFail, p.Problem, another},
		ruling{p.Link, DoctorFail, p.Path + " is a symbolic link, which is refused",
			`export ARBITER_STATE_DIR="$(readlink -f ` + at + `)"`},
		ruling{p.Exists && p.Owner != e.UID, DoctorFail,
			fmt.Sprintf("%s belongs to another user (%d), and is refused", p.Path, p.Owner), `sudo chown -R "$(id -u)" ` + at},
		ruling{p.Exists && p.Mode&0o700 != 0o700, DoctorFail, mode + "you cannot use it yourself", "chmod 700 " + at},
		ruling{p.Written != "", DoctorFail, p.Written, another},
		ruling{p.full(), DoctorFail, p.Path + " has only " + words.Size(p.Free) + " left", sessions},
		ruling{p.Exists && p.Mode&0o077 != 0, DoctorWarn, mode + "others can read it until the next run",
			"chmod 700 " + at},
		ruling{p.Network != "", DoctorWarn,
			fmt.Sprintf("%s is on a network (%s), where locks and fsync may not work", p.Path, p.Network), another},
		ruling{p.Free >= 0 && p.Free < littleFree, DoctorWarn, p.Path + " has " + words.Size(p.Free) + " left", sessions},
		ruling{p.Synced > slowSync, DoctorWarn, fmt.Sprintf("%s takes %s to sync a line, and arbiter waits for each",
			p.Path, p.Synced.Round(time.Millisecond)), ""},
		ruling{!p.Exists, DoctorOK, p.Path + ", which the first run creates" + p.freeSpace(), ""},
		ruling{true, DoctorOK, p.Path + p.freeSpace(), ""})
}

// other checks directories that a run can start without.
func (e *examination) other(name string, p DoctorPlace) {
	at := words.Quote(p.Path)
	e.first(name,
		ruling{p.Problem != "", DoctorWarn, p.Problem, ""},
		ruling{p.Written != "", DoctorWarn, p.Written, "ls -ld " + at},
		ruling{p.full(), DoctorWarn, p.Path + " has only " + words.Size(p.Free) + " left", "df -h " + at},
		ruling{name == "configuration" && p.Exists && p.Mode&0o022 != 0, DoctorWarn,
			fmt.Sprintf("%s has mode %04o: others can change your settings", p.Path, p.Mode), "chmod go-w " + at},
		ruling{!p.Exists, DoctorOK, p.Path + ", which does not exist yet", ""},
		ruling{true, DoctorOK, p.Path + p.freeSpace(), ""})
}

func (e *examination) workspace() {
	w, t := e.Workspace, e.Workspace.Trust
	at := words.Quote(w.Path)
	const project = "mkdir -p ~/project && cd ~/project"
	e.first("workspace",
		ruling{w.Problem != "", DoctorFail, w.Problem, project},
		ruling{w.Home, DoctorWarn, w.Path + " holds all that you have: let agents work in one project", project},
		ruling{w.Written != "", DoctorWarn, w.Written, "ls -ld " + at},
		ruling{w.Git != "", DoctorWarn, w.Git + ": runs have no diffs, undo and worktrees", "sudo apt-get install git"},
		ruling{!w.Repository, DoctorNote,
			w.Path + " is in no git repository: what agents change there cannot be reverted", "git init " + at},
		ruling{true, DoctorOK, w.Path + ", in a git repository" + w.freeSpace(), ""})
	if w.Problem != "" {
		return
	}
	e.first("trust",
		ruling{t.Distrust() != "", DoctorWarn, t.Distrust(), t.Asks()},
		ruling{t.Trusted && !t.Listing.Empty(), DoctorOK, "trusted, as it is: " + t.InShort(), ""},
		ruling{!t.Trusted && len(t.Listing.Items) > 0, DoctorNote, "not trusted, and not loaded: " + t.InShort(),
			t.Asks()},
		ruling{true, DoctorOK, "nothing there needs trust", ""})
}

// full reports whether a run would soon fail for lack of room.
func (p DoctorPlace) full() bool { return p.Free >= 0 && p.Free < noFree }

func (p DoctorPlace) freeSpace() string {
	if p.Free < 0 {
		return ""
	}
	return ", " + words.Size(p.Free) + " free"
}

// LookAt inspects a directory. If it does not exist, LookAt inspects the nearest existing directory above it. With
// prove, it also writes a file there, syncs it and removes it.
func LookAt(path string, prove bool) DoctorPlace {
	p := DoctorPlace{Path: path, Owner: -1, Free: -1}
	link, err := os.Lstat(path)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(path); err == nil && !info.IsDir() {
			err = errors.New(path + " exists and is not a directory")
		} else if err == nil {
			p.Link, p.Exists = link.Mode()&fs.ModeSymlink != 0, true
			p.Mode, p.Owner = uint32(info.Mode().Perm()), owner(info)
		}
	}
	if err != nil && (link != nil || !errors.Is(err, fs.ErrNotExist)) {
		p.Problem = err.Error()
		return p
	}
	at := path
	for info, err := os.Stat(at); (err != nil || !info.IsDir()) && at != filepath.Dir(at); info, err = os.Stat(at) {
		at = filepath.Dir(at)
	}
	p.Free, p.Network = fileSystem(at)
	if err = unix.Access(at, unix.W_OK|unix.X_OK); prove {
		p.Synced, err = writeDoctor(at)
	}
	switch {
	case err == nil:
	case p.Exists:
		p.Written = fmt.Sprintf("%s cannot be written to: %v", at, command.WithoutPath(err))
	default:
		p.Written = fmt.Sprintf("%s cannot be created: %v", p.Path, command.WithoutPath(err))
	}
	return p
}

// writeDoctor writes and syncs a temporary file, and returns how long the sync took.
func writeDoctor(dir string) (took time.Duration, err error) {
	f, err := os.CreateTemp(dir, ".arbiter-doctor-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if _, err := f.WriteString("written to see whether that can be done\n"); err != nil {
		return 0, err
	}
	began := time.Now()
	err = f.Sync()
	return time.Since(began), err
}

// kinds are the scratch directories by name prefix, with a description.
var kinds = []struct{ prefix, what string }{
	{"arbiter-rehearsal-", "of rehearsals whose runs are gone"},
	{"arbiter-home-", "homes of rehearsals that were killed"},
	{"arbiter-hook-", "for sockets of runs that were killed"},
	{"arbiter-doctor-", "of examinations that were killed"},
	{"arbiter-export-", "of exports that were killed"},
	{git.ViewPrefix, "of commands that were killed while they used git"},
	{"arbiter-look-", "of makes that were being looked at"},
	{"arbiter-make-", "for sockets of agents of other makes whose bridge was killed"},
}

// minAge is the minimum age of a leftover directory: a younger one may belong to a run that is just starting.
const minAge = 10 * time.Minute

// LookForScratch finds directories that runs have left in places for temporary files. It skips directories that are
// in use, have a socket with a listener, are younger than settled, belong to other users, or belong to a run that
// still exists: such a run can be resumed, and its directories are removed with it.
func LookForScratch(places, used []string, uid int) []DoctorScratch {
	var found []DoctorScratch
	seen := map[string]bool{}
	for _, place := range places {
		entries, err := os.ReadDir(place)
		if err != nil || seen[place] {
			continue
		}
		seen[place] = true
		for _, e := range entries {
			path := filepath.Join(place, e.Name())
			i := slices.IndexFunc(kinds, func(k struct{ prefix, what string }) bool { return made(e.Name(), k.prefix) })
			if i < 0 || !e.IsDir() || slices.ContainsFunc(used, func(u string) bool {
				rel, err := filepath.Rel(path, u)
				return err == nil && filepath.IsLocal(rel)
			}) {
				continue
			}
			info, err := e.Info()
			if err != nil || owner(info) != uid || time.Since(info.ModTime()) < minAge || command.InUse(path) ||
				listens(path) {
				continue
			}
			found = append(found, DoctorScratch{Path: path, What: kinds[i].what})
		}
	}
	return found
}

// made reports whether a name was generated: a prefix that Arbiter uses, followed by digits. A directory that a
// person has named similarly is left alone.
func made(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

// listens reports whether a process listens on a socket directly in a directory, perhaps without accepting connections.
func listens(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		if e.Type() != fs.ModeSocket {
			return false
		}
		conn, err := net.DialTimeout("unix", filepath.Join(dir, e.Name()), time.Second)
		if err == nil {
			conn.Close()
		}
		return !errors.Is(err, unix.ECONNREFUSED)
	})
}

// limits are what a run with several agents needs at least of this process and of the system.
var limits = []struct {
	name       string
	have       func() int64 // -1: there is no limit, or it is unknown
	least      int64
	means, fix string
}{
	{"inotify", func() int64 { return inotify("max_user_watches") }, 8192,
		"%d watches for a user: transcripts may be noticed late", "sudo sysctl fs.inotify.max_user_watches=524288"},
	{"inotify", func() int64 { return inotify("max_user_instances") }, 64,
		"%d instances for a user: transcripts may be noticed late", "sudo sysctl fs.inotify.max_user_instances=512"},
	{"open files", func() int64 { return limit(unix.RLIMIT_NOFILE) }, 1024,
		"%d for a process: a run of many agents needs more", "ulimit -n 4096"},
	{"user processes", func() int64 { return limit(unix.RLIMIT_NPROC) }, 512,
		"%d: agents, their tools and builds need more", "ulimit -u 4096"},
	{"file size", func() int64 { return limit(unix.RLIMIT_FSIZE) }, 1 << 30,
		"%d bytes at most: journals and transcripts are cut off there", "ulimit -f unlimited"},
}

func (e *examination) checkMachine() {
	low := false
	for i, x := range limits {
		if have := e.Limits[i]; have >= 0 && have < x.least {
			low = true
			e.add(x.name, DoctorWarn, fmt.Sprintf(x.means, have), x.fix)
		}
	}
	if !low {
		e.add("limits", DoctorOK, "enough files, processes and watches", "")
	}
	e.first("processes",
		ruling{e.Isolation.Kind != proctree.NoNamespace, DoctorOK,
			"agents run in a PID namespace: the kernel ends processes that arbiter cannot end", ""},
		ruling{e.OS != "linux", DoctorNote,
			"there are no PID namespaces on this system; escaped processes are found by their environment", ""},
		ruling{true, DoctorNote, "agents do not run in a PID namespace: " + e.Isolation.Why,
			"arbiter --pid-namespace always"})
	e.sandbox()
}

func (e *examination) sandbox() {
	b := e.Sandbox
	state, without := DoctorNote, "; agents run unconfined"
	if b.Mode == "on" {
		state, without = DoctorFail, ", and it is asked for"
	}
	e.first("sandbox",
		ruling{b.Holds && b.Mode == "off", DoctorOK, "bubblewrap " + b.Version + " holds (--sandbox on)", ""},
		ruling{b.Holds, DoctorOK, "bubblewrap " + b.Version + " holds: " + b.Confines, ""},
		ruling{e.OS != "linux", state, b.Reason, ""},
		ruling{!b.Installed, state, "bubblewrap is not installed" + without, "sudo apt-get install bubblewrap"},
		ruling{b.Restricted, state, b.Reason, "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		ruling{true, state, b.Reason, ""})
}

// proxies includes the lower case names, which take precedence.
var proxies = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}

func (e *examination) checkEnvironment() {
	before := len(e.found)
	if e.Getenv("HOME") == "" {
		e.add("HOME", DoctorWarn, "is not set: neither a login nor a configuration can be found",
			`export HOME="$(cd ~ && pwd)"`)
	}
	e.requests()
	if e.Getenv("CLAUDE_CODE_SHELL_PREFIX") != "" {
		e.add("CLAUDE_CODE_SHELL_PREFIX", DoctorWarn,
			"is set by you and stays: keys are not kept out of the environment of shell commands",
			"unset CLAUDE_CODE_SHELL_PREFIX")
	}
	if dir := e.Getenv("CLAUDE_CONFIG_DIR"); dir != "" && !filepath.IsAbs(dir) {
		e.add("CLAUDE_CONFIG_DIR", DoctorWarn, words.Quote(dir)+" is another directory in each workspace",
			`export CLAUDE_CONFIG_DIR="$HOME/.claude"`)
	}
	for _, name := range e.Unknown {
		e.add(name, DoctorWarn, "no setting has this name: no run starts", "unset "+words.Quote(name))
	}
	if e.UID == 0 {
		e.add("root", DoctorNote, "agents run as root; --permissions allow-all needs --sandbox on", "")
	}
	if len(e.found) == before {
		e.add("variables", DoctorOK, "nothing wrong with them", "")
	}
}

// requests checks where the model's requests go, and who pays for them.
func (e *examination) requests() {
	e.url("ANTHROPIC_BASE_URL", "requests go to ", "is not a URL")
	switch key, token := e.Getenv("ANTHROPIC_API_KEY") != "", e.Getenv("ANTHROPIC_AUTH_TOKEN") != ""; {
	case key && token:
		e.add("ANTHROPIC_API_KEY", DoctorWarn, "and ANTHROPIC_AUTH_TOKEN are both set: it is not clear who pays",
			"unset ANTHROPIC_API_KEY")
	case key:
		e.add("ANTHROPIC_API_KEY", DoctorNote, "is set: requests are billed to this key, even with a subscription", "")
	}
	for _, name := range proxies {
		e.url(name, "requests go by ", "is not a URL such as http://proxy:3128")
	}
}

// url checks a variable with a URL. It names only scheme and host; other parts could be secret.
func (e *examination) url(name, found, wrong string) {
	text := e.Getenv(name)
	u, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil || u.Host == "" || u.Scheme == "":
		e.add(name, DoctorWarn, wrong, "unset "+name)
	default:
		e.add(name, DoctorNote, found+u.Scheme+"://"+u.Host, "")
	}
}

// The screen has room for everything it shows from this size on.
const roomyWidth, roomyHeight = 80, 24

func (e *examination) checkTerminal() {
	t, term, stream := e.Terminal, e.Getenv("TERM"), "stdin"
	if t.Stdin {
		stream = "stdout"
	}
	shown := fmt.Sprintf("%s, %d×%d", term, t.Width, t.Height)
	e.first("screen",
		ruling{!t.Stdin || !t.Stdout, DoctorNote,
			stream + " is not a terminal: there is no screen here, but --plain and --json", ""},
		ruling{term == "" || term == "dumb", DoctorWarn,
			"TERM=" + words.Quote(term) + " says that the cursor cannot be placed", "export TERM=xterm-256color"},
		ruling{t.Width > 0 && (t.Width < roomyWidth || t.Height < roomyHeight), DoctorNote,
			fmt.Sprintf("%s: smaller than %d×%d, some of it is left out", shown, roomyWidth, roomyHeight), ""},
		ruling{true, DoctorOK, shown, ""})
	e.first("characters", ruling{t.UTF8, DoctorOK, "UTF-8", ""},
		ruling{true, DoctorWarn, "the locale is not UTF-8: everything is drawn in ASCII", "export LC_ALL=C.UTF-8"})
	if !t.Stdin || !t.Stdout {
		return
	}
	// Copying and bells use escape sequences of the terminal.
	const tmux = "tmux set-option -s set-clipboard on"
	inside := e.Getenv("TMUX") != ""
	e.first("clipboard",
		ruling{inside && t.Clipboard == "on", DoctorOK, "OSC 52, through tmux", ""},
		ruling{inside && t.Clipboard == "", DoctorWarn, "tmux does not say whether it lets copying through", tmux},
		ruling{inside, DoctorWarn, "tmux keeps copied text to itself (set-clipboard " + t.Clipboard + ")", tmux},
		ruling{e.Getenv("STY") != "", DoctorWarn, "screen passes on neither copied text nor notifications",
			"tmux new-session arbiter"},
		ruling{true, DoctorOK, "OSC 52, where the terminal allows it", ""})
}

func (e *examination) checkSettings() {
	c := e.Settings
	e.first("configuration",
		ruling{c.Problem != "", DoctorFail, c.Problem, "arbiter schema config"},
		ruling{c.Skipped != "", DoctorNote, "was not read: " + c.Skipped, ""},
		ruling{len(c.Files) == 0, DoctorOK, "no file; flags and variables alone", ""},
		ruling{true, DoctorOK, strings.Join(c.Files, ", "), ""})
	if c.Problem == "" && c.Skipped != "" {
		return
	}
	if len(c.Hosts) > 0 {
		e.add("hosts", DoctorNote, "configured, not looked at: "+strings.Join(c.Hosts, ", "),
			"arbiter hosts check "+c.Hosts[0])
	}
	for _, m := range c.Makes {
		e.first("make "+m.Name,
			ruling{m.Problem != "", DoctorWarn, m.Problem, "correct makes." + m.Name + " in the configuration"},
			ruling{m.Version == "", DoctorNote, "its program is there; it was not started", "arbiter doctor"},
			ruling{true, DoctorOK, m.Version + "; lacks: " + strings.Join(m.Lacks, "; "), ""})
	}
	if c.Templates != "" {
		e.add("templates", DoctorFail, c.Templates, "arbiter decide --template select.md")
	}
	for _, problem := range c.Agents {
		e.add("agents", DoctorWarn, problem, "arbiter agents check")
	}
}

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// LookAtLimits reads the limits of this process and of the system.
func LookAtLimits() (have []int64) {
	for _, x := range limits {
		have = append(have, x.have())
	}
	return have
}

// limit returns a soft limit; -1: none.
func limit(resource int) int64 {
	var r unix.Rlimit
	if unix.Getrlimit(resource, &r) != nil || r.Cur > math.MaxInt64/2 {
		return -1
	}
	return int64(r.Cur)
}

// ability is one feature of the CLI that the bridge relies on.
type ability struct {
	name string
	can  string // what the CLI does
	// without is the consequence if the CLI lacks the ability, and state is how bad that is.
	without string
	state   DoctorState
}

// abilities in the order in which they are reported.
var abilities = []ability{
	{"session", "a session speaks stream-json, and answers initialize", "no agent can be started", DoctorFail},
	{"delivery", "it confirms that it received a message", "messages could be lost, or arrive twice", DoctorFail},
	{"stream", "text arrives while it is written", "the text of an agent is not visible before its turn ends",
		DoctorWarn},
	{"hooks", "it asks before every tool call (PreToolUse, by callback)",
		"arbiter's rules could not be enforced", DoctorFail},
	{"denials", "a denied call does not run", "arbiter's rules could not be enforced", DoctorFail},
	{"permissions", "a call that needs a permission waits for it (can_use_tool)",
		"nobody could be asked for a permission", DoctorFail},
	{"tools", "it calls tools of arbiter (MCP, in arbiter's process)", "the Arbiter could not summon Orchestrators",
		DoctorFail},
	{"steering", "a message during a turn reaches the model in that turn",
		"it is read with the next message only", DoctorWarn},
	{"ping", "it answers during a turn", "a session that hangs is noticed late", DoctorWarn},
	{"warnings", "the model learns during a turn how full its context is (PostToolUse)",
		"agents would not hand off in time", DoctorFail},
	{"context", "each answer says how full the context is", "agents would not hand off in time", DoctorFail},
	{"context usage", "it says how full its context is (get_context_usage)",
		"the effective context window is not known", DoctorWarn},
	{"subagents", "subagents are reported, and waited for", "their work is not visible", DoctorWarn},
	{"verdicts", "a turn ends in a verdict (JSON Schema)", "no result could be passed on", DoctorFail},
	{"transcripts", "the transcript is in the expected place", "after a crash nothing would be known about a session",
		DoctorFail},
	{"interrupts", "an interrupt ends the turn, not the session", "an agent could be stopped only by ending it",
		DoctorFail},
	{"side questions", "a side question is answered outside the history", "/ask is not available", DoctorWarn},
	{"ending", "it exits cleanly, and leaves no process", "processes that it leaves are killed", DoctorWarn},
	{"resume", "a session is resumed with its history", "no run could be resumed", DoctorFail},
	{"delivery status", "the transcript shows whether a message was delivered",
		"after a crash a message may arrive twice", DoctorWarn},
	{"plain text", "a message that begins with / is text", "text of agents would run as commands", DoctorFail},
	{"queries", "one question is answered without a session", "--decider stateless and hybrid are not available",
		DoctorWarn},
	{"frames", "it sends no frame that arbiter does not know", "arbiter ignores them", DoctorNote},
}

// Observed is the result of a trial: by ability, nil or why it was not seen. A missing ability was not tried.
type Observed map[string]error

// longer is the command that gives a trial more time.
const longer = "arbiter doctor --trial-timeout 2m"

// errLate says that there was not enough time to try an ability.
var errLate = errors.New("there was no time for it")

// checkAbilities judges what a trial has observed.
func (e *examination) checkAbilities() {
	if e.Seen == nil {
		return
	}
	fix := npmInstall + "@" + e.Tested
	for i, a := range abilities {
		err, tried := e.Seen[a.name]
		switch {
		case !tried:
			e.add(a.name, DoctorNote, "was not tried: "+a.can, "")
		case err == nil:
			e.add(a.name, DoctorOK, a.can, "")
		case i == 0 && errors.Is(err, errLate):
			e.add(a.name, DoctorWarn, "not known: "+err.Error(), longer)
			return
		case i == 0:
			e.add(a.name, a.state, fmt.Sprintf("%v; the others were not tried", err), fix)
			return
		case errors.Is(err, errLate):
			e.add(a.name, DoctorWarn, "not known, "+err.Error()+": "+a.can, longer)
		default:
			e.add(a.name, a.state, fmt.Sprintf("cannot be relied on (%v): %s", err, a.without), fix)
		}
	}
}

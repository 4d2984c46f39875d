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
	"github.com/arbiter-cli/arbiter/sanitize"
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

// areas are in the order of the report, each with the function that checks it. (A trial checks the abilities.)
var areas = []struct {
	name  string
	check func(Surroundings) []Finding
}{
	{AreaClaude, checkClaude}, {AreaAbilities, nil}, {AreaEnvironment, checkEnvironment}, {AreaSettings, checkSettings},
	{AreaPlaces, checkPlaces},
	{AreaTerminal, checkTerminal}, {AreaMachine, checkMachine}, {AreaLeftovers, checkLeftovers},
}

// DoctorReport has all findings, in the form of `arbiter doctor --json`.
type DoctorReport struct {
	Arbiter  string              `json:"arbiter"` // version
	State    DoctorState         `json:"state"`   // the worst of all
	Counts   map[DoctorState]int `json:"counts"`
	Findings []Finding           `json:"findings"`
}

// NewReport summarizes findings and groups them by area.
func NewReport(version string, findings []Finding) DoctorReport {
	r := DoctorReport{
		Arbiter:  version,
		State:    DoctorOK,
		Counts:   map[DoctorState]int{DoctorOK: 0, DoctorNote: 0, DoctorWarn: 0, DoctorFail: 0},
		Findings: []Finding{},
	}
	for _, area := range areas {
		for _, f := range findings {
			if f.Area != area.name {
				continue
			}
			r.Findings = append(r.Findings, f)
			if r.Counts[f.State]++; weight[f.State] > weight[r.State] {
				r.State = f.State
			}
		}
	}
	return r
}

var weight = map[DoctorState]int{DoctorOK: 0, DoctorNote: 1, DoctorWarn: 2, DoctorFail: 3}

// list collects the findings of one area.
type list struct {
	area string
	all  []Finding
}

func (l *list) add(name string, state DoctorState, found, fix string) {
	l.all = append(l.all, Finding{Area: l.area, Name: name, State: state, Found: found, Fix: fix})
}

// DoctorStyle is how a report is printed for a person.
type DoctorStyle struct {
	ASCII  bool
	Colour bool
}

// maxLine bounds found and fixes; only an unusually long path exceeds it.
const maxLine = 1000

var (
	signs = map[DoctorState][2]string{
		DoctorOK:   {"✓", "+"},
		DoctorNote: {"·", "-"},
		DoctorWarn: {"!", "!"},
		DoctorFail: {"✗", "x"},
	}
	// colours are from the terminal's own palette, so that they fit its background.
	colours = map[DoctorState]string{DoctorOK: "32", DoctorNote: "36", DoctorWarn: "33", DoctorFail: "31"}
)

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
	fmt.Fprintf(&b, "\n%s %s\n", s.sign(over), r.verdict())
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

// verdict returns the last line.
func (r DoctorReport) verdict() string {
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
	if s.ASCII {
		return s.painted(colours[state], signs[state][1])
	}
	return s.painted(colours[state], signs[state][0])
}

func (s DoctorStyle) painted(colour, text string) string {
	if !s.Colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func checkLeftovers(s Surroundings) []Finding {
	l := list{area: AreaLeftovers}
	o := s.Leftovers
	if o.Problem != "" {
		l.add("runs", DoctorNote, "were not looked for: "+o.Problem, "")
	} else {
		l.add("runs", DoctorOK, fmt.Sprintf("%s, %s; %d live", words.Count(o.Runs, "run"), words.Size(o.Bytes),
			len(o.Live)), "")
	}
	for _, run := range o.Damaged {
		l.add("damaged", DoctorWarn, "run "+run.ID+": "+run.Problem, "arbiter sessions show "+run.ID+o.Named)
	}
	for _, run := range shown(o.Resumable) {
		l.add("interrupted", DoctorNote, "run "+run.ID+" in "+run.Dir, "arbiter --resume --session "+run.ID+o.NamedToResume)
	}
	if n := len(o.Resumable) - len(shown(o.Resumable)); n > 0 {
		l.add("interrupted", DoctorNote, "and "+words.Count(n, "more run"), "arbiter sessions"+o.Named)
	}
	for _, run := range shown(o.Worktrees) {
		l.add("worktrees", DoctorNote, "of agents of run "+run.ID+" in "+run.Dir+"; removing the run saves their work first",
			"arbiter sessions rm "+run.ID+o.Named)
	}
	if len(o.Processes) > 0 {
		var names, pids []string
		for _, p := range o.Processes {
			names, pids = append(names, fmt.Sprintf("%s (%d)", p.Name, p.PID)), append(pids, strconv.Itoa(p.PID))
		}
		l.add("processes", DoctorWarn, "still run after the end of their run; the next run ends them: "+
			strings.Join(names, ", "),
			"kill -KILL "+strings.Join(pids, " "))
	}
	l.scratch(o.Scratch)
	return l.all
}

// shown returns the runs that are reported one by one.
func shown(runs []DoctorRun) []DoctorRun { return runs[:min(len(runs), 3)] }

// maxPaths bounds the number of paths in one command, so that the command is printed completely.
const maxPaths = 10

// scratch reports scratch directories, grouped by kind.
func (l *list) scratch(all []DoctorScratch) {
	var kinds []string
	paths := map[string][]string{}
	for _, s := range all {
		if paths[s.What] == nil {
			kinds = append(kinds, s.What)
		}
		paths[s.What] = append(paths[s.What], s.Path)
	}
	for _, kind := range kinds {
		found, some := fmt.Sprintf("%d %s", len(paths[kind]), kind), paths[kind]
		if len(some) > maxPaths {
			some = some[:maxPaths]
			found += fmt.Sprintf("; this removes %d of them", maxPaths)
		}
		l.add("scratch directories", DoctorNote, found, "rm -rf "+quoted(some))
	}
}

// Surroundings has the observations about this machine, as plain data.
type Surroundings struct {
	OS     string // as in runtime.GOOS
	UID    int
	Getenv func(string) string
	// Unknown are the variables of the environment that look like settings, and are none.
	Unknown []string

	Claude    DoctorClaude
	Terminal  DoctorTerminal
	Settings  DoctorSettings
	State     DoctorPlace // where runs are kept
	Config    DoctorPlace // arbiter's own configuration
	Sessions  DoctorPlace // Claude's, where transcripts are written
	Temp      DoctorPlace
	Workspace DoctorWorkspace
	Limits    DoctorLimits
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
	Home       bool // it is the home directory or above it
	Repository bool // of git
	Trust      string
	Changed    string // what has changed since it was trusted
	Holds      string // settings that it has and that are not trusted
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

// DoctorLimits are the limits of this process and of the system; -1: none or unknown.
type DoctorLimits struct {
	Watches, Instances int64 // of inotify, for a user
	Files, Processes   int64
	FileSize           int64
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
	Runs      int
	Bytes     int64
	Live      []DoctorRun
	Resumable []DoctorRun
	Damaged   []DoctorRun
	Worktrees []DoctorRun // with worktrees of agents left
	Processes []proctree.Process
	Scratch   []DoctorScratch
	// Named is the flag, with a leading space, that makes a command use the state directory of these runs.
	// NamedToResume is the same for arbiter itself, which reads the configuration. Empty: no flag is needed.
	Named, NamedToResume string
}

// DoctorRun is a run of the state directory.
type DoctorRun struct {
	ID      string // short
	Dir     string
	Problem string
}

// DoctorScratch is a scratch directory among the temporary files.
type DoctorScratch struct {
	Path string
	What string // such as "workspace of a rehearsal"
}

// Examine judges the surroundings.
func Examine(s Surroundings) []Finding {
	var all []Finding
	for _, area := range areas {
		if area.check != nil {
			all = append(all, area.check(s)...)
		}
	}
	return all
}

// npmInstall is the command that installs Claude Code on PATH.
const npmInstall = "npm install -g @anthropic-ai/claude-code"

func checkClaude(s Surroundings) []Finding {
	l := list{area: AreaClaude}
	c := s.Claude
	switch {
	case c.Missing && c.Named != "" && len(c.Elsewhere) > 0:
		l.add("claude", DoctorFail, c.Problem, "export ARBITER_CLAUDE="+words.Quote(c.Elsewhere[0]))
		return l.all
	case c.Missing && len(c.Elsewhere) > 0:
		l.add("claude", DoctorFail, "it is not on PATH, but is installed in "+c.Elsewhere[0],
			"export ARBITER_CLAUDE="+words.Quote(c.Elsewhere[0]))
		return l.all
	case c.Missing:
		l.add("claude", DoctorFail, c.Problem, npmInstall)
		return l.all
	case c.Problem != "":
		l.add("claude", DoctorFail, c.Problem, npmInstall+"@latest")
		return l.all
	}
	found := fmt.Sprintf("%s (%s)", c.Version, c.Path)
	switch {
	case c.StandIn:
		l.add("claude", DoctorNote, found+": a stand-in, which plays rehearsals only", npmInstall)
	case claude.Untested(c.Version) != "":
		l.add("claude", DoctorNote, claude.Untested(c.Version), "")
	default:
		l.add("claude", DoctorOK, found, "")
	}
	if len(c.Shadowed) > 0 {
		l.add("others", DoctorNote, "also on PATH, and not used: "+strings.Join(c.Shadowed, ", "), "")
	}
	in, name := c.Login, "claude"
	if c.Named != "" {
		name = words.Quote(c.Path)
	}
	switch {
	case c.StandIn: // it has none
	case in.Known && in.LoggedIn:
		who := in.Method
		if in.Email != "" {
			who += " (" + in.Email + ")"
		}
		l.add("login", DoctorOK, who, "")
	case in.Known:
		l.add("login", DoctorFail, "claude is not logged in", name+" auth login")
	case len(c.Hints) > 0:
		l.add("login", DoctorNote, "claude does not say; there is "+strings.Join(c.Hints, ", "), "")
	default:
		l.add("login", DoctorWarn, "claude does not say, and there is neither a key nor a login to be seen",
			name+" auth login")
	}
	return l.all
}

func quoted(paths []string) string {
	var list []string
	for _, w := range paths {
		list = append(list, words.Quote(w))
	}
	return strings.Join(list, " ")
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

func checkPlaces(s Surroundings) []Finding {
	l := list{area: AreaPlaces}
	l.state(s)
	l.other("configuration", s.Config)
	l.other("sessions", s.Sessions)
	l.other("temporary", s.Temp)
	l.workspace(s)
	return l.all
}

// state checks the state directory, without which no run can start.
func (l *list) state(s Surroundings) {
	const name = "state"
	p := s.State
	at := words.Quote(p.Path)
	switch {
	case p.Problem != "":
		l.add(name, DoctorFail, p.Problem, `export ARBITER_STATE_DIR=/var/tmp/arbiter-"$(id -un)"`)
	case p.Link:
		l.add(name, DoctorFail, p.Path+" is a symbolic link, which is refused", "export ARBITER_STATE_DIR=\"$(readlink -f "+
			at+")\"")
	case p.Exists && p.Owner != s.UID:
		l.add(name, DoctorFail, fmt.Sprintf("%s belongs to another user (%d), and is refused", p.Path, p.Owner),
			"sudo chown -R \"$(id -u)\" "+at)
	case p.Exists && p.Mode&0o700 != 0o700:
		l.add(name, DoctorFail, fmt.Sprintf("%s has mode %04o: you cannot use it yourself", p.Path, p.Mode), "chmod 700 "+at)
	case p.Written != "":
		l.add(name, DoctorFail, p.Written, "export ARBITER_STATE_DIR=/var/tmp/arbiter-\"$(id -un)\"")
	case p.Free >= 0 && p.Free < noFree:
		l.add(name, DoctorFail, p.Path+" has only "+words.Size(p.Free)+" left", "arbiter sessions"+s.Leftovers.Named)
	case p.Exists && p.Mode&0o077 != 0:
		l.add(name, DoctorWarn, fmt.Sprintf("%s has mode %04o: others can read it until the next run", p.Path, p.Mode),
			"chmod 700 "+at)
	case p.Network != "":
		l.add(name, DoctorWarn, fmt.Sprintf("%s is on a network (%s), where locks and fsync may not work", p.Path, p.Network),
			`export ARBITER_STATE_DIR=/var/tmp/arbiter-"$(id -un)"`)
	case p.Free >= 0 && p.Free < littleFree:
		l.add(name, DoctorWarn, p.Path+" has "+words.Size(p.Free)+" left", "arbiter sessions"+s.Leftovers.Named)
	case p.Synced > slowSync:
		l.add(name, DoctorWarn, fmt.Sprintf("%s takes %s to sync a line, and arbiter waits for each", p.Path,
			p.Synced.Round(time.Millisecond)), "")
	case !p.Exists:
		l.add(name, DoctorOK, p.Path+", which the first run creates"+p.freeSpace(), "")
	default:
		l.add(name, DoctorOK, p.Path+p.freeSpace(), "")
	}
}

// other checks directories that a run can start without.
func (l *list) other(name string, p DoctorPlace) {
	at := words.Quote(p.Path)
	switch {
	case p.Problem != "":
		l.add(name, DoctorWarn, p.Problem, "")
	case p.Written != "":
		l.add(name, DoctorWarn, p.Written, "ls -ld "+at)
	case p.Free >= 0 && p.Free < noFree:
		l.add(name, DoctorWarn, p.Path+" has only "+words.Size(p.Free)+" left", "df -h "+at)
	case name == "configuration" && p.Exists && p.Mode&0o022 != 0:
		l.add(name, DoctorWarn, fmt.Sprintf("%s has mode %04o: others can change your settings", p.Path, p.Mode),
			"chmod go-w "+at)
	case !p.Exists:
		l.add(name, DoctorOK, p.Path+", which does not exist yet", "")
	default:
		l.add(name, DoctorOK, p.Path+p.freeSpace(), "")
	}
}

func (l *list) workspace(s Surroundings) {
	w := s.Workspace
	at := words.Quote(w.Path)
	switch {
	case w.Problem != "":
		l.add("workspace", DoctorFail, w.Problem, "mkdir -p ~/project && cd ~/project")
		return
	case w.Home:
		l.add("workspace", DoctorWarn, w.Path+" holds all that you have: let agents work in one project",
			"mkdir -p ~/project && cd ~/project")
	case w.Written != "":
		l.add("workspace", DoctorWarn, w.Written, "ls -ld "+at)
	case !w.Repository:
		l.add("workspace", DoctorNote, w.Path+" is in no git repository: what agents change there cannot be reverted",
			"git init "+at)
	default:
		l.add("workspace", DoctorOK, w.Path+", in a git repository"+w.freeSpace(), "")
	}
	switch {
	case w.Changed != "":
		l.add("trust", DoctorWarn, w.Changed, "arbiter trust")
	case w.Trust != "":
		l.add("trust", DoctorOK, w.Trust, "")
	case w.Holds != "":
		l.add("trust", DoctorNote, "not trusted, and not loaded: "+w.Holds, "arbiter trust")
	default:
		l.add("trust", DoctorOK, "nothing there needs trust", "")
	}
}

func (p DoctorPlace) freeSpace() string {
	if p.Free < 0 {
		return ""
	}
	return ", " + words.Size(p.Free) + " free"
}

// LookAt inspects a directory. If it does not exist, LookAt inspects the nearest existing directory above it.
func LookAt(path string) DoctorPlace {
	p, at := look(path)
	if p.Problem == "" {
		p.refused(at, mayWrite(at))
	}
	return p
}

// Prove does the same as LookAt, and also writes a file, syncs it and removes it.
func Prove(path string) DoctorPlace {
	p, at := look(path)
	if p.Problem == "" {
		var err error
		p.Synced, err = writeDoctor(at)
		p.refused(at, err)
	}
	return p
}

func look(path string) (p DoctorPlace, at string) {
	p = DoctorPlace{Path: path, Owner: -1, Free: -1}
	link, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		p.Problem = err.Error()
		return p, ""
	default:
		p.Link = link.Mode()&fs.ModeSymlink != 0
		info, err := os.Stat(path)
		if err != nil {
			p.Problem = err.Error()
			return p, ""
		}
		if !info.IsDir() {
			p.Problem = path + " exists and is not a directory"
			return p, ""
		}
		p.Exists, p.Mode, p.Owner = true, uint32(info.Mode().Perm()), owner(info)
	}
	at = path
	for !isDir(at) && at != filepath.Dir(at) {
		at = filepath.Dir(at)
	}
	p.Free, p.Network = fileSystem(at)
	return p, at
}

// refused stores why nothing can be written.
func (p *DoctorPlace) refused(at string, err error) {
	switch {
	case err == nil:
	case p.Exists:
		p.Written = fmt.Sprintf("%s cannot be written to: %v", at, cause(err))
	default:
		p.Written = fmt.Sprintf("%s cannot be created: %v", p.Path, cause(err))
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
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

// cause returns the error without the name of a temporary file.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// kinds are the scratch directories by name prefix, with a description.
var kinds = []struct{ prefix, what string }{
	{"arbiter-rehearsal-", "of rehearsals whose runs are gone"},
	{"arbiter-home-", "homes of rehearsals that were killed"},
	{"arbiter-hook-", "for sockets of runs that were killed"},
	{"arbiter-doctor-", "of examinations that were killed"},
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
			if i < 0 || !e.IsDir() || slices.ContainsFunc(used, func(u string) bool { return within(u, path) }) {
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

func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// listens reports whether a process listens on a socket directly in a directory.
func listens(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Type() == fs.ModeSocket && answers(filepath.Join(dir, e.Name()))
	})
}

func answers(socket string) bool {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// The minimum limits for a run with several agents.
const (
	fewWatches   = 8192
	fewInstances = 64
	fewFiles     = 1024
	fewProcesses = 512
	smallFile    = 1 << 30
)

func checkMachine(s Surroundings) []Finding {
	l := list{area: AreaMachine}
	l.limits(s.Limits)
	switch {
	case s.Isolation.Kind != proctree.NoNamespace:
		l.add("processes", DoctorOK, "agents run in a PID namespace: the kernel ends processes that arbiter cannot end", "")
	case s.OS != "linux":
		l.add("processes", DoctorNote, "there are no PID namespaces on this system; escaped processes are found by "+
			"their environment", "")
	default:
		l.add("processes", DoctorNote, "agents do not run in a PID namespace: "+s.Isolation.Why,
			"arbiter --pid-namespace always")
	}
	l.sandbox(s)
	return l.all
}

func (l *list) limits(n DoctorLimits) {
	low := false
	for _, x := range []struct {
		name        string
		have, least int64
		means, fix  string
	}{
		{"inotify", n.Watches, fewWatches, "%d watches for a user: transcripts may be noticed late",
			"sudo sysctl fs.inotify.max_user_watches=524288"},
		{"inotify", n.Instances, fewInstances, "%d instances for a user: transcripts may be noticed late",
			"sudo sysctl fs.inotify.max_user_instances=512"},
		{"open files", n.Files, fewFiles, "%d for a process: a run of many agents needs more", "ulimit -n 4096"},
		{"user processes", n.Processes, fewProcesses, "%d: agents, their tools and builds need more",
			"ulimit -u 4096"},
		{"file size", n.FileSize, smallFile, "%d bytes at most: journals and transcripts are cut off there",
			"ulimit -f unlimited"},
	} {
		if x.have >= 0 && x.have < x.least {
			low = true
			l.add(x.name, DoctorWarn, fmt.Sprintf(x.means, x.have), x.fix)
		}
	}
	if !low {
		l.add("limits", DoctorOK, "enough files, processes and watches", "")
	}
}

func (l *list) sandbox(s Surroundings) {
	b := s.Sandbox
	state, without := DoctorNote, "; agents run unconfined"
	if b.Mode == "on" {
		state, without = DoctorFail, ", and it is asked for"
	}
	switch {
	case b.Holds && b.Mode == "off":
		l.add("sandbox", DoctorOK, "bubblewrap "+b.Version+" holds (--sandbox on)", "")
	case b.Holds:
		l.add("sandbox", DoctorOK, "bubblewrap "+b.Version+" holds: "+b.Confines, "")
	case s.OS != "linux":
		l.add("sandbox", state, b.Reason, "")
	case !b.Installed:
		l.add("sandbox", state, "bubblewrap is not installed"+without, "sudo apt-get install bubblewrap")
	case s.Sandbox.Restricted:
		l.add("sandbox", state, b.Reason, "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0")
	default:
		l.add("sandbox", state, b.Reason, "")
	}
}

// proxies includes the lower case names, which take precedence.
var proxies = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}

func checkEnvironment(s Surroundings) []Finding {
	l := list{area: AreaEnvironment}
	if s.Getenv("HOME") == "" {
		l.add("HOME", DoctorWarn, "is not set: neither a login nor a configuration can be found",
			`export HOME="$(cd ~ && pwd)"`)
	}
	l.requests(s)
	if s.Getenv("CLAUDE_CODE_SHELL_PREFIX") != "" {
		l.add("CLAUDE_CODE_SHELL_PREFIX", DoctorWarn,
			"is set by you and stays: keys are not kept out of the environment of shell commands",
			"unset CLAUDE_CODE_SHELL_PREFIX")
	}
	if dir := s.Getenv("CLAUDE_CONFIG_DIR"); dir != "" && !filepath.IsAbs(dir) {
		l.add("CLAUDE_CONFIG_DIR", DoctorWarn, words.Quote(dir)+" is another directory in each workspace",
			`export CLAUDE_CONFIG_DIR="$HOME/.claude"`)
	}
	for _, name := range s.Unknown {
		l.add(name, DoctorWarn, "no setting has this name: no run starts", "unset "+words.Quote(name))
	}
	if s.UID == 0 {
		l.add("root", DoctorNote, "agents run as root; --permissions allow-all needs --sandbox on", "")
	}
	if len(l.all) == 0 {
		l.add("variables", DoctorOK, "nothing wrong with them", "")
	}
	return l.all
}

// requests checks where the model's requests go, and who pays for them.
func (l *list) requests(s Surroundings) {
	l.url(s, "ANTHROPIC_BASE_URL", "requests go to ", "is not a URL")
	switch key, token := s.Getenv("ANTHROPIC_API_KEY") != "", s.Getenv("ANTHROPIC_AUTH_TOKEN") != ""; {
	case key && token:
		l.add("ANTHROPIC_API_KEY", DoctorWarn, "and ANTHROPIC_AUTH_TOKEN are both set: it is not clear who pays",
			"unset ANTHROPIC_API_KEY")
	case key:
		l.add("ANTHROPIC_API_KEY", DoctorNote, "is set: requests are billed to this key, even with a subscription", "")
	}
	for _, name := range proxies {
		l.url(s, name, "requests go by ", "is not a URL such as http://proxy:3128")
	}
}

// url checks a variable with a URL. It names only scheme and host; other parts could be secret.
func (l *list) url(s Surroundings, name, found, wrong string) {
	text := s.Getenv(name)
	u, err := url.Parse(text)
	switch {
	case text == "":
	case err != nil || u.Host == "" || u.Scheme == "":
		l.add(name, DoctorWarn, wrong, "unset "+name)
	default:
		l.add(name, DoctorNote, found+u.Scheme+"://"+u.Host, "")
	}
}

// The screen has room for everything it shows from this size on.
const roomyWidth, roomyHeight = 80, 24

func checkTerminal(s Surroundings) []Finding {
	l := list{area: AreaTerminal}
	t, term := s.Terminal, s.Getenv("TERM")
	switch {
	case !t.Stdin || !t.Stdout:
		stream := "stdin"
		if t.Stdin {
			stream = "stdout"
		}
		l.add("screen", DoctorNote, stream+" is not a terminal: there is no screen here, but --plain and --json", "")
	case term == "" || term == "dumb":
		l.add("screen", DoctorWarn, fmt.Sprintf("TERM=%s says that the cursor cannot be placed", words.Quote(term)),
			"export TERM=xterm-256color")
	case t.Width > 0 && (t.Width < roomyWidth || t.Height < roomyHeight):
		l.add("screen", DoctorNote, fmt.Sprintf("%s, %d×%d: smaller than %d×%d, some of it is left out", term, t.Width,
			t.Height, roomyWidth, roomyHeight), "")
	default:
		l.add("screen", DoctorOK, fmt.Sprintf("%s, %d×%d", term, t.Width, t.Height), "")
	}
	if t.UTF8 {
		l.add("characters", DoctorOK, "UTF-8", "")
	} else {
		l.add("characters", DoctorWarn, "the locale is not UTF-8: everything is drawn in ASCII", "export LC_ALL=C.UTF-8")
	}
	if !t.Stdin || !t.Stdout {
		return l.all
	}
	l.clipboard(s)
	return l.all
}

// clipboard checks copying and bells, which use escape sequences of the terminal.
func (l *list) clipboard(s Surroundings) {
	switch {
	case s.Getenv("TMUX") != "" && s.Terminal.Clipboard != "on":
		found := "tmux does not say whether it lets copying through"
		if s.Terminal.Clipboard != "" {
			found = "tmux keeps copied text to itself (set-clipboard " + s.Terminal.Clipboard + ")"
		}
		l.add("clipboard", DoctorWarn, found, "tmux set-option -s set-clipboard on")
	case s.Getenv("TMUX") != "":
		l.add("clipboard", DoctorOK, "OSC 52, through tmux", "")
	case s.Getenv("STY") != "":
		l.add("clipboard", DoctorWarn, "screen passes on neither copied text nor notifications", "tmux new-session arbiter")
	default:
		l.add("clipboard", DoctorOK, "OSC 52, where the terminal allows it", "")
	}
}

func checkSettings(s Surroundings) []Finding {
	l := list{area: AreaSettings}
	c := s.Settings
	switch {
	case c.Problem != "":
		l.add("configuration", DoctorFail, c.Problem, "arbiter schema config")
	case c.Skipped != "":
		l.add("configuration", DoctorNote, "was not read: "+c.Skipped, "")
		return l.all
	case len(c.Files) == 0:
		l.add("configuration", DoctorOK, "no file; flags and variables alone", "")
	default:
		l.add("configuration", DoctorOK, strings.Join(c.Files, ", "), "")
	}
	if len(c.Hosts) > 0 {
		l.add(
			"hosts",
			DoctorNote,
			"configured, not looked at: "+strings.Join(c.Hosts, ", "),
			"arbiter hosts check "+c.Hosts[0],
		)
	}
	for _, m := range c.Makes {
		switch {
		case m.Problem != "":
			l.add("make "+m.Name, DoctorWarn, m.Problem, "correct makes."+m.Name+" in the configuration")
		case m.Version == "":
			l.add("make "+m.Name, DoctorNote, "its program is there; it was not started", "arbiter doctor")
		default:
			l.add("make "+m.Name, DoctorOK, m.Version+"; lacks: "+strings.Join(m.Lacks, "; "), "")
		}
	}
	if c.Templates != "" {
		l.add("templates", DoctorFail, c.Templates, "arbiter decide --template select.md")
	}
	for _, problem := range c.Agents {
		l.add("agents", DoctorWarn, problem, "arbiter agents check")
	}
	return l.all
}

func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return -1
}

// mayWrite returns why nothing can be created in a directory.
func mayWrite(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// LookAtLimits reads the limits of this process and of the system.
func LookAtLimits() DoctorLimits {
	l := DoctorLimits{Files: limit(unix.RLIMIT_NOFILE), Processes: limit(unix.RLIMIT_NPROC),
		FileSize: limit(unix.RLIMIT_FSIZE)}
	l.Watches, l.Instances = inotify()
	return l
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
	{
		"stream",
		"text arrives while it is written",
		"the text of an agent is not visible before its turn ends",
		DoctorWarn,
	},
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
	{
		"queries",
		"one question is answered without a session",
		"--decider stateless and hybrid are not available",
		DoctorWarn,
	},
	{"frames", "it sends no frame that arbiter does not know", "arbiter ignores them", DoctorNote},
}

// Observed is the result of a trial: by ability, nil or why it was not seen. A missing ability was not tried.
type Observed map[string]error

// longer is the command that gives a trial more time.
const longer = "arbiter doctor --trial-timeout 2m"

// errLate says that there was not enough time to try an ability.
var errLate = errors.New("there was no time for it")

// Abilities judges what was observed. tested is the version to fall back to.
func Abilities(o Observed, tested string) []Finding {
	l := list{area: AreaAbilities}
	if err := o["session"]; err != nil {
		a := abilities[0]
		if errors.Is(err, errLate) {
			l.add(a.name, DoctorWarn, "not known: "+err.Error(), longer)
			return l.all
		}
		l.add(a.name, a.state, fmt.Sprintf("%v; the others were not tried", err), npmInstall+"@"+tested)
		return l.all
	}
	for _, a := range abilities {
		err, tried := o[a.name]
		switch {
		case !tried:
			l.add(a.name, DoctorNote, "was not tried: "+a.can, "")
		case err == nil:
			l.add(a.name, DoctorOK, a.can, "")
		case errors.Is(err, errLate):
			l.add(a.name, DoctorWarn, "not known, "+err.Error()+": "+a.can, longer)
		default:
			l.add(a.name, a.state, fmt.Sprintf("cannot be relied on (%v): %s", err, a.without), npmInstall+"@"+tested)
		}
	}
	return l.all
}

// Unstarted returns the observations for a bridge that could not be started.
func Unstarted(why error) Observed { return Observed{"session": why} }

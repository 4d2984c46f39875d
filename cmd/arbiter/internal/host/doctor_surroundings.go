package host

import (
	"time"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
)

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

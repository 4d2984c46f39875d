package doctor

import "time"

// Surroundings is what was found where arbiter stands. All of it is data.
type Surroundings struct {
	OS  string // as in runtime.GOOS
	UID int
	// Getenv and Names are the environment.
	Getenv func(string) string
	Names  []string
	// Variables are those of arbiter's own that mean something.
	Variables []string

	Claude    Claude
	Login     Login
	Terminal  Terminal
	Settings  Settings
	State     Place // where runs are kept
	Config    Place // arbiter's own configuration
	Sessions  Place // Claude's, where transcripts are written
	Temp      Place
	Workspace Workspace
	Limits    Limits
	Isolation Isolation
	Sandbox   Sandbox
	Leftovers Leftovers
}

// Claude is the CLI as it was found.
type Claude struct {
	Named    string // by a flag, a variable or the configuration; empty: claude on PATH
	Path     string
	Version  string
	Untested string // what there is to report about the version; empty: it is tested
	StandIn  bool
	Missing  bool   // there is none
	Problem  string // why it cannot be driven
	// Shadowed are others on PATH, Elsewhere those beside it. Links are resolved.
	Shadowed, Elsewhere []string
}

// Login is what the CLI says of who it works for.
type Login struct {
	Asked  bool // there is a CLI to be asked
	Known  bool // it answered
	In     bool
	Method string
	Email  string
	Hints  []string // names of files and variables that a login would come from
}

// Terminal is what this process is connected to.
type Terminal struct {
	Stdin, Stdout bool // are terminals
	Width, Height int  // 0: not known
	UTF8          bool // the locale is
	// Clipboard is tmux's option set-clipboard; empty outside of it, or where it does
	// not tell.
	Clipboard string
}

// Settings is what reading the configuration came to.
type Settings struct {
	Files   []string // that were read
	Problem string   // in flags, variables or files
	Agents  []string // what is wrong with agent files
	Hosts   []string // machines besides this one that are configured
	// Templates is what is wrong with a prompt template.
	Templates string
	// Skipped says why the rest was not looked at.
	Skipped string
}

// Workspace is the directory a run would work in.
type Workspace struct {
	Place
	Home       bool // it is the home, or above it
	Repository bool // of git
	Trust      string
	Changed    string // since it was trusted
	Holds      string // settings that are there and not trusted
}

// Place is a directory.
type Place struct {
	Path    string
	Problem string // why there is none; nothing else counts then
	Exists  bool
	Mode    uint32 // permission bits
	Owner   int
	Link    bool
	// Written says why nothing can be written there, or nothing be made durable; of a
	// directory that does not exist yet, in the nearest that does.
	Written string
	Synced  time.Duration // how long that took
	Free    int64         // bytes; -1: not known
	Network string        // the kind of network file system; empty: none
}

// Limits are those of this process and of the system; -1 is none, or not known.
type Limits struct {
	Watches, Instances int64 // of inotify, for a user
	Files, Processes   int64
	FileSize           int64
}

// Isolation is whether agents live in a PID namespace.
type Isolation struct {
	Had bool
	Why string // not
}

// Sandbox is what happened to its trial.
type Sandbox struct {
	Mode      string // as configured: off, auto, on
	Installed bool
	Holds     bool
	Version   string
	Reason    string // it does not hold, or is not available
	// Restricted: the system keeps users from making namespaces (AppArmor).
	Restricted bool
}

// Leftovers are of runs that are over.
type Leftovers struct {
	Problem   string // why it was not inspected
	Runs      int
	Bytes     int64
	Live      []Run
	Resumable []Run
	Damaged   []Run
	Worktrees []Run // that left directories of agents
	Processes []Process
	Scratch   []Scratch
	Sockets   []string
	// Named leads a command to the state directory of these runs, and NamedToResume arbiter
	// itself, which reads the configuration: with a space before it. Empty: it needs no word.
	Named, NamedToResume string
}

// Run is a run of the state directory.
type Run struct {
	ID      string // short
	Dir     string
	Problem string
}

// Process is one that outlived its run.
type Process struct {
	PID  int
	Name string
}

// Scratch is a directory in a place for temporary files.
type Scratch struct {
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

package runconfig

import (
	"cmp"
	"maps"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// Options are what a run is started with. They are a plain value that can be stored with the run, so that the
// same inputs always lead to the same history.
type Options struct {
	Run       string // the run's id, a UUID
	Delimiter string // per-run random mark of the envelopes
	CWD       string
	Version   string // Arbiter's own
	Log       string // path of the log file, for the `session` event

	ForkedFrom *contract.Fork `json:",omitempty"` // the run that this one branched off from

	Task string // the first task; empty: the human will give one

	Model        string // of every agent; empty: the CLI's default
	ArbiterModel string // of the Arbiter; empty: Model

	Permissions string // ask, rules, accept-edits, allow-all
	Allow, Deny []string
	Ask         []string `json:",omitempty"` // rules for calls that always need permission
	// Sandbox is the sandbox of the agents, and SandboxReason says why there is none.
	Sandbox       *bridge.SandboxConfig `json:",omitempty"`
	SandboxReason string                `json:",omitempty"`
	// ScratchChecks says that checks on this machine run in the sandbox on a copy of the workspace, from which nothing
	// that they do can leave: [bridge.CheckParams].Scratch.
	ScratchChecks bool `json:",omitempty"`
	// TrustHash is the hash of the workspace's settings as they were trusted when this process began.
	TrustHash string            `json:",omitempty"`
	Env       map[string]string // added to the agents' environment
	// ArbiterEnv is added to Env for the Arbiter and the decider.
	ArbiterEnv map[string]string `json:",omitempty"`
	Workspace  Workspace         `json:",omitzero"`
	Memory     string            `json:",omitempty"` // whether lessons are read and kept: on or off
	Lessons    string            `json:",omitempty"` // of earlier runs, as the Arbiter reads them
	// Performance is how well each mode did in earlier runs, by its name.
	Performance map[string]decider.DecisionPerformance `json:",omitempty"`
	// Expected is what one step of each mode will cost, by its name, from earlier runs; nil: nobody has looked.
	Expected map[string]contract.Forecast `json:",omitzero"` // an empty one is not nil, also in a replay
	// commands that must pass before the task is complete
	Accept  []string `json:",omitempty"`
	Trusted bool     // project settings, hooks, agents and CLAUDE.md may be loaded

	MaxOrchestrators int
	MaxIterations    int
	MaxFailures      int           // consecutive
	MaxTotalFailures int           `json:",omitempty"` // of one task; 0: no limit
	MaxExchanges     int           // between agents without a human
	MaxCostUSD       float64       // 0: no limit
	MaxCostPerAgent  float64       `json:",omitempty"` // in US dollars, of one Orchestrator; 0: no limit
	FuseUSD          float64       `json:",omitempty"` // what an Orchestrator may cost before it is parked; 0: the default
	MaxCostPerDay    float64       `json:",omitempty"` // in US dollars, of all runs of a day; 0: no limit
	QuotaReserve     float64       `json:",omitempty"` // percent of each usage window that stays unused; 0: none
	Timeout          time.Duration // 0: no limit
	ContextWarn      float64       // percent of the effective window
	ContextCritical  float64
	ContextStop      float64        `json:",omitempty"` // from there on agents only read, commit and hand off; 0: never
	ContextTokens    int            // cap of the effective window, 0: none
	ContextTokensFor map[string]int // the same for some models, by the beginning of their names
	CheckTimeout     time.Duration  // for one check of a hand-off document; 0: none is run
	RetryBase        time.Duration  // first pause before a turn is retried after an API error
	StartTimeout     time.Duration  // for an agent to be ready, 0: the bridge's default
	PermissionWait   time.Duration  // an unanswered permission request is denied then; 0: it waits
	MaxWait          time.Duration  // for a usage limit or an overload to pass; negative: do not wait
	WatchEvery       time.Duration  // time between two probes of an agent, 0: the default
	QuietAfter       time.Duration  `json:",omitempty"` // how long an agent is silent before it is reported; 0: never
	MaxMemory        int64          // bytes of one agent's processes, 0: no limit
	MaxOutput        int64          // bytes of one agent's task output files, 0: no limit

	// MaxSubagents is how many subagents of one agent may work at once, MaxSubagentsTotal how many may start in the
	// run, and MaxSubagentsPerHour within an hour. 0: no limit.
	MaxSubagents        int
	MaxSubagentsTotal   int
	MaxSubagentsPerHour int

	// Modes are the modes that an Orchestrator can be spawned as, as they were found when this process began;
	// nil: the built-in ones.
	Modes []agents.Agent `json:",omitempty"`
	// Makes are the makes of agents besides Claude that an agent can be, sorted by name.
	Makes []Make `json:",omitempty"`
	// DefaultMake is the make of an Orchestrator for which none is named; empty: Claude.
	DefaultMake string `json:",omitempty"`
	// ArbiterMake is the make of the Arbiter; empty: Claude.
	ArbiterMake string `json:",omitempty"`
	// Templates are the user's own templates for [prompts], by file name.
	Templates map[string]string `json:",omitempty"`
	// Decider says who decides at the points of decision: session (or empty), stateless, hybrid, rules.
	// DeciderModel and DeciderEffort are for those of them that use a model.
	Decider        string        `json:",omitempty"`
	DeciderModel   string        `json:",omitempty"`
	DeciderEffort  string        `json:",omitempty"`
	DeciderTimeout time.Duration `json:",omitempty"` // for one answer
	DecisionCache  bool          `json:",omitempty"` // the same input is not asked twice, across all runs
	Provider       Provider      `json:",omitzero"`  // the model API of a stateless or hybrid decider

	// Hosts are the hosts on which Orchestrators may run besides Here, in the order of --hosts; nil: Here
	// alone. HereToo says that Here was listed among them. Pools are names for some of them.
	Hosts   []Host        `json:",omitempty"`
	HereToo bool          `json:",omitempty"`
	Pools   []Pool        `json:",omitempty"`
	Lease   time.Duration `json:",omitempty"` // how long a host's bridge continues without contact

	Cores int `json:",omitempty"` // of this machine: as many agents start at once; 0: no limit

	HumanPresent bool // a human can answer (until the input ends)
	Partial      bool // stream text as it arrives

	Claude    string // the program as the user named it; empty: claude on PATH
	Rehearsal bool
	Scenario  string // its name
	Script    string // where it was found
	StandIn   bool
}

// Deciders, as Options.Decider names them.
const (
	DeciderSession   = "session"   // the Arbiter, in its own conversation
	DeciderStateless = "stateless" // a model that sees only the input
	DeciderHybrid    = "hybrid"    // rules for clear cases, stateless for the rest
	DeciderRules     = "rules"
)

// Defaults of the limits.
const (
	DefaultCheckTimeout     = 2 * time.Minute
	DefaultMaxOrchestrators = 4
	DefaultMaxIterations    = 50
	DefaultMaxFailures      = 3
	DefaultMaxExchanges     = 200
	DefaultDeciderTimeout   = 2 * time.Minute
	DefaultContextTokens    = 300_000
	DefaultContextWarn      = 70.0
	DefaultContextCritical  = 85.0
	DefaultContextStop      = 95.0
	DefaultRetryBase        = 5 * time.Second
	DefaultMaxWait          = 6 * time.Hour
	// DefaultWatchEvery is the time between two probes of an agent. Three in a row without a sign of activity
	// are the 90 s after which the Arbiter gets a notice.
	DefaultWatchEvery = 30 * time.Second
	// DefaultQuietAfter is longer than thinking usually takes.
	DefaultQuietAfter = 5 * time.Minute
	DefaultMaxOutput  = 4 << 30

	// DefaultMaxSubagents is what one agent can use at once. The others are more than work that people follow needs:
	// they stop agents that start agents endlessly.
	DefaultMaxSubagents        = 8
	DefaultMaxSubagentsTotal   = 200
	DefaultMaxSubagentsPerHour = 200
)

// WithDefaults sets the fields that are zero and have a default.
func (o Options) WithDefaults() Options {
	o.MaxOrchestrators = cmp.Or(o.MaxOrchestrators, DefaultMaxOrchestrators)
	o.MaxIterations = cmp.Or(o.MaxIterations, DefaultMaxIterations)
	o.MaxSubagents = cmp.Or(o.MaxSubagents, DefaultMaxSubagents)
	o.MaxSubagentsTotal = cmp.Or(o.MaxSubagentsTotal, DefaultMaxSubagentsTotal)
	o.MaxSubagentsPerHour = cmp.Or(o.MaxSubagentsPerHour, DefaultMaxSubagentsPerHour)
	o.MaxFailures = cmp.Or(o.MaxFailures, DefaultMaxFailures)
	o.MaxExchanges = cmp.Or(o.MaxExchanges, DefaultMaxExchanges)
	o.ContextWarn = cmp.Or(o.ContextWarn, DefaultContextWarn)
	o.ContextCritical = cmp.Or(o.ContextCritical, DefaultContextCritical)
	o.RetryBase = cmp.Or(o.RetryBase, DefaultRetryBase)
	o.MaxWait = cmp.Or(o.MaxWait, DefaultMaxWait)
	o.CheckTimeout = cmp.Or(o.CheckTimeout, DefaultCheckTimeout)
	o.Decider = cmp.Or(o.Decider, DeciderSession)
	o.DeciderTimeout = cmp.Or(o.DeciderTimeout, DefaultDeciderTimeout)
	o.Permissions = cmp.Or(o.Permissions, "ask")
	return o
}

// EnvOfArbiter is what is added to the environment of the Arbiter and of the decider.
func (o *Options) EnvOfArbiter() map[string]string {
	if len(o.ArbiterEnv) == 0 {
		return o.Env
	}
	env := maps.Clone(o.Env)
	if env == nil {
		env = map[string]string{}
	}
	maps.Copy(env, o.ArbiterEnv)
	return env
}

// AvailableModes are the modes that an Orchestrator can be spawned under, sorted by name.
func (o *Options) AvailableModes() []agents.Agent {
	if o.Modes == nil {
		return agents.List()
	}
	return o.Modes
}

// RestartPolicy is the policy of this run.
func (o Options) RestartPolicy() RestartPolicy {
	p := DefaultRestarts()
	p.WaitForLimits = o.MaxWait > 0
	p.MaxWait = max(o.MaxWait, 0)
	p.Horizon, p.HostHorizon = min(p.Horizon, p.MaxWait), p.MaxWait
	return p
}

// Provider is the model API that a stateless or hybrid decider asks. The zero Provider is Claude Code.
type Provider struct {
	Name      string `json:",omitempty"` // claude (or empty), openai, anthropic
	BaseURL   string `json:",omitempty"` // empty: the provider's own
	KeyEnv    string `json:",omitempty"` // the variable that contains the key; its value is never recorded
	MaxTokens int    `json:",omitempty"` // of an answer; 0: the default
	// Temperature of the model; nil: the model's own.
	Temperature *float64 `json:",omitempty"`
}

// ProviderClaude runs Claude Code once per question. The names of other providers are those of package
// modelapi.
const ProviderClaude = "claude"

// OverHTTP reports whether it is asked over HTTP, not through Claude Code.
func (p Provider) OverHTTP() bool { return p.Name != "" && p.Name != ProviderClaude }

// Here is the name of the machine on which Arbiter itself runs.
const Here = "here"

// DefaultLease is how long the bridge of a host continues without contact to its run.
const DefaultLease = time.Minute

// Host is a machine besides [Here] on which Orchestrators of a run may work. How to reach it is not recorded:
// the user's configuration says it, also when the run is resumed.
type Host struct {
	Name  string
	Slots int // Orchestrators at once, at least 1
}

// Pool is a name for several hosts of a run.
type Pool struct {
	Name  string
	Hosts []string
}

// HostNames lists the hosts and pools that an Orchestrator can be spawned on.
func (o *Options) HostNames() string {
	names := []string{Here}
	for _, x := range o.Hosts {
		names = append(names, x.Name)
	}
	for _, p := range o.Pools {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// Workspace says of which files snapshots are taken. The zero Workspace takes none.
type Workspace struct {
	Root    string `json:",omitempty"` // top of the Git work tree, an absolute path without links
	Base    string `json:",omitempty"` // commit of the first snapshot
	Prefix  string `json:",omitempty"` // the run's directory below Root, with slashes; empty for Root itself
	Objects string `json:",omitempty"` // where Git keeps the repository's objects, which clones read
	Own     string `json:",omitempty"` // where agents get their own directories, an absolute path without links
	// Isolation of all Orchestrators; empty: they share the run's directory, unless the Arbiter isolates one.
	Isolation string `json:",omitempty"`
}

// Isolated reports whether every Orchestrator has its own directory. The run's work is then on the run branch.
func (w Workspace) Isolated() bool { return w.Isolation != "" && w.Isolation != IsolationShared }

// Isolation of Orchestrators.
const (
	IsolationShared   = "shared"   // they work in the run's directory
	IsolationWorktree = "worktree" // each has a Git worktree
	IsolationClone    = "clone"    // each has a clone, so that it need not write to the user's Git directory
)

// Place describes a directory to create for an agent.
type Place struct {
	Agent      string
	Generation int    // of the agent
	Kind       string // IsolationWorktree or IsolationClone; empty: to read the files of the run branch
	After      string // the agent whose work it continues; empty: it begins with the run branch
}

// Worktree is an agent's own directory.
type Worktree struct {
	Branch    string `json:",omitempty"` // arbiter/RUN8/orch-1.1
	Base      string `json:",omitempty"` // commit that its work began with
	Isolation string `json:",omitempty"` // IsolationWorktree or IsolationClone
}

// Top is the top of an agent's own directory.
func (w Workspace) Top(agent string) string { return filepath.Join(w.Own, agent) }

// Dir is the place in an agent's own directory that corresponds to the run's directory: the agent starts there.
func (w Workspace) Dir(agent string) string {
	return filepath.Join(w.Top(agent), filepath.FromSlash(w.Prefix))
}

// Enabled reports whether snapshots are taken.
func (w Workspace) Enabled() bool { return w.Base != "" }

// Below lists the paths of files below a top, relative to it, as an agent that starts there names them; other
// files are left out.
func (w Workspace) Below(top string, files []string) []string {
	var list []string
	for _, file := range files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(top, filepath.FromSlash(w.Prefix), file)
		}
		if rel := cmp.Or(Relative(top, file), Relative(w.Root, file)); rel != "" && rel != "." {
			list = append(list, rel)
		}
	}
	return list
}

// Relative is a file's path below the top of a work tree, with slashes; empty if it is not there.
func Relative(top, file string) string {
	rel, err := filepath.Rel(top, file)
	if err != nil || !filepath.IsAbs(file) || rel == ".." || strings.HasPrefix(rel, "../") {
		return ""
	}
	return path.Clean(filepath.ToSlash(rel))
}

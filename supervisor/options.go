package supervisor

import (
	"cmp"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
)

// Options is what a run is started with. It is a plain value that can be stored
// with the run, so that the same facts always fold to the same history.
type Options struct {
	Run       string // the run's id, a UUID
	Delimiter string // per-run random mark of the envelopes
	CWD       string
	Version   string // arbiter's own
	Log       string // path of the log file, for the `session` event

	Task string // the first task; empty: the human will speak

	Model        string // of every agent; empty: the CLI's default
	ArbiterModel string // of the Arbiter; empty: Model

	Permissions string // ask, rules, accept-edits, allow-all
	Allow, Deny []string
	Ask         []string `json:",omitempty"` // rules of what is always asked for
	// Sandbox is what confines the agents, and SandboxReason why nothing does.
	Sandbox       *bridge.SandboxConfig `json:",omitempty"`
	SandboxReason string                `json:",omitempty"`
	// TrustHash is that of the workspace's settings, as they were trusted when this life began.
	TrustHash string            `json:",omitempty"`
	Env       map[string]string // added to the agents' environment
	Trusted   bool              // project settings, hooks, agents and CLAUDE.md may be loaded

	MaxOrchestrators int
	MaxIterations    int
	MaxFailures      int           // consecutive
	MaxTotalFailures int           `json:",omitempty"` // of one task; 0: no limit
	MaxExchanges     int           // between agents without a human
	MaxCostUSD       float64       // 0: no limit
	Timeout          time.Duration // 0: no limit
	ContextWarn      float64       // percent of the effective window
	ContextCritical  float64
	ContextTokens    int            // cap of the effective window, 0: none
	ContextTokensFor map[string]int // the same for some models, by the beginning of their names
	CheckTimeout     time.Duration  // for one check of a hand-off document; 0: none is run
	RetryBase        time.Duration  // first pause before a turn is tried again after API trouble
	StartTimeout     time.Duration  // for an agent to be ready, 0: the bridge's default
	PermissionWait   time.Duration  // an unanswered permission request is denied then
	MaxWait          time.Duration  // for a usage limit or an overload to pass; negative: not at all
	WatchEvery       time.Duration  // distance of looks at each agent, 0: the default
	MaxMemory        int64          // bytes of one agent's processes, 0: no limit
	MaxOutput        int64          // bytes of one agent's task output files, 0: no limit

	// Modes are the agents an Orchestrator can be summoned as, as they were found when this
	// life began; nil: the built-in ones.
	Modes []agents.Agent `json:",omitempty"`
	// Templates are the user's own of [prompts], by file name.
	Templates map[string]string `json:",omitempty"`
	// Decider says who decides at the points of decision: session (or empty), stateless,
	// hybrid, rules. DeciderModel and DeciderEffort are for the models among them.
	Decider        string        `json:",omitempty"`
	DeciderModel   string        `json:",omitempty"`
	DeciderEffort  string        `json:",omitempty"`
	DeciderTimeout time.Duration `json:",omitempty"` // for one answer
	DecisionCache  bool          `json:",omitempty"` // the same input is not asked twice, over all runs

	HumanPresent bool // somebody can answer (until the input ends)
	Partial      bool // stream text as it arrives

	Claude    string // the program as it was named; empty: claude on PATH
	Rehearsal bool
	Scenario  string // its name
	Script    string // where it was found
	StandIn   bool
}

// Deciders, as Options.Decider names them.
const (
	DeciderSession   = "session"   // the Arbiter, in its own conversation
	DeciderStateless = "stateless" // a model that knows nothing but the input
	DeciderHybrid    = "hybrid"    // rules for what is clear, stateless for the rest
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
	DefaultRetryBase        = 5 * time.Second
	DefaultPermissionWait   = 10 * time.Minute
	DefaultMaxWait          = 6 * time.Hour
	DefaultWatchEvery       = watchEvery
	DefaultMaxOutput        = 4 << 30
)

// WithDefaults fills in what was left zero and has a default.
func (o Options) WithDefaults() Options {
	o.MaxOrchestrators = cmp.Or(o.MaxOrchestrators, DefaultMaxOrchestrators)
	o.MaxIterations = cmp.Or(o.MaxIterations, DefaultMaxIterations)
	o.MaxFailures = cmp.Or(o.MaxFailures, DefaultMaxFailures)
	o.MaxExchanges = cmp.Or(o.MaxExchanges, DefaultMaxExchanges)
	o.ContextWarn = cmp.Or(o.ContextWarn, DefaultContextWarn)
	o.ContextCritical = cmp.Or(o.ContextCritical, DefaultContextCritical)
	o.RetryBase = cmp.Or(o.RetryBase, DefaultRetryBase)
	o.PermissionWait = cmp.Or(o.PermissionWait, DefaultPermissionWait)
	o.MaxWait = cmp.Or(o.MaxWait, DefaultMaxWait)
	o.CheckTimeout = cmp.Or(o.CheckTimeout, DefaultCheckTimeout)
	o.Decider = cmp.Or(o.Decider, DeciderSession)
	o.DeciderTimeout = cmp.Or(o.DeciderTimeout, DefaultDeciderTimeout)
	o.Permissions = cmp.Or(o.Permissions, "ask")
	return o
}

const (
	// MaxCommandText bounds the text of a command, in bytes. It is more than most models can
	// read at once; beyond it no agent is tried.
	MaxCommandText = 1 << 20
	// maxCallInput bounds the input of a call of our own tools, and maxAskedInput that of a
	// call somebody is asked about: the journal keeps both whole.
	maxCallInput  = 1 << 20
	maxAskedInput = 8 << 20
	// beginningKept is what is kept of a text that was too large to be read.
	beginningKept = 16 << 10
)

const (
	// watchEvery is the distance of looks. Three in a row without a sign make the
	// 90 s after which somebody is told.
	watchEvery = 30 * time.Second
	// silence is what counts as no output. The CLI is silent for minutes while it
	// waits for the API (observed with CLI 2.1.329: 300 s and 360 s), so that
	// silence alone says nothing.
	silence = time.Minute
	// idleCPU is how much of one CPU a CLI uses that does nothing, and more
	// (observed with CLI 2.1.329: 0.4–0.7 %).
	idleCPU = 0.02
	// hungAfter looks without a sign of life, an agent counts as hung.
	hungAfter = 3
	// hungArbiter is the same for the Arbiter: nobody else can judge it, so it is
	// started again, and therefore later.
	hungArbiter = 8
	// wakeGrace is left alone after the machine slept: connections are dead, and
	// the CLI needs time to find out.
	wakeGrace = 5 * time.Minute
	// warnShare of a limit is where the resource guard warns.
	warnShare = 0.75
)

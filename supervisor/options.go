package supervisor

import "time"

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
	Env         map[string]string // added to the agents' environment
	Trusted     bool              // project settings, hooks, agents and CLAUDE.md may be loaded

	MaxOrchestrators int
	MaxIterations    int
	MaxFailures      int           // consecutive
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

	// Rules is the version of the rules of play. A journal folds by those that its
	// lives were begun with, so that it folds to the same history for ever.
	Rules int

	HumanPresent bool // somebody can answer (until the input ends)
	Partial      bool // stream text as it arrives

	Claude    string // the program as it was named; empty: claude on PATH
	Rehearsal bool
	Scenario  string // its name
	Script    string // where it was found
	StandIn   bool
}

// Versions of the rules of play.
const (
	rulesOfHandover = 1 // checks, records drawn up by the supervisor, renewal of the Arbiter
	// CurrentRules are those that a new life is begun with.
	CurrentRules = rulesOfHandover
)

// Defaults of the limits.
const (
	DefaultCheckTimeout     = 2 * time.Minute
	DefaultMaxOrchestrators = 4
	DefaultMaxIterations    = 50
	DefaultMaxFailures      = 3
	DefaultMaxExchanges     = 200
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
	set := func(p *int, d int) {
		if *p == 0 {
			*p = d
		}
	}
	set(&o.MaxOrchestrators, DefaultMaxOrchestrators)
	set(&o.MaxIterations, DefaultMaxIterations)
	set(&o.MaxFailures, DefaultMaxFailures)
	set(&o.MaxExchanges, DefaultMaxExchanges)
	if o.ContextWarn == 0 {
		o.ContextWarn = DefaultContextWarn
	}
	if o.ContextCritical == 0 {
		o.ContextCritical = DefaultContextCritical
	}
	if o.RetryBase == 0 {
		o.RetryBase = DefaultRetryBase
	}
	if o.PermissionWait == 0 {
		o.PermissionWait = DefaultPermissionWait
	}
	if o.MaxWait == 0 {
		o.MaxWait = DefaultMaxWait
	}
	if o.CheckTimeout == 0 {
		o.CheckTimeout = DefaultCheckTimeout
	}
	o.Rules = CurrentRules
	if o.Permissions == "" {
		o.Permissions = "ask"
	}
	return o
}

package supervisor

// This part of the package tracks the processes of a run: the bridge on each host, and the agents behind
// them.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// LifecycleHere names the host that Arbiter itself runs on, in the state and in inputs. People write [runconfig.Here].
const LifecycleHere = ""

// Bridge is what the run knows about the bridge on one host.
type Bridge struct {
	Host         string `json:",omitempty"`
	Claude       bridge.ClaudeInfo
	Up           bool // a bridge is running
	Opening      bool `json:",omitempty"` // a bridge is being started
	Gone         bool // the bridge that is being started is lost already
	Ending       bool `json:",omitempty"` // one that does not count any more is being ended, which is still to be reported
	Unanswered   int  // probes in a row that it did not answer
	UnansweredAt time.Time

	Cores  int       `json:",omitempty"` // of another host: as many agents start at once; 0: no limit
	Dir    string    `json:",omitempty"` // where agents on another host work, an absolute path there
	Status string    `json:",omitempty"` // of another host; empty: no agent was placed there yet
	Reason string    `json:",omitempty"` // why it is not up
	Since  time.Time `json:",omitzero"`  // of Status
	// Until is when everything that an earlier bridge started on another host has ended. No bridge is started
	// there before.
	Until  time.Time `json:",omitzero"`
	Parked bool      `json:",omitempty"` // it is not retried before a human asks for it

	TrustHash string `json:",omitempty"` // of settings on another host that the human trusts in addition to the workspace's
	Untrusted bool   `json:",omitempty"` // agents on another host start without the workspace's settings
}

// States of another host, as event `host` names them.
const (
	StatusUp = contract.HostUp
	// no bridge is being started: nothing needs the host, or it is parked
	StatusDown = contract.HostDown
	// its agents are down, and another bridge follows: that is tried with growing pauses, and while it is being tried, too
	StatusLost    = contract.HostLost
	StatusWaiting = contract.HostWaiting // a bridge is being started, which may take as long as a queue takes
)

// Start begins the first process run of Arbiter, with a bridge on this host only.
func (s *LifecycleState) Start(claude bridge.ClaudeInfo) {
	s.Bridges = []Bridge{{Claude: claude, Up: true}}
}

// Resume begins another process run of Arbiter, with the bridge of this host. What an earlier process started
// on other hosts may continue until a lease that begins now is over, except on hosts that were fenced. Parked
// hosts are retried.
func (s *LifecycleState) Resume(claude bridge.ClaudeInfo, now time.Time, lease time.Duration, fenced []string) {
	before := s.Bridges
	s.Start(claude)
	for _, b := range before {
		if b.Host != LifecycleHere && b.Status != "" && b.Status != StatusDown {
			b := Bridge{Host: b.Host, Dir: b.Dir, Status: StatusDown}
			if !slices.Contains(fenced, b.Host) {
				b.Until = now.Add(lease + leaseGrace)
			}
			s.Bridges = append(s.Bridges, b)
		}
	}
}

// MayStillRun lists the other hosts on which something may still run that an earlier process run of Arbiter
// started.
func (s *LifecycleState) MayStillRun() (hosts []string) {
	for _, b := range s.Bridges {
		if b.Host != LifecycleHere && b.Status != "" && b.Status != StatusDown {
			hosts = append(hosts, b.Host)
		}
	}
	return hosts
}

// leaseGrace is the time that a bridge may need to end everything once its lease is over.
const leaseGrace = 5 * time.Second

// Bridge returns what is known about the bridge on a host; if nothing is known, only its name is set.
func (s *LifecycleState) Bridge(host string) Bridge {
	i := slices.IndexFunc(s.Bridges, func(b Bridge) bool { return b.Host == host })
	if i < 0 {
		return Bridge{Host: host}
	}
	return s.Bridges[i]
}

// IsUp reports whether a bridge is running on a host.
func (s *LifecycleState) IsUp(host string) bool { return s.Bridge(host).Up }

// Claude returns the CLI that agents on this host are started with.
func (s *LifecycleState) Claude() bridge.ClaudeInfo { return s.Bridge(LifecycleHere).Claude }

// edit returns the writable record of a host, which is added if it is new.
func (s *LifecycleState) edit(host string) *Bridge {
	s.Bridges = slices.Clone(s.Bridges)
	i := slices.IndexFunc(s.Bridges, func(b Bridge) bool { return b.Host == host })
	if i < 0 {
		i = len(s.Bridges)
		s.Bridges = append(s.Bridges, Bridge{Host: host})
	}
	return &s.Bridges[i]
}

// report records the status of another host, and reports a change. Emits: host.
func (b *Bridge) report(c *input.Collector, status, reason string) {
	if b.Host == LifecycleHere || b.Status == status && b.Reason == reason {
		return
	}
	if b.Status != status {
		b.Since = c.Now
	}
	b.Status, b.Reason = status, reason
	c.Emit(contract.Supervisor, contract.Host{Name: b.Host, Status: status, Reason: reason})
}

// Want starts a bridge on a host where an agent has to run, unless there is one or one is being started. Emits:
// host. Effects: OpenBridge, SetTimer.
func (s *LifecycleState) Want(c *input.Collector, host string) {
	b := s.Bridge(host)
	if host == LifecycleHere || b.Up || b.Parked || b.Status != "" && b.Status != StatusDown {
		return // the bridge of this host is always replaced
	}
	if left := b.Until.Sub(c.Now); left > 0 {
		s.edit(host).report(c, StatusWaiting, stillRuns)
		c.Do(input.SetTimer{Key: LifecycleTimerKey(host), After: left})
		return
	}
	s.Due(c, host)
}

// stillRuns is the reason why a host is not opened at once.
const stillRuns = "what ran there before may not have ended yet"

// Due opens another bridge on a host unless there is one, or one is being started. While one is being ended, the next
// waits for the report of that end, which says until when processes may still run there.
// Emits: host. Effects: OpenBridge.
func (s *LifecycleState) Due(c *input.Collector, host string) {
	if b := s.Bridge(host); b.Up || b.Parked || b.Opening {
		return
	}
	b := s.edit(host)
	if b.Ending {
		b.report(c, StatusWaiting, stillRuns)
		return
	}
	b.Opening = true
	if b.Status != StatusLost { // a lost host keeps the reason until it is back
		b.report(c, StatusWaiting, "it is being started")
	}
	c.Do(input.OpenBridge{Host: host})
}

// Lost handles the end of the bridge on a host; until is [Bridge.Until]. It reports false if that bridge does not count
// any more, or its start was not reported yet. Emits: host. Effects: SetTimer.
func (s *LifecycleState) Lost(c *input.Collector, host, reason string, until time.Time) bool {
	b := s.edit(host)
	b.Until = until
	switch {
	case b.Ending:
		b.Ending = false
		if b.Status == StatusWaiting {
			s.Reopen(c, host)
		}
		return false
	case !b.Up:
		b.Gone = b.Opening
		return false
	}
	b.Up = false
	b.report(c, StatusLost, reason)
	return true
}

// Back handles the start of another bridge on a host, and what the bridge reported about it. It reports false if that
// bridge is lost already. Emits: host.
func (s *LifecycleState) Back(
	c *input.Collector, host string, claude bridge.ClaudeInfo, dir string, cores int,
) bool {
	b := s.edit(host)
	b.Opening = false
	if b.Gone {
		b.Gone = false
		return false
	}
	b.Up, b.Claude, b.Dir, b.Cores, b.Until, b.Unanswered = true, claude, dir, cores, time.Time{}, 0
	b.report(c, StatusUp, "")
	return true
}

// reopenPause is how long to wait before another bridge follows one that was ended on purpose.
const reopenPause = time.Second

// Reopen starts another bridge after the last one was ended on purpose: that is not a failure. Effects: SetTimer.
func (s *LifecycleState) Reopen(c *input.Collector, host string) {
	after := max(reopenPause, s.Bridge(host).Until.Sub(c.Now))
	c.Do(input.SetTimer{Key: LifecycleTimerKey(host), After: after})
}

// Retry starts another bridge after one was lost or could not be started, if the restart policy allows it. On another
// host that does not count as a failure: it waits longer each time.
// Emits: restart, host. Effects: SetTimer.
func (s *LifecycleState) Retry(
	c *input.Collector,
	host string,
	p runconfig.RestartPolicy,
	seed, reason string,
) runconfig.RestartDecision {
	e := runconfig.RestartExit{Agent: processOf(host), Class: runconfig.RestartCrash, At: c.Now, Reason: reason,
		Seed: seed}
	of := "the bridge "
	if host != LifecycleHere {
		of, e.Class = "host "+host+" ", runconfig.HostUnreachable
		e.Reason = words.Head(reason, maxReason)
	}
	d := s.Decide(p, e)
	if !d.Starts() {
		return d
	}
	d.Delay = max(d.Delay, s.Bridge(host).Until.Sub(c.Now), time.Millisecond)
	if host != LifecycleHere {
		s.edit(host).report(c, StatusLost, e.Reason)
	}
	c.Emit(contract.Supervisor, contract.Restart{Attempt: d.Attempt, DelayMS: d.Delay.Milliseconds(),
		Reason: of + d.Reason})
	c.Do(input.SetTimer{Key: LifecycleTimerKey(host), After: d.Delay})
	return d
}

// maxReason bounds, in bytes, what is reported about a host.
const maxReason = 1000

// Park stops retries for another host until a human asks for one. Emits: host.
func (s *LifecycleState) Park(c *input.Collector, host, reason string) {
	b := s.edit(host)
	b.Up, b.Opening, b.Parked = false, false, true
	b.report(c, StatusDown, words.Head(reason, maxReason))
	c.StopTimer(LifecycleTimerKey(host))
}

// RetryOption is the recovery option of a host that is parked or lost.
func RetryOption(host string) string { return "retry host " + host }

// RetryNow tries a host at once that is parked or waits for its next attempt. It reports false for any other. Emits:
// host. Effects: OpenBridge, SetTimer.
func (s *LifecycleState) RetryNow(c *input.Collector, host string) bool {
	if !slices.Contains(s.Retriable(), host) {
		return false
	}
	b := s.edit(host)
	b.Parked, b.Status = false, StatusDown
	s.Restarts = slices.DeleteFunc(slices.Clone(s.Restarts), func(a runconfig.RestartAttempt) bool {
		return a.Agent == processOf(host) // failures before the human's repair do not count
	})
	c.StopTimer(LifecycleTimerKey(host))
	s.Want(c, host)
	return true
}

// Dismiss ends the bridge of a host that nothing needs any more: its end, which is reported later, is no failure.
// Emits: host. Effects: DropBridge.
func (s *LifecycleState) Dismiss(c *input.Collector, host string) {
	b := s.edit(host)
	b.Up, b.Ending = false, true
	s.Leave(c, host)
	c.Do(input.DropBridge{Host: host})
}

// Leave stops the start of a bridge on a host that nothing needs any more. Emits: host.
func (s *LifecycleState) Leave(c *input.Collector, host string) {
	s.edit(host).report(c, StatusDown, "")
	c.StopTimer(LifecycleTimerKey(host))
}

// Retriable lists the hosts that [RetryOption] tries at once: those that are parked, and those that are lost and not
// being tried.
func (s *LifecycleState) Retriable() (hosts []string) {
	for _, b := range s.Bridges {
		if b.Parked || b.Status == StatusLost && !b.Opening {
			hosts = append(hosts, b.Host)
		}
	}
	return hosts
}

// Missed reports whether a host is lost, or was given up a short time ago because nothing needed it any more.
func (s *LifecycleState) Missed(host string, now time.Time) bool {
	b := s.Bridge(host)
	return !b.Up && (b.Status == StatusLost || slices.ContainsFunc(s.Restarts, func(a runconfig.RestartAttempt) bool {
		return a.Agent == processOf(host) && now.Sub(a.At) < missedFor
	}))
}

// missedFor is longer than the longest pause between two attempts.
const missedFor = 10 * time.Minute

// mute is how many probes in a row a bridge must leave unanswered to count as hung. A bridge answers a probe
// within milliseconds, whatever its agents do, and every probe has waited for the answer.
const mute = 3

// Unanswered counts a probe that the bridge of a host did not answer, and ends a bridge that hangs. Agents are
// probed every so often; probes sent together count once. Emits: notice. Effects: DropBridge.
func (s *LifecycleState) Unanswered(c *input.Collector, host string, every time.Duration) {
	if c.Now.Sub(s.Bridge(host).UnansweredAt) < every {
		return
	}
	b := s.edit(host)
	b.UnansweredAt = c.Now
	if b.Unanswered++; b.Unanswered < mute || !b.Up {
		return
	}
	b.Unanswered = 0
	of := "the bridge"
	if host != LifecycleHere {
		of += " of host " + host
	}
	c.Notice(of + " does not answer; it is killed, and another is started")
	c.Do(input.DropBridge{Host: host})
}

// Answered records that the bridge of a host has answered a probe.
func (s *LifecycleState) Answered(host string) {
	if s.Bridge(host).Unanswered > 0 {
		s.edit(host).Unanswered = 0
	}
}

// theBridge names the bridge of this host in the history of restarts; names for other hosts also contain the
// host.
const theBridge = "bridge"

// processOf names the bridge of a host in the history of restarts.
func processOf(host string) string {
	if host == LifecycleHere {
		return theBridge
	}
	return theBridge + "/" + host
}

// failureTraits say what follows from a category of failures.
type failureTraits struct {
	all     bool                     // it affects every agent: neither another agent nor a retry would help
	program bool                     // of a start: it is about the program, which is missing, too old, or ends at once
	outside bool                     // its cause lies outside of the run
	host    bool                     // of the start of another host's bridge: no retry helps, a person has to solve it
	passes  bool                     // waiting can solve it
	spec    decider.DecisionCategory // SPEC-0006's name for it
	waits   string                   // of a wait for the next attempt: what keeps an agent from reaching the API
	mend    []string                 // what a person can do about it
}

var failures = map[bridge.Category]failureTraits{
	bridge.CatAuth: {all: true, outside: true, host: true, spec: decider.ProviderError,
		mend: []string{"log in with `claude` (or set ANTHROPIC_API_KEY) and start again"}},
	bridge.CatCredit: {all: true, outside: true, host: true, spec: decider.ProviderError,
		mend: []string{"the API account has no credit left: add credit at https://platform.claude.com/settings/billing, " +
			"or log in with another account, and go on with arbiter --resume"}},
	bridge.CatClaudeMissing: {all: true, outside: true, host: true, program: true, mend: []string{
		"install Claude Code: npm install -g @anthropic-ai/claude-code", "name it with --claude PATH",
		"try without it: --rehearse"}},
	bridge.CatUnsupported: {all: true, outside: true, host: true, program: true, mend: []string{
		"update Claude Code: npm install -g @anthropic-ai/claude-code", "name another with --claude PATH",
		"try without it: --stand-in"}},
	bridge.CatSandbox: {all: true, outside: true, host: true},
	bridge.CatHost:    {outside: true, host: true},
	bridge.CatWorkspace: {outside: true, host: true, spec: decider.AgentError,
		mend: []string{"put right what the error names, or begin another run in which all agents share one directory: " +
			"--isolation shared"}},
	bridge.CatProtocol: {host: true},
	bridge.CatStart: {outside: true, program: true, spec: decider.AgentError,
		mend: []string{"run `claude -p hi` by hand and see what it says", "name another with --claude PATH"}},
	bridge.CatOverloaded:     {passes: true, spec: decider.ProviderError, waits: "API overloaded"},
	bridge.CatRateLimit:      {passes: true, spec: decider.ProviderError, waits: "rate limited"},
	bridge.CatUsageLimit:     {passes: true, spec: decider.ProviderError, waits: "usage limit"},
	bridge.CatServer:         {passes: true, spec: decider.ProviderError, waits: "API error"},
	bridge.CatTimeout:        {passes: true, spec: decider.TimeoutError, waits: "API error"},
	bridge.CatVerdict:        {spec: decider.ValidationError},
	bridge.CatInvalidRequest: {spec: decider.ValidationError},
	bridge.CatCrash:          {spec: decider.AgentError},
	bridge.CatResume:         {spec: decider.AgentError},
	bridge.CatPromptTooLong:  {spec: decider.AgentError},
	bridge.CatCompaction:     {spec: decider.AgentError},
}

// AffectsAllAgents reports whether a failure of one agent affects every agent.
func AffectsAllAgents(c bridge.Category) bool { return failures[c].all }

// IsEnvironmental reports whether the cause of a failure that ended the run lies outside the run. An Arbiter
// that cannot even start is such a failure; about an Orchestrator that cannot, the Arbiter decides.
func IsEnvironmental(c bridge.Category) bool { return failures[c].outside }

// Trouble names what keeps an agent from reaching the API; empty if its process is being restarted.
func (b *AgentBackoff) Trouble() string { return failures[b.Category].waits }

// RecoveryOptions lists what a person can do about a failure, as the command `choose` accepts it.
func RecoveryOptions(c bridge.Category, of Role) []string {
	mend := failures[c].mend
	switch {
	case mend == nil && of == RoleOrchestrator:
		return []string{"retry", "skip", "cancel"}
	case mend == nil:
		return []string{}
	}
	return mend
}

// Categories are the categories of the errors reported for parked agents, by the class of the failure.
var Categories = map[runconfig.RestartClass]bridge.Category{
	runconfig.RestartCrash:    bridge.CatCrash,
	runconfig.RestartHung:     bridge.CatTimeout,
	runconfig.RestartResource: bridge.CatCrash,
	runconfig.CouldNotStart:   bridge.CatStart,
	runconfig.RestartOverload: bridge.CatOverloaded,
	runconfig.UsageLimit:      bridge.CatUsageLimit,
	runconfig.InvalidResume:   bridge.CatResume,
	runconfig.HookRefused:     bridge.CatHook,
	runconfig.HostUnreachable: bridge.CatTimeout,
}

// StartClass classifies a failed start. If the cause can pass – a lack of processes, memory or descriptors, a killed
// process, or a path that went away while bubblewrap made the sandbox – the start is retried like after a crash.
func StartClass(c bridge.Category, message string) runconfig.RestartClass {
	if c == bridge.CatResume {
		return runconfig.InvalidResume
	}
	for _, text := range []string{
		"(signal: ", "resource temporarily unavailable", "cannot allocate memory", "too many open files",
		"bwrap: Can't find ", "bwrap: Can't get ", "bwrap: Can't stat ", "bwrap: Can't bind ", "bwrap: Can't create file ",
		"bwrap: Can't mkdir ", "bwrap: Can't mount tmpfs ", "bwrap: Race condition ",
	} {
		if strings.Contains(message, text) {
			return runconfig.RestartCrash
		}
	}
	return runconfig.CouldNotStart
}

// RetryCategory is the category of a failure that the CLI itself retries.
func RetryCategory(r bridge.Retry) bridge.Category {
	switch {
	case r.Status == 529 || r.Reason == string(bridge.CatOverloaded):
		return bridge.CatOverloaded
	case r.Status == 429 || r.Reason == string(bridge.CatRateLimit):
		return bridge.CatRateLimit
	}
	return bridge.CatServer
}

// ExitText says in words how a process ended.
func ExitText(e bridge.Exit) string {
	text := fmt.Sprintf("exit code %d", e.Code)
	if e.Signal != "" {
		text = "signal: " + e.Signal
	}
	if e.Stderr != "" {
		text += "; " + e.Stderr
	}
	return text
}

// ContextLevel is how full a context is: one of the levels of package roster, or empty below the first.
func ContextLevel(c bridge.Context, warn, critical float64) string {
	switch {
	case c.Window <= 0:
		return ""
	case c.Pct >= critical:
		return LevelCritical
	case c.Pct >= warn:
		return AgentLevelWarn
	}
	return ""
}

// RetryDelay is the wait before the next attempt after a number of API failures in a row: it begins with base
// and is multiplied by four each time, until it has passed atMost.
func RetryDelay(failures int, base, atMost time.Duration) time.Duration {
	delay := base
	for n := 1; n < failures && delay < atMost; n++ {
		delay *= 4
	}
	return delay
}

// LifecycleThinking is the activity of an agent whose turn runs and that has not called a tool.
const LifecycleThinking = "thinking"

// QuietFor returns how long an agent has shown no activity, according to a probe at a moment: no output, no
// progress of a tool, no retry of an API call. It is 0 for an agent that is not expected to show any.
func QuietFor(a *Agent, r bridge.ProbeResult, at time.Time) time.Duration {
	waits := a.Backoff != nil && a.Backoff.Until.After(at)
	if a.Status != AgentBusy || waits || at.Before(a.Watch.Spared) {
		return 0
	}
	silent := time.Duration(r.SilentMS) * time.Millisecond
	return max(0, min(silent, at.Sub(a.Since))) // it may have been idle before its turn began
}

// NextProbe is the time until the next probe: every, or less if the silence of an agent reaches its limit before.
func NextProbe(silent, limit, every time.Duration) time.Duration {
	if left := limit - silent; silent > 0 && left > 0 {
		return max(min(every, left), time.Second)
	}
	return every
}

// Doing says on one line what an agent does while its turn runs.
func Doing(a *Agent) string {
	c := a.ToolCall
	if c == nil || c.Cut {
		return LifecycleThinking
	}
	return strings.TrimSpace(c.Tool + " " + words.FirstLine(c.What))
}

// OtherSession says why a process does not have the requested session, by the session it names; empty: it has,
// or it names none.
func OtherSession(a *Agent, session string) string {
	if session == "" || strings.EqualFold(session, a.SessionID) {
		return ""
	}
	return fmt.Sprintf("its process reports session %.100q instead of %s", session, a.SessionID)
}

// LifecycleState is the lifecycle part of a run. It is a value: slices are cloned before they are written.
type LifecycleState struct {
	Bridges  []Bridge                 // one per host; the first is that of [LifecycleHere]
	Restarts runconfig.RestartHistory // of agents and of bridges
	Crashes  int                      // processes that ended unexpectedly
	Waking   bool                     // agents are being restarted; afterwards check that the dialogue continues
	// ReturnedAgent is the agent whose session a human gave back meanwhile.
	ReturnedAgent string         `json:",omitempty"`
	TrustQuestion *TrustQuestion `json:",omitempty"` // keeps agents from being started
}

// Decide asks the restart policy about the end of a process, and records the answer in the history.
func (s *LifecycleState) Decide(p runconfig.RestartPolicy, e runconfig.RestartExit) runconfig.RestartDecision {
	d := runconfig.DecideRestart(p, s.Restarts, e)
	s.Restarts = slices.Clone(s.Restarts).Add(p, d.Entry(e))
	return d
}

// MayStart reports whether the process of an agent on a host may be started.
func (s *LifecycleState) MayStart(host string) bool { return !s.AwaitsTrust(host) && s.IsUp(host) }

// LifecycleTimerPrefix begins the keys of timers for starts of processes: of agents, and of bridges.
const LifecycleTimerPrefix = "restart/"

// LifecycleTimerKey is the key of the timer that opens another bridge on a host.
func LifecycleTimerKey(host string) string { return LifecycleTimerPrefix + processOf(host) }

// TimerHost returns the host whose bridge a timer is for, by its key without the prefix; false: it is for an agent's
// process.
func TimerHost(of string) (host string, ok bool) {
	if of == theBridge {
		return LifecycleHere, true
	}
	return strings.CutPrefix(of, theBridge+"/")
}

// The choices about a workspace that is not trusted, besides cancel.
const (
	ChooseTrust   = "trust"
	ChooseWithout = "without"
)

// TrustQuestion is the question whether the human trusts a workspace. Meanwhile no agent is started; if it is
// about another host, none on that host.
type TrustQuestion struct {
	Host string `json:",omitempty"` // whose directories are asked about; [LifecycleHere]: the workspace itself
	Hash string // of what is there now; empty: it cannot be determined
	At   time.Time
}

// Choices are the possible answers; nil: there is no question.
func (q *TrustQuestion) Choices() []string {
	switch {
	case q == nil:
		return nil
	case q.Hash == "":
		return []string{ChooseWithout, "cancel"}
	}
	return []string{ChooseTrust, ChooseWithout, "cancel"}
}

// AwaitsTrust reports whether no agent may be started on a host until the human has answered a question about
// trust.
func (s *LifecycleState) AwaitsTrust(host string) bool {
	q := s.TrustQuestion
	return q != nil && (q.Host == LifecycleHere || q.Host == host)
}

// TurnEnd is how far an agent came with a turn during which its process ended, from finished to unfinished.
type TurnEnd int

const (
	TurnFinished        TurnEnd = iota // nothing to continue
	TurnUnanswered                     // a message was read, and nothing was done about it
	LifecycleTurnCutOff                // something was done
)

// LostTurn is what the end of a process left of the agent's turn.
type LostTurn struct {
	End   TurnEnd
	Over  []string               // messages that the session contains
	Open  []string               // messages that it does not contain: they are sent again
	Seen  []string               // those of Over that no model has answered
	Ruled *bridge.DeliveryStatus // the last verdict of the turn; nil: none
}

// Reconcile determines from the session's history what happened to the messages of a turn. Messages that the
// history does not name are open.
func Reconcile(turn []string, history []bridge.DeliveryStatus) LostTurn {
	statuses := map[string]bridge.DeliveryStatus{}
	for _, s := range history {
		statuses[s.MessageID] = s
	}
	var t LostTurn
	for _, message := range turn {
		s := statuses[message]
		switch s.Status {
		case bridge.DeliverySeen:
			t.End, t.Seen = max(t.End, TurnUnanswered), append(t.Seen, message)
		case bridge.DeliveryBegun, bridge.DeliveryEnded:
			t.End = max(t.End, LifecycleTurnCutOff)
		case bridge.DeliveryRuled:
			t.Ruled, t.End = &s, TurnFinished
		default: // absent, or its history is lost
			t.Open = append(t.Open, message)
			continue
		}
		t.Over = append(t.Over, message)
	}
	return t
}

// MidTurn reports whether an agent's turn runs, or will continue with another process.
func MidTurn(a *Agent) bool {
	switch a.Status {
	case AgentBusy, AgentRestarting:
		return true
	case AgentDown, AgentStarting:
		return len(a.Turn) > 0
	}
	return false
}

// MarkCut marks the tool call that an agent was running when its process ended.
func MarkCut(a *Agent) {
	if a.ToolCall != nil {
		at := *a.ToolCall
		at.Cut = true
		a.ToolCall = &at
	}
}

// ToolSubject is the member of a tool's input that says most about the call; empty: there is none.
func ToolSubject(input json.RawMessage) string {
	var in map[string]json.RawMessage
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	for _, name := range []string{
		"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "description",
		"message",
	} {
		var text string
		if raw, ok := in[name]; ok && json.Unmarshal(raw, &text) == nil && text != "" {
			return words.Head(words.FirstLine(text), 200)
		}
	}
	return ""
}

const (
	// LifecycleSilence is how long there must be no output for it to count. The CLI is silent for minutes while it waits
	// for the API (observed with CLI 2.1.329: 300 s and 360 s), so silence alone proves nothing.
	LifecycleSilence = time.Minute
	// idleCPU is above the share of one CPU that an idle CLI uses (observed with CLI 2.1.329: 0.4–0.7 %).
	idleCPU = 0.02
	// HungAfter is the number of probes in a row without a sign of activity after which an agent counts as
	// hung.
	HungAfter = 3
	// HungArbiter is the same for the Arbiter. It is larger, because no other session can judge the Arbiter,
	// and so it is restarted without a decision.
	HungArbiter = 8
	// WakeGrace is how long no conclusion is drawn after the machine slept: connections are dead, and the CLI
	// needs time to notice.
	WakeGrace = 5 * time.Minute
	// lifecycleWarnShare is the share of a limit at which Guard warns.
	lifecycleWarnShare = 0.75
)

// Observe adds the result of a probe to the watch of a process. Quiet of the watch counts the probes in a row without
// activity, which is expected only of a busy agent, whose turn runs. Only all signs together count: no output for as
// long as silence, no CPU, an unchanged transcript, and no answer to a ping.
func Observe(w AgentWatch, r bridge.ProbeResult, at time.Time, busy bool, silence time.Duration) AgentWatch {
	quiet := busy && !w.At.IsZero() && !at.Before(w.Spared) && lifeless(w.Last, r, at.Sub(w.At), silence)
	w.Last, w.At, w.Stopped = r, at, r.Stopped
	if !quiet || w.Stopped {
		w.Quiet, w.Hung = 0, false
		return w
	}
	w.Quiet++
	return w
}

// lifeless reports whether two probes of a process show no activity between them.
func lifeless(before, now bridge.ProbeResult, between, silence time.Duration) bool {
	cpu := time.Duration(now.CPUMS-before.CPUMS) * time.Millisecond
	return !now.Answered &&
		time.Duration(now.SilentMS)*time.Millisecond >= silence &&
		now.TranscriptBytes == before.TranscriptBytes &&
		now.OutputBytes == before.OutputBytes &&
		cpu >= 0 && cpu < time.Duration(float64(between)*idleCPU)
}

// Woken is the watch of a process after the machine slept: nothing is concluded before WakeGrace is over.
func Woken(w AgentWatch, now time.Time) AgentWatch {
	return AgentWatch{Stopped: w.Stopped, Warned: w.Warned, Spared: now.Add(WakeGrace)}
}

// GuardContext checks what a process uses against the limits, in bytes, of its memory and of the output of its
// background tasks; 0: no limit. It warns once about each that is nearly used up, and returns which limit was exceeded;
// empty: none.
func GuardContext(w AgentWatch, r bridge.ProbeResult, memory, output int64) (
	next AgentWatch, warnings []string, exceeded string,
) {
	where := ""
	if r.OutputPath != "" {
		where = " (" + r.OutputPath + ")"
	}
	for _, x := range []struct {
		what, where string
		is, limit   int64
	}{{"memory", "", r.RSSBytes, memory}, {"task output", where, r.OutputBytes, output}} {
		switch {
		case x.limit <= 0 || float64(x.is) < lifecycleWarnShare*float64(x.limit):
			w.Warned = slices.DeleteFunc(slices.Clone(w.Warned), func(what string) bool { return what == x.what })
		case x.is < x.limit:
			if !slices.Contains(w.Warned, x.what) {
				w.Warned = append(slices.Clip(w.Warned), x.what)
				warnings = append(warnings, fmt.Sprintf("%s of %s %s%s", words.Size(x.is), words.Size(x.limit), x.what,
					x.where))
			}
		default:
			return w, warnings, fmt.Sprintf("%s of %s, at most %s%s", words.Size(x.is), x.what, words.Size(x.limit),
				x.where)
		}
	}
	return w, warnings, ""
}

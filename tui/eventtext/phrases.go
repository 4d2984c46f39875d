package eventtext

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Name returns the default name of a party.
func Name(id string) string {
	switch id {
	case contract.Arbiter:
		return "The Arbiter"
	case contract.Human:
		return "You"
	case contract.Supervisor:
		return "The supervisor"
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(id, "orch-")); err == nil && n > 0 && n < 4000 &&
		strings.HasPrefix(id, "orch-") {
		return "Orchestrator " + contract.Roman(n)
	}
	return One(id, MaxName)
}

func Called(name func(string) string, id string) string {
	if name == nil {
		return Name(id)
	}
	if n := One(name(id), MaxName); n != "" {
		return n
	}
	return Name(id)
}

// One returns a text on one line.
func One(s string, max int) string { return strings.TrimSpace(sanitize.Line(s, max)) }

// Decision phrases a decision in the oracle's voice.
func Decision(name func(string) string, d contract.Decision) string {
	to := ""
	if d.To != "" {
		to = Called(name, d.To)
	}
	switch d.Decision {
	case verdict.Complete:
		return "Let it be done." // it takes effect when nothing speaks against it
	case verdict.SelectMode:
		return "Another is summoned" + After(" – ", One(d.Mode, MaxName)) + "."
	case verdict.Continue:
		return "The thread continues" + After(" with ", to) + "."
	case verdict.Retry:
		return "Let it be tried again" + After(" by ", to) + "."
	case verdict.AddressHuman:
		return "A word for you."
	case verdict.AddressOrchestrator:
		return FirstOf(After("A word for ", to), "A word is sent") + "."
	case verdict.Handoff:
		return "Another shall hold the vision."
	}
	return One(d.Decision, MaxName)
}

// Authority names who decided, if it was not the Arbiter's own session.
func Authority(source string) string {
	if text, ok := authorities[source]; ok {
		return text
	}
	return "by " + One(source, MaxName)
}

var authorities = map[string]string{"": "", "session": "", "rules": "by the rules", "human": "by the human",
	"fallback": "by the rules, for want of a valid verdict", "model": "by a model asked once",
	"cache": "as it was ruled before"}

// Ending phrases a result's status in the oracle's voice, and plainly.
func Ending(status string) string {
	return cmp.Or(endings[status], "It has ended: "+One(status, MaxName)+".")
}

var endings = map[string]string{contract.StatusComplete: "It is done.", contract.StatusFailed: "It has failed.",
	contract.StatusIncomplete: "It is done, but a check fails.", contract.StatusLimit: "The limit is reached.",
	contract.StatusCancelled:  "It is ended before its time.",
	contract.StatusNeedsInput: "It waits for a human's word.", contract.StatusInterrupted: "The run was interrupted."}

// Answered describes how a permission was decided.
func Answered(p contract.Permission) string { return One(p.Answered(), MaxSummary) }

func After(separator, text string) string {
	if text == "" {
		return ""
	}
	return separator + text
}

func Percent(pct float64) string {
	if math.IsNaN(pct) || math.IsInf(pct, 0) {
		return "? %"
	}
	return strconv.FormatFloat(math.Round(pct), 'f', 0, 64) + " %"
}

func Dollars(usd float64) string {
	if math.IsNaN(usd) || math.IsInf(usd, 0) {
		return "$?"
	}
	return fmt.Sprintf("$%.2f", usd)
}

// Costs adds to an amount of money that a rehearsal made it up, or that nobody knows how much more there is.
func Costs(amount string, rehearsal, unknown bool) string {
	return amount + Simulated(rehearsal) + map[bool]string{true: " + ?"}[unknown]
}

// Total is what an agent or a run has cost; empty: nothing.
func Total(usd float64, rehearsal, unknown bool) string {
	if usd == 0 && !unknown {
		return ""
	}
	return Costs(Dollars(usd), rehearsal, unknown)
}

// Simulated marks an amount of money that a rehearsal made up.
func Simulated(rehearsal bool) string {
	if rehearsal {
		return " simulated"
	}
	return ""
}

// Span returns a duration as text.
func Span(d time.Duration) string {
	switch {
	case d < 0:
		return ""
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second:
		return strings.TrimSuffix(strconv.FormatFloat(d.Seconds(), 'f', 1, 64), ".0") + " s"
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
}

func millis(ms int64) string {
	if ms > math.MaxInt64/int64(time.Millisecond) || ms < 0 {
		return ""
	}
	return Span(time.Duration(ms) * time.Millisecond)
}

// DecisionNumber returns the number by which a decision can be requested.
func DecisionNumber(d contract.Decision) string { return "no. " + words.Number(d.Number) }

// Warnings returns what went wrong before a decision, one sentence each.
func Warnings(d contract.Decision) []string {
	var list []string
	for _, w := range d.Warnings {
		if text := One(w, MaxWords); text != "" {
			list = append(list, words.Sentence(capital(text)))
		}
	}
	return list
}

// AgentSpawned announces an agent.
func AgentSpawned(e contract.Event, s contract.Spawn, name func(string) string) string {
	who := One(s.Name, MaxName)
	if who == "" {
		who = Called(name, e.ID)
	}
	who = Whole(who, s.Host, s.Make)
	switch {
	case s.Resumed:
		return who + " takes up its thread again" + After(" – ", One(s.Mode, MaxName))
	case e.ID == contract.Arbiter:
		return Name(contract.Arbiter) + " wakes."
	}
	text := who + " is summoned" + After(" – ", One(s.Mode, MaxName))
	if s.SuccessorOf != "" {
		text += ", successor of " + Called(name, s.SuccessorOf)
	}
	return text
}

// OnHost adds the agent's host to its name; an empty host is the one of arbiter, which is not named.
func OnHost(name, host string) string {
	return marked(name, host, " @"+One(host, MaxName))
}

// Whole is the name of an agent on every face: with its host, and with its make unless that is Claude.
func Whole(name, host, make string) string {
	return marked(OnHost(name, host), make, " ["+One(make, MaxName)+"]")
}

func marked(name, of, mark string) string {
	if of == "" || strings.HasSuffix(name, mark) {
		return name
	}
	return name + mark
}

func hostText(h contract.Host) string {
	is := cmp.Or(map[string]string{contract.HostLost: "lost; its agents wait",
		contract.HostWaiting: "waited for"}[h.Status],
		One(h.Status, MaxName))
	return "Host " + One(h.Name, MaxName) + " is " + is + After(": ", One(h.Reason, MaxSummary))
}

const (
	MaxName  = 60  // runes of a name, a tool, a mode: shown in a line with others
	MaxWords = 600 // runes of a text on one line
)

// Asks describes who wants what from the human. name is the name of the item's agent.
func Asks(i supervisor.InboxItem, name string) string {
	switch i.Kind {
	case supervisor.InboxPermission:
		return name + " asks permission"
	case supervisor.InboxTrust:
		return "The workspace needs your trust"
	case supervisor.InboxLimit:
		return "The limit of costs is spent"
	case supervisor.InboxRecovery:
		switch {
		case i.Agent == contract.Supervisor && i.Host != "" && i.Optional:
			return "Host " + One(i.Host, MaxName) + " is lost"
		case i.Agent == contract.Supervisor && i.Host != "":
			return "Host " + One(i.Host, MaxName) + " needs you"
		case i.Optional:
			return name + " has failed"
		}
		return name + " is parked"
	case supervisor.InboxAcceptance:
		return "The end of the task is for you to judge"
	case supervisor.InboxQuestion:
	}
	return "The Arbiter asks"
}

// Age says how long an item has waited, and that nothing waits for it if it is optional.
func Age(i supervisor.InboxItem, now time.Time) string {
	text := "just now"
	if age := i.Age(now); age >= time.Hour {
		text = "for " + Span(age)
	} else if age >= time.Minute {
		text = fmt.Sprintf("for %d min", int(age.Minutes()))
	}
	if i.Optional {
		text += ", can wait"
	}
	return text
}

// takeover describes the state of a takeover, in a sentence about the agent whose session it is.
func takeover(t contract.Takeover, who string) string {
	text := who
	switch t.State {
	case "began":
		text += " is being handed over to you"
	case "open":
		text += " is in your hands"
	case "ended":
		text += " is given back"
		var did []string
		if t.Words > 0 {
			did = append(did, words.Count(t.Words, "word")+" of yours")
		}
		if n := len(t.Files); n > 0 {
			did = append(did, words.Count(n, "file")+" changed: "+One(strings.Join(t.Files[:min(n, 5)], ", "),
				MaxSummary)+After(", and ", more(n-5)))
		}
		text += After(" – ", strings.Join(did, ", "))
	case "failed":
		text += " could not be handed over"
	default:
		text += ": takeover " + One(t.State, MaxName)
	}
	return text + Parenthesis(One(t.Reason, MaxWords))
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return words.Number(n) + " more"
}

// halted reports that everything was stopped, and in which way that was requested.
func halted(h contract.Halted) string {
	text := "Everything is halted"
	switch h.By {
	case "", "screen", "stdin":
	case "socket":
		text += ", from another terminal"
	default:
		text += ", by " + One(h.By, MaxName)
	}
	return text + ". /continue wakes the agents."
}

// Safety describes the restrictions of a run's agents: what is allowed, what confines them, and whether
// files of the workspace are loaded. It is empty for a journal from before these were recorded.
func Safety(s contract.Session) []string {
	var list []string
	if s.Permissions != "" && s.Permissions != "allow-all" { // allow-all is shown as a risk instead
		list = append(list, "permissions: "+One(s.Permissions, MaxName))
	}
	if s.Sandbox == "" {
		return list
	}
	if s.Sandbox != "unsandboxed" {
		list = append(list, One(s.Sandbox, MaxName))
	} else if !unconfined(s) {
		list = append(list, "unsandboxed")
	}
	if s.Trusted {
		return append(list, "workspace trusted")
	}
	return append(list, "workspace not trusted")
}

// unconfined reports whether it is a danger that there is no sandbox.
func unconfined(s contract.Session) bool {
	return s.Sandbox == "unsandboxed" && (s.Permissions == "allow-all" || s.SandboxReason != "" &&
		!strings.HasPrefix(s.SandboxReason, "not asked for"))
}

// Category names a category of errors.
func Category(c string) string { return strings.ReplaceAll(One(c, MaxName), "_", " ") }

func Spent(b contract.Result) []string {
	parts := []string{Dollars(b.CostUSD) + Simulated(b.Rehearsal)}
	if t := millis(b.DurationMS); t != "" {
		parts = append(parts, t)
	}
	if in := b.Usage.Input + b.Usage.CacheRead + b.Usage.CacheCreation; in > 0 || b.Usage.Output > 0 {
		parts = append(parts, words.Tokens(in)+" tokens in", words.Tokens(b.Usage.Output)+" out")
	}
	parts = append(parts, words.Count(b.Iterations, "iteration"))
	if b.Crashes > 0 {
		parts = append(parts, words.Count(b.Crashes, "crash")+" survived")
	}
	if b.Changes != nil && b.Changes.Branch != "" {
		parts = append(parts, "on branch "+One(b.Changes.Branch, MaxName))
	}
	return parts
}

func Opening(s contract.Session) string {
	if s.Resumed {
		return "The thread continues."
	}
	return "The weaving begins."
}

// RiskWarnings are the risks that must always be visible.
func RiskWarnings(s contract.Session) []string {
	var list []string
	if s.Rehearsal {
		list = append(list, "rehearsal"+After(": ", One(s.Scenario, MaxName)))
	}
	if s.StandIn {
		list = append(list, "a stand-in, no real CLI")
	}
	if s.Permissions == "allow-all" {
		list = append(list, "everything is allowed")
	}
	if unconfined(s) {
		list = append(list, "unsandboxed"+After(": ", One(s.SandboxReason, MaxName)))
	}
	return list
}

// Worker returns the mode of a step and the agent that works on it, if they are set.
func Worker(s contract.Step, name func(string) string) string {
	mode := One(s.Mode, MaxName)
	if s.Agent == "" {
		return mode
	}
	return mode + After(map[bool]string{true: ", "}[mode != ""], Called(name, s.Agent))
}

// Tally describes the progress of an agent's own list, and its current task.
func Tally(t contract.Tasks) string {
	done, now := stands(t.Items)
	return words.Number(done) + " of " + words.Number(len(t.Items)) + " done" + After("; now: ", now)
}

func CheckNumber(b contract.Check) string {
	text := "Check " + strconv.Itoa(b.Number) + " of " + strconv.Itoa(b.Of)
	if b.Again {
		text += ", once more before the end"
	}
	return text
}

// LastChange names who changed the files of a check last; empty: unknown.
func LastChange(b contract.Check, name func(string) string) string {
	if len(b.Agents) == 0 {
		return ""
	}
	names := make([]string, len(b.Agents))
	for i, id := range b.Agents {
		names[i] = Called(name, id)
	}
	return "Last to change its files: " + strings.Join(names, ", ")
}

func capital(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// Lower begins one of this package's sentences with a small letter.
func Lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// phases are the words for the states of the task machine.
var phases = map[machine.State]string{
	"": "Starting", machine.Idle: "Idle", machine.Selecting: "Choosing", machine.Executing: "Working",
	machine.Evaluating: "Evaluating", machine.Error: "In trouble",
	machine.Complete: "Complete", machine.Failed: "Failed", machine.Cancelled: "Cancelled",
}

// Phase is the word for a state of the task machine.
func Phase(p machine.State) string { return FirstOf(phases[p], One(string(p), MaxName)) }

// phase is the same within a sentence.
func phase(p string) string { return strings.ToLower(Phase(machine.State(p))) }

// RunState says on every face what a run does.
func RunState(s *supervisor.State, now time.Time) string {
	switch {
	case s.WasInterrupted():
		return "Interrupted"
	case s.Ending != nil && !s.Ending.Said:
		return "Ending"
	case s.Halted:
		return "Halted"
	case s.Lifecycle.AwaitsTrust(supervisor.LifecycleHere):
		return "Blocked: the workspace has changed"
	case s.Paused:
		return "Paused"
	case s.Budget.Holds():
		return "Held for the plan's reserve, until " + s.Budget.HeldUntil.In(now.Location()).Format("Mon 15:04")
	case s.LimitOptions() != nil:
		return "Held: the limit of costs is spent"
	case s.Conversation.Held:
		return "Held"
	}
	return Phase(s.Task.Phase)
}

// AgentState says on every face what an agent does, in a word or two, and since when. waits is what waits for the
// human.
func AgentState(
	s *supervisor.State, a *supervisor.Agent, waits []supervisor.InboxItem,
) (does string, since time.Time) {
	if s.Ending != nil {
		waits = nil
	}
	for _, i := range waits { // the oldest is the first
		asks := i.Kind == supervisor.InboxQuestion || i.Kind == supervisor.InboxAcceptance
		switch {
		case i.Agent == a.ID && i.Request != nil:
			return "permission?", i.Since
		case asks && a.Role == supervisor.RoleArbiter:
			return "asks you", i.Since
		}
	}
	down := a.Status == supervisor.AgentDown
	switch {
	case s.WasInterrupted() && a.Alive():
		return "interrupted", a.Since
	case a.Takeover != nil:
		switch a.Takeover.Stage {
		case supervisor.TakeoverOpen:
			return "in your hands", a.Takeover.Since
		case supervisor.TakeoverClosing, supervisor.TakeoverReading:
			return "is given back", a.Takeover.Since
		}
		return "is being handed over", a.Takeover.Since
	case s.Halted && (down || a.Status == supervisor.AgentRestarting):
		return "halted", a.Since
	case s.Lifecycle.AwaitsTrust(a.Host) && down:
		return "needs your trust", a.Since
	case down && !s.Lifecycle.IsUp(a.Host) && a.Host != supervisor.LifecycleHere:
		return hostWaits(s.Lifecycle.Bridge(a.Host)), a.Since
	case a.Waits():
		return "waits for other starts", a.Start.Queued
	}
	return statusWord(a), a.Since
}

func hostWaits(b supervisor.Bridge) string {
	switch {
	case b.Parked:
		return "its host is not usable"
	case b.Status == supervisor.StatusLost:
		return "its host is lost"
	}
	return "waits for its host"
}

// statusWord is the word for the status of an agent's process, and for where its work stands while it waits.
func statusWord(a *supervisor.Agent) string {
	switch a.Status {
	case supervisor.AgentStarting:
		return "starts"
	case supervisor.AgentDown, supervisor.AgentRestarting:
		return "starts again"
	case supervisor.AgentParked:
		return "parked"
	case supervisor.AgentBusy:
		return "works"
	case supervisor.AgentStopping:
		return "ends"
	case supervisor.AgentEnded:
		return strings.TrimPrefix(standing(a, "")+", ended", ", ")
	}
	return standing(a, "waits")
}

func standing(a *supervisor.Agent, other string) string {
	if a.Role == supervisor.RoleArbiter {
		return other
	}
	switch a.Standing {
	case supervisor.AgentFinished:
		return "done"
	case supervisor.HandedOff:
		return "handed on"
	case supervisor.AgentWaiting:
		if other != "" {
			return "awaits a reply"
		}
	}
	return other
}

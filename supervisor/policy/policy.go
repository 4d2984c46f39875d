package policy

import (
	"encoding/json"
	"slices"
)

// Mode says what happens to a request that no rule matches.
type Mode string

// The modes.
const (
	ModeAsk         Mode = "ask"          // what Claude's default mode would ask about is asked
	ModeRules       Mode = "rules"        // nothing is asked: the rest is denied
	ModeAcceptEdits Mode = "accept-edits" // edits inside of the working directory are allowed
	ModeAllowAll    Mode = "allow-all"
)

// Behaviors of a decision.
const (
	Allow = "allow"
	Deny  = "deny"
	Ask   = "ask"
)

// Who decided.
const (
	ByRule = "rule"
	ByMode = "mode"
)

// Policy is the rules of a run.
type Policy struct {
	Mode             Mode
	Allow, Deny, Ask []Rule
	CWD, Home        string // absolute; without Home, rules with ~ match nothing

	// Resolve follows every symbolic link of an absolute path; what does not exist stays as it is. Nil: this
	// machine's file system.
	Resolve func(path string) (string, error)
	// Exists reports whether something has an absolute path's name, even if it is only a link. Nil: this
	// machine's file system.
	Exists func(path string) (bool, error)
	// FoldsCase says that deny and ask rules also match names in another case. On systems whose file systems
	// usually ignore case they do so anyway.
	FoldsCase bool
}

// folds reports whether deny and ask rules match names in another case.
func (p *Policy) folds() bool { return caseFolds || p.FoldsCase }

// Request is a tool that wants to run.
type Request struct {
	Tool  string
	Input json.RawMessage

	// CWD is the directory at which relative names begin: the one of the session's shell. Empty: the policy's.
	CWD string

	// Asked says that the CLI asks whether the tool may run. In modes ask and accept-edits, Arbiter's own list
	// of harmless requests does not answer that question.
	Asked bool
}

// Decision is what happens to a request. Rule is the text of the rule that decided, if one did; Reason is for a
// person and for the model.
type Decision struct {
	Behavior string
	By       string
	Rule     string
	Reason   string
}

// Decide reports whether the tool may run. It checks the request against one rule after another, and resolves
// the paths of each; for many rules and many decisions, see [Policy.Compile].
func (p Policy) Decide(r Request) Decision { return p.decide(p.newQuery(r)) }

func (p *Policy) decide(q *query) Decision {
	if rule, ok := q.firstMight(q.deny); ok {
		return Decision{Deny, ByRule, rule, "the rule " + rule + " denies it"}
	}
	if p.alwaysAllowed(q) {
		return Decision{Behavior: Allow, By: ByMode, Reason: "never asked for"}
	}
	if rule, ok := q.firstAsked(); ok {
		return p.ask(ByRule, rule, "the rule "+rule+" asks about it")
	}
	if rule, why := q.inDoubt(); why != "" {
		return p.ask(ByRule, rule, "the rule "+rule+" might be about it, because "+why)
	}
	if rule, why := q.filesInDoubt(); why != "" {
		return p.ask(ByRule, rule, "the rule "+rule+" might be about a file of it, because "+why)
	}
	if rule, ok := q.covered(q.allow); ok {
		return Decision{Allow, ByRule, rule, "the rule " + rule + " allows it"}
	}
	return p.byMode(q)
}

func (p *Policy) byMode(q *query) Decision {
	if q.onlyReads() && !p.leftToHuman(q) {
		return Decision{Behavior: Allow, By: ByMode, Reason: "it changes nothing"}
	}
	switch p.Mode {
	case ModeAllowAll:
		return Decision{Behavior: Allow, By: ByMode, Reason: "everything is allowed"}
	case ModeAcceptEdits:
		if editors.has(q.tool) && q.insideCWD() && !q.touchesMachinery() {
			return Decision{Behavior: Allow, By: ByMode, Reason: "edits inside of the working directory are allowed"}
		}
	}
	return p.ask(ByMode, "", "no rule allows "+q.tool)
}

// onlyReads reports whether a tool other than Bash changes nothing and stays within the
// working directory.
func (q *query) onlyReads() bool { return harmless.has(q.tool) || readers.has(q.tool) && q.insideCWD() }

// ask is a question, or a denial where nothing is asked.
func (p *Policy) ask(by, rule, reason string) Decision {
	if p.Mode == ModeRules {
		return Decision{Deny, by, rule, reason + ", and nothing is asked in this mode"}
	}
	return Decision{Ask, by, rule, reason}
}

// alwaysAllowed reports whether a tool is always allowed: Arbiter's own tools, and the subagent tool, because
// each tool call of a subagent is judged itself. A deny rule that names them still applies.
func (p *Policy) alwaysAllowed(q *query) bool {
	_, own := Own(q.tool)
	subagent := StartsSubagent(q.tool)
	return own || subagent && !q.apart() && !p.leftToHuman(q)
}

// leftToHuman reports whether the CLI asks about a tool that Arbiter considers harmless: then a rule of the
// user's own settings requires it. A verdict is never left to the human: a turn has to end.
func (p *Policy) leftToHuman(q *query) bool {
	return q.asked && q.tool != VerdictTool && (p.Mode == ModeAsk || p.Mode == ModeAcceptEdits)
}

// apart reports whether a subagent gets its own directory: creating a worktree goes beyond the tool calls of
// the subagent that are judged themselves.
func (q *query) apart() bool {
	if !StartsSubagent(q.tool) {
		return false
	}
	raw, given := q.input["isolation"]
	if !given {
		return q.broken
	}
	return string(raw) != `""` && string(raw) != "null"
}

// ReadsUnseen reports whether a request is a command line that may read what a deny or ask rule about reading
// protects, although none of its words says so: through a glob, a link or a cd, which Claude's default mode
// allows (observed with CLI 2.1.329).
func (p Policy) ReadsUnseen(r Request) bool { return p.newQuery(r).readsUnseen() }

func (q *query) readsUnseen() bool {
	about := func(r Rule) bool { return readers.has(r.tool) }
	return q.tool == "Bash" && (slices.ContainsFunc(q.deny.rules, about) || slices.ContainsFunc(q.ask.rules, about)) &&
		!q.harmless()
}

// Denied returns the first deny rule that might be about any part of the request, as Decide does. Nobody can be
// asked here, so it also denies what Decide would ask about because it is in doubt.
func (p Policy) Denied(r Request) (rule string, ok bool) { return p.newQuery(r).denied() }

func (q *query) denied() (rule string, ok bool) {
	if rule, ok := q.firstMight(q.deny); ok {
		return rule, true
	}
	rule, why := q.doubtUnder(q.deny)
	return rule, why != ""
}

// Covered returns the allow rules that together cover the whole request. It ignores the mode and deny rules.
func (p Policy) Covered(r Request) (rule string, ok bool) {
	q := p.newQuery(r)
	return q.covered(q.allow)
}

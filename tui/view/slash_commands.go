package view

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// CommandsFor returns the run's command for a slash command in the current state, if there is one; an error says
// why it is not possible.
func CommandsFor(s *supervisor.State, c EditorCommand) (body contract.CommandBody, is bool, err error) {
	switch c.Name {
	case "reword", "withdraw":
		body, err = touch(s, c)
		return body, true, err
	case "permissions":
		if c.Arg(0) == "" {
			return nil, false, nil
		}
		return contract.Configure{Permissions: c.Arg(0), AcceptRisk: c.Arg(1) != ""}, true, nil
	case "allow", "ask", "deny":
		return rule(c)
	case "accept":
		if c.Arg(0) == "" {
			return nil, false, nil
		}
		body, err = accept(s, c)
		return body, true, err
	case "plan":
		if verb := c.Arg(0); verb != "" && verb != "set" && verb != "show" {
			body, err = amended(s, c)
			return body, true, err
		}
	}
	body, is = of(c)
	return body, is, nil
}

// of returns the run's command for a slash command that does not depend on the state.
func of(c EditorCommand) (contract.CommandBody, bool) {
	switch c.Name {
	case "note":
		return say(c, contract.Note), true
	case "steer":
		return say(c, contract.Steer), true
	case "stop":
		return say(c, contract.Stop), true
	case "to":
		return contract.Say{To: c.Arg(0), Text: c.Arg(1)}, true
	case "summon":
		return contract.ForceAgent{Mode: c.Arg(0)}, true
	case "interrupt":
		return contract.Interrupt{ID: c.Arg(0)}, true
	case "kill":
		return contract.Kill{ID: c.Arg(0)}, true
	case "pause":
		return contract.Pause{}, true
	case "continue":
		return contract.Continue{}, true
	case "skip":
		return contract.SkipStep{}, true
	case "retry":
		return contract.RetryLast{}, true
	case "reset":
		return contract.Reset{}, true
	case "choose":
		return contract.Choose{Option: c.Rest}, true
	case "model":
		if c.Arg(0) == "" {
			return nil, false
		}
		return contract.Configure{Model: c.Arg(0), ID: c.Arg(1)}, true
	case "cancel":
		return contract.Cancel{}, true
	case "plan":
		return plan(c)
	}
	return nil, false
}

// plan returns a new plan, one step per line.
func plan(c EditorCommand) (contract.CommandBody, bool) {
	text, set := strings.CutPrefix(c.Rest, "set")
	if !set {
		return nil, false
	}
	steps := []contract.Step{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-*")); line != "" {
			steps = append(steps, contract.Step{Text: line, Status: contract.StepPending})
		}
	}
	return contract.SetPlan{Steps: steps}, true
}

// Permit answers a permission request: /allow, /allow run RULE, /allow always, /deny TEXT.
func Permit(c EditorCommand, request *input.PermissionRequest) contract.Permit {
	p := contract.Permit{Request: request.ID, Behavior: "allow", Action: request.Key()}
	if c.Name == "deny" {
		p.Behavior, p.Message = "deny", c.Rest
		return p
	}
	p.Scope, p.Rule = c.Arg(0), c.Arg(1)
	return p
}

// rule returns the command that adds a permission rule: /ask RULE, and /allow RULE or /deny RULE if a rule
// follows them. Otherwise those two answer a permission request.
func rule(c EditorCommand) (body contract.CommandBody, is bool, err error) {
	text := c.Rest
	if c.Name == "allow" {
		text = c.Arg(1)
		if c.Arg(0) != "" || text == "" {
			return nil, false, nil // it answers the waiting request
		}
	}
	r, err := policy.ParseRule(text)
	switch {
	case c.Name == "deny" && (err != nil || !r.Known()):
		return nil, false, nil // the text is the reason
	case err == nil && !r.Known():
		err = fmt.Errorf("no tool has the name of the rule %s: write one such as Bash(go test *)", text)
	}
	if err != nil {
		return nil, true, err
	}
	configure := contract.Configure{}
	switch c.Name {
	case "allow":
		configure.Allow = text
	case "ask":
		configure.Ask = text
	case "deny":
		configure.Deny = text
	}
	return configure, true, nil
}

var agentID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:arbiter|orch-[1-9][0-9]{0,5})$`)
})

// addressed splits a text into the agent id at its beginning and the rest; empty: there is no id.
func addressed(text string) (to, rest string) {
	word := text
	if i := strings.IndexAny(text, " \t\n"); i >= 0 {
		word = text[:i]
	}
	if !agentID().MatchString(word) {
		return "", text
	}
	return word, strings.TrimSpace(text[len(word):])
}

// Mentioned splits a text such as "@orch-1 stop that" into the agent at its beginning and the rest; empty:
// it does not begin with an existing agent.
func Mentioned(s *supervisor.State, text string) (to, rest string) {
	mention, ok := strings.CutPrefix(text, "@")
	if !ok {
		return "", text
	}
	to, rest = addressed(mention)
	for _, a := range members(s) {
		if a.ID == to && a.Alive() && rest != "" {
			return to, rest
		}
	}
	return "", text
}

// say returns a message with a strength, to the Arbiter or to the agent that is named first.
func say(c EditorCommand, strength string) contract.CommandBody {
	to, text := addressed(c.Rest)
	if text == "" && strength == contract.Stop {
		return contract.Interrupt{ID: to}
	}
	return contract.Say{To: to, Text: text, Strength: strength}
}

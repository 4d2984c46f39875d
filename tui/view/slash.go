package view

// This part of the package turns slash commands into commands of a run, and answers those that only read its
// state. All frontends share it. It is pure.

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// accept returns the command for "/accept COMMAND" and "/accept drop N": the run's criteria with that one
// change. The error says what is wrong.
func accept(s *supervisor.State, c EditorCommand) (set contract.SetAcceptance, err error) {
	if s == nil {
		return set, errors.New("there is no run yet: say what is to be done, or start with --accept")
	}
	criteria := s.Task.Acceptance
	if number, drop := strings.CutPrefix(c.Arg(0), "drop "); drop {
		n, wrong := strconv.Atoi(strings.TrimSpace(number))
		if wrong != nil {
			return set, fmt.Errorf("%q is not a number of a criterion: /accept lists them", SlashWord(number))
		}
		err = criteria.HumanDrops(n)
	} else {
		err = criteria.HumanAdds(supervisor.Criterion{Command: c.Arg(0)})
	}
	if err != nil {
		return set, err
	}
	set.Criteria = []contract.AcceptanceCriterion{}
	for _, c := range criteria.Criteria {
		given := contract.AcceptanceCriterion{Text: c.Text, Command: c.Command}
		if c.By == contract.Arbiter {
			given.By = c.By
		}
		set.Criteria = append(set.Criteria, given)
	}
	return set, nil
}

// criteria lists the acceptance criteria with their last results.
func criteria(s *supervisor.State) string {
	if s == nil || len(s.Task.Acceptance.Criteria) == 0 {
		return "There are no acceptance criteria. " +
			"/accept COMMAND adds a command that must pass before the task is complete."
	}
	var b strings.Builder
	found := map[string]string{}
	for _, r := range s.Task.Acceptance.Results {
		found[r.Text+"\x00"+r.Command] = r.Status
	}
	for i, c := range s.Task.Acceptance.Criteria {
		fmt.Fprintf(&b, "%d. %s", i+1, verbatim(c.Text))
		if c.Command != "" && c.Command != c.Text {
			fmt.Fprintf(&b, " (%s)", verbatim(c.Command))
		}
		fmt.Fprintf(&b, ", set by the %s", c.By)
		if status := found[c.Text+"\x00"+c.Command]; status != "" {
			fmt.Fprintf(&b, ": %s when it was last judged", status)
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// SlashAnswer is a slash command that is answered with a text, on a screen with a title.
type SlashAnswer struct {
	Title string
	Text  func(s *supervisor.State, arg string) string
}

// SlashAnswers are those commands, by name. They work before the first run, too.
var SlashAnswers = map[string]SlashAnswer{
	"task": {"THE TASK", func(s *supervisor.State, _ string) string {
		if s == nil || s.Task.Text == "" {
			return "There is no task yet."
		}
		return sanitize.Text(s.Task.Text)
	}},
	"agents":      {"THE MODES", func(s *supervisor.State, _ string) string { return SlashAgents(s) }},
	"context":     {"HOW FULL", contextSlash},
	"accept":      {"WHAT MUST HOLD", func(s *supervisor.State, _ string) string { return criteria(s) }},
	"cost":        {"THE COST", func(s *supervisor.State, _ string) string { return costSlash(s) }},
	"hosts":       {"THE HOSTS", func(s *supervisor.State, _ string) string { return hosts(s) }},
	"permissions": {"WHAT IS ALLOWED", func(s *supervisor.State, _ string) string { return permissions(s) }},
}

// SlashWord makes a short text from outside fit for one line.
func SlashWord(s string) string { return sanitize.Line(s, 200) }

// SlashName returns the name of a party, with its host and make as on all faces.
func SlashName(s *supervisor.State, id string) string {
	if a := AgentOf(s, id); a != nil && id != contract.Arbiter {
		return eventtext.Whole(SlashWord(a.Name), a.Host, a.Make)
	}
	return eventtext.Name(id) // an agent that was forgotten
}

// SlashOver reports whether an agent's work has ended.
func SlashOver(a *supervisor.Agent) bool {
	return a.Role == supervisor.RoleOrchestrator &&
		(a.Status == supervisor.AgentEnded || a.Status == supervisor.AgentStopping || a.Standing == supervisor.HandedOff)
}

// contextSlash reports how full the contexts are, of one agent or of all running ones.
func contextSlash(s *supervisor.State, id string) string {
	var b strings.Builder
	for _, a := range Members(s) {
		if id != "" && a.ID != id || id == "" && SlashOver(a) {
			continue
		}
		fmt.Fprintf(&b, "- **%s** ", SlashName(s, a.ID))
		if a.Context.Window == 0 {
			b.WriteString("nothing is known yet\n")
			continue
		}
		fmt.Fprintf(&b, "%d of %d tokens, %.1f %%", a.Context.Tokens, a.Context.Window, a.Context.Pct)
		if a.Context.TurnsLeft > 0 {
			fmt.Fprintf(&b, ", about %s before it must hand off", words.Count(a.Context.TurnsLeft, "turn"))
		}
		if a.Compactions > 0 {
			fmt.Fprintf(&b, ", compacted %s", words.Count(a.Compactions, "time"))
		}
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "There is no such agent."
	}
	fmt.Fprintf(&b, "\nAn agent is warned at %g %% and told to hand off at %g %%.", s.Options.ContextWarn,
		s.Options.ContextCritical)
	return b.String()
}

// AgentOf returns an agent of a run; nil: there is none.
func AgentOf(s *supervisor.State, id string) *supervisor.Agent {
	for _, a := range Members(s) {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// AgentNamed returns the agent that an id or a name means, ignoring case; empty: there is none.
func AgentNamed(s *supervisor.State, text string) (id string) {
	for _, a := range Members(s) {
		if strings.EqualFold(text, a.ID) || strings.EqualFold(text, a.Name) {
			return a.ID
		}
	}
	return ""
}

// Addressed returns a command with the ids of agents in the place of their names.
func Addressed(s *supervisor.State, c EditorCommand) EditorCommand {
	known, _ := Lookup(c.Name)
	c.Args = slices.Clone(c.Args)
	for i, p := range known.params[:min(len(known.params), len(c.Args))] {
		if p.want == WantAgent {
			c.Args[i] = cmp.Or(AgentNamed(s, c.Args[i]), c.Args[i])
		}
	}
	return c
}

// Members returns the agents of a run; none: there is no run.
func Members(s *supervisor.State) []*supervisor.Agent {
	if s == nil {
		return nil
	}
	return s.Agents
}

func costSlash(s *supervisor.State) string {
	if s == nil {
		return "Nothing yet."
	}
	var b strings.Builder
	used := s.Used()
	mark := eventtext.Simulated(s.Options.Rehearsal)
	fmt.Fprintf(&b, "%s in all", runCost(s, fmt.Sprintf("**$%.4f**", s.Spent())))
	if s.Options.MaxCostUSD > 0 {
		fmt.Fprintf(&b, ", of $%.2f at most", s.Options.MaxCostUSD)
	}
	fmt.Fprintf(&b, "\n\n| tokens | |\n|---|--:|\n| in | %d |\n| read from the cache | %d |\n| written to the cache "+
		"| %d |\n| out | %d |\n\n| agent | cost%s |\n|---|--:|\n",
		used.Input, used.CacheRead, used.CacheCreation, used.Output, mark)
	for _, a := range s.Agents {
		fmt.Fprintf(&b, "| %s | %s |\n", cell(SlashName(s, a.ID)), eventtext.Costs(fmt.Sprintf("$%.4f", a.Spent()), false,
			a.CostUnknown))
	}
	if s.Options.Rehearsal {
		b.WriteString("\nA rehearsal: these are the prices of a scripted model, and nothing is paid.")
	}
	return b.String()
}

// permissions reports what is allowed, asked and denied.
func permissions(s *supervisor.State) string {
	if s == nil {
		return "There is no run yet."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Mode: **%s**\n\n", SlashWord(s.Options.Permissions))
	list := func(title string, rules []string) {
		fmt.Fprintf(&b, "%s\n\n", title)
		for _, r := range rules {
			fmt.Fprintf(&b, "- %s\n", code(r))
		}
		if len(rules) == 0 {
			b.WriteString("- none\n")
		}
		b.WriteString("\n")
	}
	list("Denied by rules:", s.Options.Deny)
	list("Asked for by rules:", s.Options.Ask)
	list("Allowed by rules:", s.Options.Allow)
	list("Allowed by your answers, for this run:", s.Permission.Rules)
	fmt.Fprintf(&b, "Allowed by you for this run: %s. Waiting for you: %d.\n\nTo change it: /permissions MODE, "+
		"/allow RULE, /ask RULE, /deny RULE. The Arbiter reads and rules; it changes nothing, whatever the rules say.",
		words.Count(len(s.Permission.Actions), "action"), len(s.Permission.Open))
	return b.String()
}

// CommandsFor returns the run's command for a slash command in the current state, if there is one; an error says
// why it is not possible.
func CommandsFor(s *supervisor.State, c EditorCommand) (body contract.CommandBody, is bool, err error) {
	switch c.Name {
	case "permissions", "accept", "model":
		if c.Arg(0) == "" {
			return nil, false, nil
		}
	}
	switch c.Name {
	case "reword", "withdraw":
		body, err = touch(s, c)
		return body, true, err
	case "permissions":
		return contract.Configure{Permissions: c.Arg(0), AcceptRisk: c.Arg(1) != ""}, true, nil
	case "allow", "ask", "deny":
		if c.Name == "allow" && s != nil && slices.ContainsFunc(s.Permission.Open, input.PermissionRequest.Elicits) {
			return nil, false, nil // the text is an answer
		}
		return rule(c)
	case "accept":
		body, err = accept(s, c)
		return body, true, err
	case "model":
		return contract.Configure{Model: c.Arg(0), ID: c.Arg(1)}, true, nil
	case "plan":
		if verb := c.Arg(0); verb != "" && verb != "set" && verb != "show" {
			body, err = amended(s, c)
			return body, true, err
		}
		body, is = plan(c)
		return body, is, nil
	}
	if of := bodies()[c.Name]; of != nil {
		return of(c), true, nil
	}
	return nil, false, nil
}

// bodies are the run's commands for slash commands that do not depend on the state.
var bodies = sync.OnceValue(func() map[string]func(c EditorCommand) contract.CommandBody {
	return map[string]func(c EditorCommand) contract.CommandBody{
		"note":      func(c EditorCommand) contract.CommandBody { return say(c, contract.Note) },
		"steer":     func(c EditorCommand) contract.CommandBody { return say(c, contract.Steer) },
		"stop":      func(c EditorCommand) contract.CommandBody { return say(c, contract.Stop) },
		"to":        func(c EditorCommand) contract.CommandBody { return contract.Say{To: c.Arg(0), Text: c.Arg(1)} },
		"summon":    func(c EditorCommand) contract.CommandBody { return contract.ForceAgent{Mode: c.Arg(0)} },
		"interrupt": func(c EditorCommand) contract.CommandBody { return contract.Interrupt{ID: c.Arg(0)} },
		"kill":      func(c EditorCommand) contract.CommandBody { return contract.Kill{ID: c.Arg(0)} },
		"choose":    func(c EditorCommand) contract.CommandBody { return contract.Choose{Option: c.Rest} },
		"pause":     func(EditorCommand) contract.CommandBody { return contract.Pause{} },
		"continue":  func(EditorCommand) contract.CommandBody { return contract.Continue{} },
		"skip":      func(EditorCommand) contract.CommandBody { return contract.SkipStep{} },
		"retry":     func(EditorCommand) contract.CommandBody { return contract.RetryLast{} },
		"reset":     func(EditorCommand) contract.CommandBody { return contract.Reset{} },
		"cancel":    func(EditorCommand) contract.CommandBody { return contract.Cancel{} },
	}
})

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
func Permit(c EditorCommand, request *input.PermissionRequest) (contract.CommandBody, error) {
	e, text := request.Event(), "n "+c.Rest
	switch {
	case c.Name == "allow" && request.Elicits():
		text = "y " + c.Rest
	case c.Name == "allow":
		text = cmp.Or(c.Arg(0), contract.ScopeOnce) + " " + c.Arg(1)
	}
	return supervisor.InboxItem{ID: request.ID, Request: &e}.Answer(text)
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
	of := map[string]contract.Configure{"allow": {Allow: text}, "ask": {Ask: text}, "deny": {Deny: text}}
	return of[c.Name], true, nil
}

var agentID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:arbiter|orch-[1-9][0-9]{0,5})(?:[ \t\n]|$)`)
})

// addressed splits a text into the agent id at its beginning and the rest; empty: there is no id.
func addressed(text string) (to, rest string) {
	to = agentID().FindString(text)
	return strings.TrimSpace(to), strings.TrimSpace(text[len(to):])
}

// Mentioned splits a text such as "@orch-1 stop that" into the agent at its beginning and the rest; empty:
// it does not begin with an existing agent.
func Mentioned(s *supervisor.State, text string) (to, rest string) {
	mention, ok := strings.CutPrefix(text, "@")
	if !ok {
		return "", text
	}
	to, rest = addressed(mention)
	if a := AgentOf(s, to); a != nil && a.Alive() && rest != "" {
		return to, rest
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

// Draft is a plan that a person changes. It becomes the run's plan only when it is saved. Changes of the
// run to its plan are merged in, field by field; the person's changes take precedence. What both have
// changed is kept as a Clash.
type Draft struct {
	base    []contract.Step // the run's plan on which it is based
	steps   []drafted
	clashes []string
}

// drafted is a step of a draft, with the index of its step in the base; -1: a new one.
type drafted struct {
	contract.Step
	from int
}

// NewDraft returns a draft without changes.
func NewDraft(plan []contract.Step) *Draft {
	d := &Draft{base: slices.Clone(plan)}
	for i, s := range plan {
		d.steps = append(d.steps, drafted{s, i})
	}
	return d
}

// Steps returns the changed plan; never nil.
func (d *Draft) Steps() []contract.Step {
	steps := make([]contract.Step, len(d.steps))
	for i, s := range d.steps {
		steps[i] = s.Step
	}
	return steps
}

// Len returns how many steps there are.
func (d *Draft) Len() int { return len(d.steps) }

// Changed reports whether saving would change the run's plan.
func (d *Draft) Changed() bool { return !slices.Equal(d.Steps(), d.base) }

// Touched reports whether a step is new or differs from the run's.
func (d *Draft) Touched(i int) bool {
	s := d.steps[i]
	return s.from < 0 || s.Step != d.base[s.from]
}

// Clashes describes what the person and the run have both changed; the draft holds the person's version.
func (d *Draft) Clashes() []string { return d.clashes }

// Add inserts a step before the one with that number, counted from 0.
func (d *Draft) Add(at int, text string) {
	d.steps = slices.Insert(d.steps, min(max(at, 0), len(d.steps)),
		drafted{contract.Step{Text: text, Status: contract.StepPending}, -1})
}

// SetText, SetMode and Mark change a step.
func (d *Draft) SetText(i int, text string) { d.steps[i].Text = text }
func (d *Draft) SetMode(i int, mode string) { d.steps[i].Mode = mode }
func (d *Draft) Mark(i int, status string)  { d.steps[i].Status = status }

// Delete removes a step.
func (d *Draft) Delete(i int) { d.steps = slices.Delete(d.steps, i, i+1) }

// Move moves a step by so many places, and returns its new place.
func (d *Draft) Move(i, by int) int {
	s := d.steps[i]
	to := min(max(i+by, 0), len(d.steps)-1)
	d.steps = slices.Insert(slices.Delete(d.steps, i, i+1), to, s)
	return to
}

// Follow takes over the run's new plan, and reports whether some of it had to be merged with changes of the
// person.
func (d *Draft) Follow(plan []contract.Step) (merged bool) {
	if slices.Equal(plan, d.base) {
		return false
	}
	if !d.Changed() {
		*d = *NewDraft(plan)
		return false
	}
	partner := pairs(d.base, plan)
	d.gone(plan, partner)
	var steps []drafted
	taken := make([]bool, len(plan))
	for _, s := range d.steps {
		if kept, ok := d.rebased(s, plan, partner, taken); ok {
			steps = append(steps, kept)
		}
	}
	for _, t := range partner { // including those that the person deleted
		if t >= 0 {
			taken[t] = true
		}
	}
	for t, s := range plan {
		if !taken[t] {
			behind := slices.IndexFunc(steps, func(s drafted) bool { return t > 0 && s.from == t-1 })
			if behind < 0 && t > 0 {
				behind = len(steps) - 1
			}
			steps = slices.Insert(steps, behind+1, drafted{s, t})
		}
	}
	d.base, d.steps = slices.Clone(plan), steps
	return true
}

// pairs finds for each step of one plan the matching step of another, -1 for none: the step with the same
// text, otherwise, if both plans have the same length, the step at the same place.
func pairs(old, plan []contract.Step) []int {
	partner := make([]int, len(old))
	used := make([]bool, len(plan))
	for i, s := range old {
		partner[i] = -1
		for t := range plan {
			if plan[t].Text == s.Text && !used[t] {
				partner[i], used[t] = t, true
				break
			}
		}
	}
	for i := range old {
		if partner[i] < 0 && len(old) == len(plan) && !used[i] {
			partner[i], used[i] = i, true
		}
	}
	return partner
}

// gone records steps that the person deleted and the run has changed.
func (d *Draft) gone(plan []contract.Step, partner []int) {
	for i, t := range partner {
		deleted := !slices.ContainsFunc(d.steps, func(s drafted) bool { return s.from == i })
		if deleted && t >= 0 && plan[t] != d.base[i] {
			d.clash("%s: you have deleted it; it is %s now", plan[t].Text, state(plan[t].Status))
		}
	}
}

// rebased returns a step of the draft on the run's new plan; false: the run has dropped it, and the person
// had not changed it.
func (d *Draft) rebased(s drafted, plan []contract.Step, partner []int, taken []bool) (drafted, bool) {
	t := -1
	if s.from >= 0 {
		t = partner[s.from]
	} else if t = slices.IndexFunc(plan, func(p contract.Step) bool { return p.Text == s.Text }); t >= 0 &&
		(taken[t] || slices.Contains(partner, t)) {
		t = -1
	}
	switch {
	case t < 0 && s.from < 0:
		return s, true
	case t < 0 && s.Step == d.base[s.from]:
		return s, false
	case t < 0:
		d.clash("%s: it was taken out of the plan; you have changed it", s.Text)
		return drafted{s.Step, -1}, true
	}
	taken[t] = true
	theirs, base := plan[t], contract.Step{Text: s.Text, Status: contract.StepPending} // if both have added it
	if s.from >= 0 {
		base = d.base[s.from]
	}
	merge := func(mine *string, base, theirs, what string) {
		switch {
		case *mine == base || *mine == theirs:
			*mine = theirs
		case theirs != base:
			d.clash("%s: its %s is %s now; you have set %s", s.Text, what, state(theirs), state(*mine))
		}
	}
	merge(&s.Status, base.Status, theirs.Status, "status")
	merge(&s.Mode, base.Mode, theirs.Mode, "mode")
	merge(&s.Agent, base.Agent, theirs.Agent, "agent")
	merge(&s.Text, base.Text, theirs.Text, "text")
	return drafted{s.Step, t}, true
}

func (d *Draft) clash(format string, args ...any) {
	for i, a := range args {
		if text, ok := a.(string); ok {
			args[i] = SlashWord(text)
		}
	}
	if text := fmt.Sprintf(format, args...); !slices.Contains(d.clashes, text) {
		d.clashes = append(d.clashes, text)
	}
}

func state(s string) string {
	if s == "" {
		return "none"
	}
	return strings.ReplaceAll(s, "_", " ")
}

// hosts lists the hosts of a run: the state of each, the agents on it, and what to do about one that is parked or lost.
func hosts(s *supervisor.State) string {
	if s == nil || len(s.Options.Hosts) == 0 {
		return "All agents live on this machine. `arbiter --hosts` lets Orchestrators live on others."
	}
	var b strings.Builder
	b.WriteString("| host | | Orchestrators | slots |\n|---|---|---|--:|\n")
	again := ""
	for _, h := range s.Options.Hosts {
		known := s.Lifecycle.Bridge(h.Name)
		var agents []string
		for _, a := range Members(s) {
			if a.Host == h.Name && !SlashOver(a) {
				agents = append(agents, cell(SlashName(s, a.ID)))
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", cell(h.Name), cell(hostStatus(known)), strings.Join(agents, ", "),
			h.Slots)
		if known.Parked {
			again += fmt.Sprintf("\n%[1]s is not tried again before you say so: `/choose retry host %[1]s`", SlashWord(h.Name))
		} else if known.Status == supervisor.StatusLost {
			again += fmt.Sprintf("\n%[1]s is tried again with growing pauses; at once with `/choose retry host %[1]s`",
				SlashWord(h.Name))
		}
	}
	if again != "" {
		b.WriteString(again + "\n")
	}
	return b.String()
}

// hostStatus describes the state of a host, and its reason.
func hostStatus(b supervisor.Bridge) string {
	text := string(b.Status)
	switch {
	case b.Parked:
		text = "parked"
	case b.Status == "":
		return "not used yet"
	}
	if b.Reason != "" && b.Status != supervisor.StatusUp {
		text += ": " + sanitize.Line(b.Reason, 150)
	}
	if !b.Until.IsZero() && b.Status != supervisor.StatusUp {
		text += ", not used before " + eventtext.Clock(b.Until, time.Now(), time.TimeOnly)
	}
	return text
}

// SlashAgents describes the modes of a run: when each is used, what it may do, its source, and its results.
func SlashAgents(s *supervisor.State) string {
	var b strings.Builder
	for _, m := range Modes(s) {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", SlashWord(m.Name), plainText(sanitize.Text(m.Description)))
		field := func(name, value string) {
			if value != "" {
				fmt.Fprintf(&b, "- %s: %s\n", name, value)
			}
		}
		field("tools", tools(m))
		field("model", code(eventtext.FirstOf(m.Model, "the run's")))
		field("effort", code(m.Effort))
		field("limits", limits(m.Limits))
		field("from", code(eventtext.FirstOf(m.Source, "built-in")))
		field("of late", performance(s, m.Name))
		b.WriteString("\n")
	}
	if b.Len() == 0 {
		return "This run has no modes."
	}
	return b.String()
}

// plainText prevents a description from becoming a heading of the page.
func plainText(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, l := range lines {
		if t := strings.TrimLeft(l, " \t"); strings.HasPrefix(t, "#") {
			lines[i] = `\` + t
		}
	}
	return strings.Join(lines, "\n")
}

// code returns a word in the form that is shown unchanged.
func code(text string) string {
	fence := "`"
	if text = SlashWord(text); text == "" {
		return ""
	}
	if strings.Contains(text, fence) {
		text = " " + text + " "
	}
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + text + fence
}

// cell returns a text as one cell of a table.
func cell(text string) string { return strings.ReplaceAll(verbatim(text), "|", `\|`) }

// verbatim is code for a text that Markdown would change, such as the name __init__.py.
func verbatim(text string) string {
	if strings.ContainsAny(text, "*_`~[<|\\") {
		return code(text)
	}
	return SlashWord(text)
}

func tools(m agents.Agent) string {
	list := "all"
	if m.Tools != nil {
		list = "none"
		if len(m.Tools) > 0 {
			list = codes(m.Tools)
		}
	}
	if len(m.DisallowedTools) > 0 {
		list += ", but not " + codes(m.DisallowedTools)
	}
	return list
}

func codes(list []string) string {
	var out []string
	for _, one := range list {
		out = append(out, code(one))
	}
	return strings.Join(out, ", ")
}

func limits(l agents.Limits) string {
	var parts []string
	if l.MaxTurns > 0 {
		parts = append(parts, words.Count(l.MaxTurns, "turn"))
	}
	if l.MaxCostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f", l.MaxCostUSD))
	}
	if l.Timeout > 0 {
		parts = append(parts, l.Timeout.String())
	}
	return strings.Join(parts, ", ")
}

// performance describes the results of a mode in this task; empty if it was not used.
func performance(s *supervisor.State, mode string) string {
	if s == nil {
		return ""
	}
	p := s.Task.History.Performance(mode)
	if p == nil || math.IsNaN(p.SuccessRate) { // it was always cancelled
		return ""
	}
	text := fmt.Sprintf("%.0f %% succeeded", p.SuccessRate)
	if p.IterationAverage > 0 {
		text += fmt.Sprintf(", %.1f executions to a success", p.IterationAverage)
	}
	if p.LastSuccess != "" {
		text += "; last success " + whenText(p.LastSuccess)
	}
	if p.LastFailure != "" {
		text += "; last failure " + whenText(p.LastFailure)
	}
	return text
}

func whenText(stamp string) string {
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return SlashWord(stamp)
	}
	return at.Local().Format(time.DateTime)
}

// slashMarks are the words that set a step's status.
var slashMarks = map[string]string{
	"done": contract.StepDone,
	"skip": contract.StepSkipped, "skipped": contract.StepSkipped,
	"fail": contract.StepFailed, "failed": contract.StepFailed,
	"start": contract.StepActive, "active": contract.StepActive,
	"pending": contract.StepPending,
}

const planWords = "done, start, skip, fail, pending, up, down, delete, text … or mode …"

// amended returns the command for "/plan add TEXT" and "/plan N CHANGE": the run's plan with that one
// change. The error says what is wrong.
func amended(s *supervisor.State, c EditorCommand) (contract.SetPlan, error) {
	if s == nil {
		return contract.SetPlan{}, errors.New("there is no plan yet: say what is to be done")
	}
	d := NewDraft(s.Task.Plan)
	verb, rest := c.Arg(0), c.Arg(1)
	if verb == "add" {
		d.Add(d.Len(), rest)
		return contract.SetPlan{Steps: d.Steps()}, nil
	}
	n, err := strconv.Atoi(verb)
	if err != nil || n < 1 || n > d.Len() {
		return contract.SetPlan{}, fmt.Errorf("there is no step %s; the plan has %d", SlashWord(verb), d.Len())
	}
	if err := amend(d, s, n-1, rest); err != nil {
		return contract.SetPlan{}, fmt.Errorf("step %d: %w", n, err)
	}
	return contract.SetPlan{Steps: d.Steps()}, nil
}

// amend changes one step, counted from 0.
func amend(d *Draft, s *supervisor.State, i int, change string) error {
	word, rest, _ := strings.Cut(change, " ")
	rest = strings.TrimSpace(rest)
	word = strings.ToLower(word)
	if word != "text" && word != "mode" && rest != "" {
		return fmt.Errorf("%q is none of %s", SlashWord(change), planWords)
	}
	if status, ok := slashMarks[word]; ok {
		d.Mark(i, status)
		return nil
	}
	switch word {
	case "up":
		d.Move(i, -1)
	case "down":
		d.Move(i, 1)
	case "delete":
		d.Delete(i)
	case "text":
		if rest == "" {
			return errors.New("its new text is missing")
		}
		d.SetText(i, rest)
	case "mode":
		if rest != "" && !HasMode(s, rest) {
			var names []string
			for _, m := range Modes(s) {
				names = append(names, SlashWord(m.Name))
			}
			return fmt.Errorf("there is no mode %q; modes: %s", SlashWord(rest), strings.Join(names, ", "))
		}
		d.SetMode(i, rest)
	default:
		return fmt.Errorf("%q is none of %s", SlashWord(change), planWords)
	}
	return nil
}

// Modes returns the modes in which an Orchestrator of a run can be spawned.
func Modes(s *supervisor.State) []agents.Agent {
	if s != nil && s.Options.Modes != nil {
		return s.Options.Modes
	}
	return agents.List()
}

// HasMode reports whether a run has a mode.
func HasMode(s *supervisor.State, name string) bool {
	return slices.ContainsFunc(Modes(s), func(m agents.Agent) bool { return m.Name == name })
}

// SlashPlan returns a run's plan, one step per line.
func SlashPlan(s *supervisor.State) string {
	if s == nil || len(s.Task.Plan) == 0 {
		return "There is no plan yet."
	}
	var b strings.Builder
	for i, step := range s.Task.Plan {
		fmt.Fprintf(&b, "%d. %s: %s", i+1, SlashWord(step.Status), SlashWord(step.Text))
		if step.Agent != "" {
			fmt.Fprintf(&b, " (%s)", SlashName(s, step.Agent))
		} else if step.Mode != "" {
			fmt.Fprintf(&b, " (for a %s)", SlashWord(step.Mode))
		}
		if price := eventtext.Price(supervisor.ForecastOf(&s.Options, step.Mode)); price != "" &&
			(step.Status == contract.StepPending || step.Status == contract.StepActive) {
			b.WriteString(" " + price)
		}
		b.WriteString("\n")
	}
	if all, _ := supervisor.ForecastPlan(&s.Options, s.Task.Plan); all.From > 0 {
		fmt.Fprintf(&b, "\nThe open steps: %s, by earlier runs here.\n", eventtext.Price(all))
	}
	return b.String()
}

// SlashWaiting lists the human's messages that no agent has received yet, oldest first: they can be changed, and
// most of them withdrawn.
func SlashWaiting(s *supervisor.State) []supervisor.Mail {
	if s == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Conversation.Mail), func(m supervisor.Mail) bool {
		return m.From != contract.Human || m.Wire != ""
	})
}

// touch returns the command for /reword and /withdraw, or an error if it is not possible.
func touch(s *supervisor.State, c EditorCommand) (contract.CommandBody, error) {
	list := SlashWaiting(s)
	if len(list) == 0 {
		return nil, errors.New("no message of yours waits: what was said is on its way")
	}
	id := list[len(list)-1].ID
	if c.Name == "withdraw" {
		return contract.WithdrawMessage{MessageID: id}, nil
	}
	return contract.EditMessage{MessageID: id, Text: c.Rest}, nil
}

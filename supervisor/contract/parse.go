package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Scopes of a permission.
const (
	ScopeOnce   = "once"
	ScopeRun    = "run"
	ScopeAlways = "always" // also in later runs in this workspace
)

// field describes one field of a command; the parser and the schema use the same table. What its value is, the type
// of the command says.
type field struct {
	name     string
	required bool
	enum     []string
	items    []field // of the objects of a list
	item     any     // such an object, with its defaults
	most     int     // how many strings a list has at most
	about    string
	unlisted bool // it is taken, and the schema does not list it
}

// form describes one command.
type form struct {
	body   CommandBody
	about  string
	fields []field
}

// agentID names the agent that a command is about.
var agentID = field{name: "id", required: true, about: "The agent's id."}

// forms lists every command.
var forms = []form{
	{Say{}, "A message of the human to the Arbiter, or to the agent in `to`.", []field{
		{name: "text", required: true, about: "The text; 1 MiB at most."},
		{name: "to", about: "An agent's id, such as orch-1; absent: the Arbiter."},
		{name: "strength", enum: []string{Note, Steer, Stop},
			about: "note (default): with the next turn; steer: into the running turn after the current tool call; stop: " +
				"the running turn is interrupted first."},
		{name: "images", most: MaxImages, about: "Paths of images (PNG, JPEG, GIF or WebP, 3.9 MB at most), from the " +
			"run's directory. The run keeps a copy of each."},
	}},
	{Permit{}, "The answer to a permission_request.", []field{
		{name: "request", required: true, about: "The id of the permission_request."},
		{name: "behavior", required: true, enum: []string{bridge.Allow, bridge.Deny}, about: "The answer."},
		{name: "scope", enum: []string{ScopeOnce, ScopeRun, ScopeAlways},
			about: "once (default); run: for the rest of the run; always, with allow only: also in later runs in this " +
				"workspace."},
		{name: "rule", about: "With scope run or always: the rule to allow or deny, such as a suggestion. It must cover " +
			"the request, and decides all other open requests that it covers, too. Absent: only the same action."},
		{name: "action", about: "If given, it must be the request's."},
		{name: "message", about: "With deny: the reason, which the agent reads. With allow of an MCP server's question " +
			"(tool Elicitation): the answer, as a JSON object, or the value of its only field."},
	}},
	{EditMessage{}, "Changes a message of the human that was neither sent nor delivered yet.", []field{
		{name: "message_id", required: true, about: "The id of the message event."},
		{name: "text", required: true, about: "The new text."},
	}},
	{WithdrawMessage{}, "Withdraws a message of the human that was not sent yet.", []field{
		{name: "message_id", required: true, about: "The id of the message event."},
	}},
	{Attach{}, "Hands an agent's session to the human: its process ends cleanly, messages to it wait, and " +
		"`arbiter attach` or the screen shows its terminal.", []field{agentID}},
	{Detach{}, "Gives an agent's session back, and tells the Arbiter what the human did.", []field{agentID}},
	{Halt{}, "Stops every agent at once. The run stays open; continue starts the agents again.", nil},
	{Interrupt{}, "Stops the running turn of one agent, or of all.", []field{
		{name: "id", about: "The agent's id; absent: all agents."},
	}},
	{Kill{}, "Ends an agent.", []field{agentID}},
	{Pause{}, "Holds back all messages to agents.", nil},
	{Continue{}, "Sends messages again, and starts halted agents again.", nil},
	{ForceAgent{}, "Summons an Orchestrator with the given mode.", []field{
		{name: "mode", required: true, about: "The mode, an agent definition's name."},
	}},
	{SkipStep{}, "Skips the current step of the plan.", nil},
	{RetryLast{}, "Asks the last agent to try again.", nil},
	{Reset{}, "Releases the Orchestrators and returns to idle.", nil},
	{SetPlan{}, "Replaces the plan.", []field{
		{name: "steps", required: true, items: stepFields, item: Step{Status: StepPending},
			about: "The whole plan, in order; empty: no plan."},
	}},
	{SetAcceptance{},
		"Replaces all acceptance criteria, including the Arbiter's. Only a human can drop or change " +
			"a human's criterion.",
		[]field{
			{name: "criteria", required: true, items: criterionFields, item: AcceptanceCriterion{},
				about: "All criteria, in order; empty: none."},
		}},
	{Choose{}, "Chooses one of the options that an error or a question offered last.", []field{
		{name: "option", required: true, about: "The option, as in recovery_options or options."},
	}},
	{Configure{}, "Changes one setting of the run, at once, after every resume and for open requests: a model, how " +
		"permissions are decided, another rule, or a cost limit.", []field{
		{name: "id", about: "With model: the agent's id; absent: all agents, including later ones."},
		{name: "model", about: "The model's name or alias, as the CLI takes it."},
		{name: "permissions", enum: fieldEnums["session.permissions"],
			about: "What happens to a tool call that no rule covers."},
		{name: "allow", about: "A rule: allow what it covers."},
		{name: "ask", about: "A rule: ask about what it covers; over allow."},
		{name: "deny", about: "A rule: deny what it covers; over ask and allow."},
		{name: "i_accept_the_risk",
			about: "Required with allow-all, which lets every agent run anything without asking."},
		{name: "max_cost", about: "The cost limit of the run in US dollars; 0: no limit."},
		{name: "max_cost_per_agent", about: "The cost limit of one Orchestrator; 0: no limit."},
		{name: "max_cost_per_day",
			about: "The cost limit of all runs of a day, in a run that was started with one; 0: no limit."},
	}},
	{Revert{}, "Makes a file, or one hunk of it, what it was when the run began. Arbiter rejects it if the file was " +
		"modified since the last snapshot. The answer comes when it is done; the agents learn of it.", []field{
		{name: "path", required: true, about: "The file, relative to the top of the work tree, as in `changes`."},
		{name: "seen", about: "The Git object of the contents to revert, as in `diff --json`; rejected if the run has " +
			"recorded others since. Absent: any contents."},
		{name: "hunk", about: "As in its header in a unified diff: `-12,3 +12,5`; it needs seen. Absent: the whole file."},
	}},
	{Cancel{}, "Ends the run.", nil},
}

// stepFields are those of one step of set_plan.
var stepFields = []field{
	{name: "text", required: true, about: "What is to be done."},
	{name: "status", enum: []string{StepPending, StepActive, StepDone, StepFailed, StepSkipped},
		about: "The step's status; absent: pending."},
	{name: "agent", about: "The agent that works, or worked, on the step."},
	{name: "mode", about: "The mode that the step is meant for."},
	// A screen on which the plan is edited gives each step back as it was shown, with its make. The schema is a promise
	// to scripts, which TestFrozenSchemas holds, and promises no way to choose a make: the Arbiter does that.
	{name: "make", unlisted: true},
}

// criterionFields are those of one criterion of set_acceptance.
var criterionFields = []field{
	{name: "text", required: true, about: "What must hold before the task is complete."},
	{name: "command", about: "A shell command that proves it by exit code 0; absent: nothing proves it."},
	{name: "by", enum: []string{"human", "arbiter"},
		about: "human (default), or arbiter: the criterion remains one of the Arbiter's, whose command " +
			"needs permission."},
}

// rawKept limits how many bytes of its line a Malformed keeps.
const rawKept = 4 << 10

// ParseCommand reads one line. A line that is not a command comes back as Malformed,
// whose Problem says what is wrong, where, and what is expected.
func ParseCommand(line []byte) Command {
	line = bytes.TrimSpace(line)
	all, err := jsonl.Members(line)
	cmd := Command{Ref: refOf(all)}
	if err == nil {
		cmd.Body, err = commandBody(line, all)
	}
	if err != nil {
		cmd.Body = malformed(err.Error(), line)
	}
	return cmd
}

func malformed(problem string, line []byte) Malformed {
	return Malformed{Problem: problem, Raw: bytes.Clone(line[:min(len(line), rawKept)])}
}

// refOf returns the reference, even of a line that is otherwise broken.
func refOf(all []jsonl.Member) string {
	for _, m := range all {
		if m.Key == "ref" {
			if ref, err := refText(m.Value); err == nil {
				return ref
			}
		}
	}
	return ""
}

func refText(value json.RawMessage) (string, error) {
	switch jsonl.KindOf(value) {
	case "a string":
		var s string
		err := json.Unmarshal(value, &s)
		return s, err
	case "a number":
		return string(value), nil
	}
	return "", fmt.Errorf("field `ref`: expected a string or a number, got %s", jsonl.KindOf(value))
}

func commandBody(line []byte, all []jsonl.Member) (CommandBody, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("not valid JSON: the line is not UTF-8")
	}
	if bytes.IndexByte(line, 0) >= 0 {
		return nil, errors.New("the line contains a NUL byte")
	}
	kind, err := commandType(all)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(forms, func(f form) bool { return f.body.CommandType() == kind })
	if i < 0 {
		return nil, fmt.Errorf("field `type`: unknown command %s, expected one of %s", verdict.Quote(kind),
			commandTypes())
	}
	fields := slices.Concat([]field{{name: "type", required: true}, {name: "ref"}}, forms[i].fields)
	into := reflect.New(reflect.TypeOf(forms[i].body)).Elem()
	if err := checkFields(kind, "", fields, all, into); err != nil {
		return nil, err
	}
	return into.Interface().(CommandBody), nil
}

func commandType(all []jsonl.Member) (string, error) {
	for _, m := range all {
		if m.Key != "type" {
			continue
		}
		if jsonl.KindOf(m.Value) != "a string" {
			return "", fmt.Errorf("field `type`: expected a string, got %s", jsonl.KindOf(m.Value))
		}
		var kind string
		err := json.Unmarshal(m.Value, &kind)
		return kind, err
	}
	return "", fmt.Errorf("field `type` is missing, expected one of %s", commandTypes())
}

// checkFields checks an object's members against their rules, and stores them in the struct's fields with
// those JSON names. where is the path before a field's name.
func checkFields(kind, where string, fields []field, all []jsonl.Member, into reflect.Value) error {
	seen := make(map[string]bool, len(all))
	for _, m := range all {
		name := where + m.Key
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == m.Key })
		if i < 0 {
			return unknownField(kind, name, m.Key, fields)
		}
		if seen[m.Key] {
			return fmt.Errorf("%s: field `%s` is given twice", kind, name)
		}
		seen[m.Key] = true
		var err error
		switch to, known := member(into, m.Key); {
		case m.Key == "ref":
			_, err = refText(m.Value)
		case known:
			err = take(kind, name, fields[i], m.Value, to)
		}
		if err != nil {
			return err
		}
	}
	for _, f := range fields {
		if f.required && !seen[f.name] {
			return fmt.Errorf("%s: field `%s` is missing%s", kind, where+f.name, expected(f))
		}
	}
	return nil
}

// member returns the field of a struct that has a JSON name.
func member(of reflect.Value, name string) (reflect.Value, bool) {
	for f, v := range of.Fields() {
		if jsonName(f) == name {
			return v, true
		}
	}
	return reflect.Value{}, false
}

// take stores the value of a field.
func take(kind, name string, f field, value json.RawMessage, to reflect.Value) error {
	wants, of := "a string", ""
	switch {
	case to.Kind() == reflect.Bool:
		wants = "true or false"
	case to.Kind() == reflect.Pointer:
		wants = "a number"
	case f.items != nil:
		wants, of = "an array", " of objects with `text`"
	case to.Kind() == reflect.Slice:
		wants, of = "an array", " of strings"
	}
	if got := jsonl.KindOf(value); got != wants {
		return fmt.Errorf("%s: field `%s`: expected %s%s, got %s", kind, name, wants, of, got)
	}
	var list []json.RawMessage
	into := to.Addr().Interface()
	if of != "" {
		into = &list
	}
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("%s: field `%s`: %w", kind, name, err)
	}
	switch {
	case of != "":
		return takeList(kind, name, f, list, to)
	case wants != "a string":
	case f.required && strings.TrimSpace(to.String()) == "":
		return fmt.Errorf("%s: field `%s` is empty%s", kind, name, expected(f))
	case f.enum != nil && !slices.Contains(f.enum, to.String()):
		return fmt.Errorf("%s: field `%s` is %s%s", kind, name, verdict.Quote(to.String()), expected(f))
	}
	return nil
}

// takeList stores a list of strings, none of them empty, or of objects.
func takeList(kind, name string, f field, list []json.RawMessage, to reflect.Value) error {
	if f.most > 0 && len(list) > f.most {
		return fmt.Errorf("%s: field `%s`: expected at most %d, got %d", kind, name, f.most, len(list))
	}
	if len(list) > 0 || f.items != nil { // no plan is not the same as an empty one
		to.Set(reflect.MakeSlice(to.Type(), len(list), len(list)))
	}
	for i, item := range list {
		at := fmt.Sprintf("%s[%d]", name, i)
		if f.items == nil {
			if err := take(kind, at, field{required: true}, item, to.Index(i)); err != nil {
				return err
			}
			continue
		}
		members, err := jsonl.Members(item)
		if err != nil {
			return fmt.Errorf("%s: field `%s`: %w", kind, at, err)
		}
		to.Index(i).Set(reflect.ValueOf(f.item))
		if err := checkFields(kind, at+".", f.items, members, to.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

func unknownField(kind, name, key string, fields []field) error {
	var names []string
	for _, f := range fields {
		if !f.unlisted {
			names = append(names, f.name)
		}
		if strings.EqualFold(f.name, key) {
			return fmt.Errorf("%s: unknown field `%s`: names are lower case, expected `%s`", kind, name, f.name)
		}
	}
	return fmt.Errorf("%s: unknown field %s, expected one of %s", kind, verdict.Quote(name), strings.Join(names, ", "))
}

func expected(f field) string {
	if f.enum == nil {
		return ""
	}
	return ", expected one of " + strings.Join(f.enum, ", ")
}

func commandTypes() string {
	names := make([]string, len(forms))
	for i, f := range forms {
		names[i] = f.body.CommandType()
	}
	return strings.Join(names, ", ")
}

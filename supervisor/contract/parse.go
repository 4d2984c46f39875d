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
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Scopes of a permission.
const (
	ScopeOnce   = "once"
	ScopeRun    = "run"
	ScopeAlways = "always" // in this workspace, in later runs, too
)

// field is the rule of one field; the parser and the schema read the same table.
type field struct {
	name     string
	required bool
	enum     []string
	items    []field // an array of objects with these fields instead of a string
	item     any     // of items: such an object, with its defaults
	list     int     // an array of at most so many strings instead of a string
	flag     bool    // true or false instead of a string
	number   bool    // a number instead of a string, kept as *float64
	about    string
}

// form is the rule of one command.
type form struct {
	body   CommandBody
	about  string
	fields []field
}

// forms lists every command.
var forms = []form{
	{Say{}, "A human's message, to the Arbiter or to the agent named.", []field{
		{name: "text", required: true, about: "What is said; 1 MiB at most."},
		{name: "to", about: "An agent's id, such as orch-1; absent: the Arbiter."},
		{name: "strength", enum: []string{Note, Steer, Stop},
			about: "note: the next turn (default); steer: folded into the running turn after the tool at hand; stop: " +
				"the running turn is interrupted first."},
		{name: "images", list: MaxImages, about: "Paths of image files that go with the text: PNG, JPEG, GIF or WebP, " +
			"each of 3.9 MB at most. Relative paths are relative to the run's directory. The run keeps a copy of each " +
			"before it accepts the message."},
	}},
	{Permit{}, "The answer to a permission_request.", []field{
		{name: "request", required: true, about: "The id of the permission_request."},
		{name: "behavior", required: true, enum: []string{bridge.Allow, bridge.Deny}, about: "The answer."},
		{name: "scope", enum: []string{ScopeOnce, ScopeRun, ScopeAlways},
			about: "once (default); run: the answer holds for this run, and is not asked for again; always, with " +
				"allow: in later runs in this workspace, too."},
		{name: "rule", about: "With run or always: the permission rule that is allowed or denied, such as one of the " +
			"request's suggestions; it must cover the request. It settles all other requests that it covers. Absent: " +
			"the same action alone."},
		{name: "action", about: "The request's action, a SHA-256; if given, it must be the same."},
		{name: "message", about: "With deny: the reason, which the agent reads."},
	}},
	{EditMessage{}, "Changes a message of the human's that is not delivered and was not sent yet.", []field{
		{name: "message_id", required: true, about: "The id of the message event."},
		{name: "text", required: true, about: "What is said instead."},
	}},
	{WithdrawMessage{}, "Takes back a message of the human's that was not sent yet.", []field{
		{name: "message_id", required: true, about: "The id of the message event."},
	}},
	{Attach{}, "Hands an agent's session to the human: its process is stopped in order, messages to it wait, and " +
		"`arbiter attach` or the screen shows its terminal.", []field{
		{name: "id", required: true, about: "The agent's id."},
	}},
	{Detach{}, "Gives it back: the session is resumed, and the Arbiter learns what the human did.", []field{
		{name: "id", required: true, about: "The agent's id."},
	}},
	{Halt{}, "Stops every agent at once. The run stays; continue starts them again.", nil},
	{Interrupt{}, "Stops the running turn of one agent, or of all.", []field{
		{name: "id", about: "The agent's id; absent: all."},
	}},
	{Kill{}, "Ends an agent.", []field{
		{name: "id", required: true, about: "The agent's id."},
	}},
	{Pause{}, "Holds all messages to agents back.", nil},
	{Continue{}, "Lets messages go again.", nil},
	{ForceAgent{}, "Summons an Orchestrator under a mode.", []field{
		{name: "mode", required: true, about: "The mode, an agent definition's name."},
	}},
	{SkipStep{}, "Skips the plan's step at hand.", nil},
	{RetryLast{}, "Asks the last agent to try again.", nil},
	{Reset{}, "Releases the Orchestrators and returns to idle.", nil},
	{SetPlan{}, "Replaces the plan.", []field{
		{name: "steps", required: true, items: stepFields, item: Step{Status: StepPending},
			about: "The whole plan, in order; empty: no plan."},
	}},
	{SetAcceptance{},
		"Replaces the acceptance criteria, the Arbiter's too. Only a human can drop or change what a human set.",
		[]field{
			{name: "criteria", required: true, items: criterionFields, item: AcceptanceCriterion{},
				about: "All criteria, in order; empty: none."},
		}},
	{Choose{}, "Takes one of the options last offered by an error or a question.", []field{
		{name: "option", required: true, about: "The option, as in recovery_options or options."},
	}},
	{Configure{}, "Changes one setting of the run, at once and for later lives of it: a model, how permissions are " +
		"decided, one permission rule more, or a limit of costs. Requests that wait are decided by it, too.", []field{
		{name: "id", about: "With model: the agent's id; absent: all, and those to come."},
		{name: "model", about: "The model's name or alias, as the CLI takes it."},
		{name: "permissions", enum: fieldEnums["session.permissions"],
			about: "What becomes of a tool call that no rule is about. allow-all needs i_accept_the_risk."},
		{name: "allow", about: "A permission rule of what is allowed."},
		{name: "ask", about: "A permission rule of what is asked for; it comes before allow."},
		{name: "deny", about: "A permission rule of what is denied; it comes before ask and allow."},
		{name: "i_accept_the_risk", flag: true,
			about: "With permissions allow-all, which lets every agent run anything unasked: that this is meant."},
		{name: "max_cost", number: true, about: "The limit of the run's costs in US dollars; 0: none."},
		{name: "max_cost_per_agent", number: true, about: "The limit of one Orchestrator's costs; 0: none."},
		{name: "max_cost_per_day", number: true,
			about: "The limit of the costs of all runs of a day, in a run that began with one; 0: none."},
	}},
	{Revert{}, "Takes one change of the run back: a file, or one place of it, becomes what it was when the run began. " +
		"It is refused if the file was modified since the last snapshot. The answer comes when it is done. The agents " +
		"read of it with their next messages.", []field{
		{name: "path", required: true, about: "The file, from the top of the work tree, as in `changes`."},
		{name: "seen", about: "The Git object of the file's contents that it is about, as the files of diff --json name " +
			"it; the revert is refused if the run has recorded others since. Absent: any."},
		{name: "hunk", about: "The place, as in the head of a hunk of a unified diff: `-12,3 +12,5`; it needs seen. " +
			"Absent: all of the file."},
	}},
	{Cancel{}, "Ends the run.", nil},
}

// stepFields are those of one step of set_plan.
var stepFields = []field{
	{name: "text", required: true, about: "What is to be done."},
	{name: "status", enum: []string{StepPending, StepActive, StepDone, StepFailed, StepSkipped},
		about: "How far it is; absent: pending."},
	{name: "agent", about: "The agent it belongs to."},
	{name: "mode", about: "The mode it is meant for."},
}

// criterionFields are those of one criterion of set_acceptance.
var criterionFields = []field{
	{name: "text", required: true, about: "What must hold before the task is complete."},
	{name: "command", about: "A shell command that proves it by exit code 0; absent: nothing proves it."},
	{name: "by", enum: []string{"human", "arbiter"},
		about: "human (default), or arbiter: it stays a criterion that the Arbiter set, whose command " +
			"needs permission."},
}

// rawKept bounds what a Malformed keeps of its line.
const rawKept = 4 << 10

// ParseCommand reads one line. A line that is no command comes back as Malformed,
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

// refOf finds the reference also in a line that is otherwise broken.
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
		return nil, fmt.Errorf("field `type`: unknown command %s, expected one of %s", shown(kind), commandTypes())
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

// checkFields holds an object's members to their rules, and fills a struct with them by
// its JSON names. In where stands the path before a field's name.
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
		value, err := take(kind, name, fields[i], m.Value)
		if err != nil {
			return err
		}
		for f, to := range into.Fields() {
			if jsonName(f) == m.Key {
				to.Set(reflect.ValueOf(value))
			}
		}
	}
	for _, f := range fields {
		if f.required && !seen[f.name] {
			return fmt.Errorf("%s: field `%s` is missing%s", kind, where+f.name, expected(f))
		}
	}
	return nil
}

// take is the value of a field: a string, a flag, a number, or a list of strings or objects.
func take(kind, name string, f field, value json.RawMessage) (any, error) {
	if f.name == "ref" {
		return refText(value)
	}
	if f.items != nil {
		return takeItems(kind, name, f, value)
	}
	if f.list > 0 {
		return takeStrings(kind, name, f, value)
	}
	if f.flag {
		if jsonl.KindOf(value) != "true or false" {
			return nil, fmt.Errorf("%s: field `%s`: expected true or false, got %s", kind, name, jsonl.KindOf(value))
		}
		return value[0] == 't', nil
	}
	if f.number {
		if jsonl.KindOf(value) != "a number" {
			return nil, fmt.Errorf("%s: field `%s`: expected a number, got %s", kind, name, jsonl.KindOf(value))
		}
		var n float64
		if err := json.Unmarshal(value, &n); err != nil {
			return nil, fmt.Errorf("%s: field `%s`: %w", kind, name, err)
		}
		return &n, nil
	}
	if jsonl.KindOf(value) != "a string" {
		return nil, fmt.Errorf("%s: field `%s`: expected a string, got %s", kind, name, jsonl.KindOf(value))
	}
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return nil, fmt.Errorf("%s: field `%s`: %w", kind, name, err)
	}
	switch {
	case f.required && strings.TrimSpace(text) == "":
		return nil, fmt.Errorf("%s: field `%s` is empty%s", kind, name, expected(f))
	case f.enum != nil && !slices.Contains(f.enum, text):
		return nil, fmt.Errorf("%s: field `%s` is %s%s", kind, name, shown(text), expected(f))
	}
	return text, nil
}

// takeStrings is the value of a field that is an array of strings, none of them empty.
func takeStrings(kind, name string, f field, value json.RawMessage) ([]string, error) {
	if jsonl.KindOf(value) != "an array" {
		return nil, fmt.Errorf("%s: field `%s`: expected an array of strings, got %s", kind, name, jsonl.KindOf(value))
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(value, &raw); err != nil {
		return nil, fmt.Errorf("%s: field `%s`: %w", kind, name, err)
	}
	if len(raw) > f.list {
		return nil, fmt.Errorf("%s: field `%s`: expected at most %d, got %d", kind, name, f.list, len(raw))
	}
	var list []string
	for i, item := range raw {
		text, err := take(kind, fmt.Sprintf("%s[%d]", name, i), field{required: true}, item)
		if err != nil {
			return nil, err
		}
		list = append(list, text.(string))
	}
	return list, nil
}

// takeItems is the value of a field that is an array of objects: a slice of the type of f.item.
func takeItems(kind, name string, f field, value json.RawMessage) (any, error) {
	if jsonl.KindOf(value) != "an array" {
		return nil, fmt.Errorf("%s: field `%s`: expected an array of objects with `text`, got %s", kind, name,
			jsonl.KindOf(value))
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(value, &raw); err != nil {
		return nil, fmt.Errorf("%s: field `%s`: %w", kind, name, err)
	}
	list := reflect.MakeSlice(reflect.SliceOf(reflect.TypeOf(f.item)), len(raw), len(raw))
	for i, item := range raw {
		at := fmt.Sprintf("%s[%d]", name, i)
		members, err := jsonl.Members(item)
		if err != nil {
			return nil, fmt.Errorf("%s: field `%s`: %w", kind, at, err)
		}
		list.Index(i).Set(reflect.ValueOf(f.item))
		if err := checkFields(kind, at+".", f.items, members, list.Index(i)); err != nil {
			return nil, err
		}
	}
	return list.Interface(), nil
}

func unknownField(kind, name, key string, fields []field) error {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
		if strings.EqualFold(f.name, key) {
			return fmt.Errorf("%s: unknown field `%s`: names are lower case, expected `%s`", kind, name, f.name)
		}
	}
	return fmt.Errorf("%s: unknown field %s, expected one of %s", kind, shown(name), strings.Join(names, ", "))
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

// shown quotes what somebody wrote, bounded.
func shown(s string) string {
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

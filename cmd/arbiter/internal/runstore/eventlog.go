package runstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// OpenEventLog opens the event log of a run. The caller closes it.
func (r *Runs) OpenEventLog(run string) (*journal.EventLog, error) {
	log, err := r.EventLog(run)
	if err != nil {
		return nil, command.Environmentf("%v", err)
	}
	return log, nil
}

// EachLine calls take with the lines of a run's event log, and when they were written.
func (r *Runs) EachLine(
	ctx context.Context, run string, take func(at time.Time, line []byte) error,
) (journal.LogHealth, error) {
	return r.each(ctx, run, func(entry journal.LogEntry) error {
		if entry.Line == nil {
			return nil
		}
		return take(entry.At, entry.Line)
	})
}

// each calls take with the entries of a run's event log.
func (r *Runs) each(
	ctx context.Context, run string, take func(journal.LogEntry) error,
) (journal.LogHealth, error) {
	log, err := r.EventLog(run)
	if err != nil {
		return journal.LogHealth{}, err
	}
	defer log.Close()
	return log.Each(ctx, journal.LogPosition{}, take)
}

// PrintDamage prints the damage of an event log that a crash does not explain.
func PrintDamage(stderr io.Writer, h journal.LogHealth) {
	if list := supervisor.AuditDamage(h); len(list) > 0 {
		SayDamaged(stderr, list)
	}
}

func SayDamaged(stderr io.Writer, list []string) {
	fmt.Fprintln(stderr, "arbiter: the journal is damaged; this is what can be read: "+strings.Join(list, "; "))
}

// LastState returns the last state of a run.
func LastState(store *Runs, run string) (supervisor.State, journal.Recovery, error) {
	var replayer supervisor.Replayer
	recovery, err := store.Read(run, replayer.Take)
	return replayer.State, recovery, err
}

// Follower writes the events of a live run to Out, across several connections if needed.
type Follower struct {
	Out, Errs io.Writer
	Since     int64  // as in [control.SubscribeParams]
	last      string // the last line written
	Failed    error  // write error of Out
}

// Events gives the events of a run after number since to take, until that returns false. wait returns how the run
// ended; nil: take did not want more, or the connection was lost before the run had reported its end.
func (l *Connection) Events(ctx context.Context, since int64, take func(control.Events) bool) (
	wait func() (*control.RunEnded, error), err error) {
	over := make(chan *control.RunEnded, 2) // each of the two may come first
	enough := false
	err = l.Subscribe(ctx, control.SubscribeParams{Since: since}, func(part any) {
		switch part := part.(type) {
		case control.Events:
			if !enough && !take(part) {
				enough = true
				over <- nil
			}
		case control.RunEnded:
			over <- &part
		}
	})
	return func() (*control.RunEnded, error) {
		select {
		case end := <-over:
			return end, nil
		case <-l.Done():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		select {
		case end := <-over: // received just before the connection ended
			return end, nil
		default:
			return nil, nil
		}
	}, err
}

// ToTheEnd writes the events on a connection until the run has ended, and closes it. If the run drops the connection,
// because we read too slowly, it continues on another one.
func (f *Follower) ToTheEnd(ctx context.Context, c *cli.Context, l *Connection) (*control.RunEnded, error) {
	defer func() { l.Close() }() // of the last one
	for {
		var end *control.RunEnded
		wait, err := l.Events(ctx, f.next(), f.write)
		if err == nil {
			end, err = wait()
		}
		switch {
		case ctx.Err() != nil:
			return nil, command.BySignal(ctx, "")
		case f.Failed != nil:
			return nil, f.Failed
		case err != nil:
			return nil, l.Store.NotConnected(l.Info, err)
		case end != nil:
			return end, nil
		}
		if err := l.Reconnect(c); err != nil {
			return nil, err
		}
	}
}

// next returns the number of the event after which to continue.
func (f *Follower) next() int64 {
	var line struct {
		Seq int64 `json:"seq"`
	}
	if f.last == "" || json.Unmarshal([]byte(f.last), &line) != nil {
		return f.Since
	}
	return line.Seq
}

// write reports whether the events were written.
func (f *Follower) write(events control.Events) bool {
	if events.Skipped > 0 {
		fmt.Fprintf(f.Errs, "arbiter: %d events are left out here: they are no longer stored\n", events.Skipped)
	}
	var b bytes.Buffer
	for _, line := range events.Lines {
		b.WriteString(line)
		b.WriteByte('\n')
		f.last = line
	}
	_, f.Failed = f.Out.Write(b.Bytes())
	return f.Failed == nil
}

// Reconnect connects again to the same process of the run.
func (l *Connection) Reconnect(c *cli.Context) error {
	next, err := Connect(c, l.Info.Run, nil)
	if err == nil && next.First.PID != l.First.PID {
		next.Close()
		err = command.Environmentf("another process has resumed it")
	}
	if err != nil {
		run := command.ShortID(l.Info.Run)
		return command.Environmentf("the connection to run %s was lost (%v): arbiter replay %[1]s%[3]s prints its events",
			run, err, settings.StateForCommand(l.Store.Root))
	}
	l.Close()
	*l = *next
	return nil
}

// This part of the package reads the decisions of a run with their inputs from its event log, so that they
// can be explained, compared and repeated.

// Decision is a decision from the event log.
type Decision struct {
	Record uint64 // number of the journal record with the input
	At     time.Time
	input.Decided
	// Spawned are the modes that the Arbiter's session had spawned by its tool in the turn of this decision: that
	// was its choice.
	Spawned []string
	// Unused: the decision came too late, and another decision has its number.
	Unused bool
}

// Amounts converts the decision to the form that all deciders share. It returns false if only the Arbiter can make
// this decision, or if there is none.
func (r *Decision) Amounts() (decider.Decision, bool) {
	d := r.Decision
	switch d.Decision {
	case decider.SelectMode, decider.Retry, decider.Complete:
		return d, true
	case decider.Continue, verdict.AddressOrchestrator:
		if len(r.Spawned) > 0 {
			d.Decision, d.Mode = decider.SelectMode, r.Spawned[0]
			return d, true
		}
		d.Decision = decider.Continue
		return d, r.Point == decider.PointEvaluate // otherwise no agent could continue: the Arbiter waits
	}
	return d, false
}

// By returns who decided, or else the outcome of the question.
func (r *Decision) By() string {
	switch {
	case r.Unused:
		return "unused"
	case r.Failed != "":
		return "failed"
	case r.Deferred:
		return "deferred"
	}
	return string(r.Decision.Source)
}

// list collects decisions from the records of an event log.
type list struct {
	decisions []Decision
	spawned   []string // since the last ruling of the Arbiter's session
}

// take processes one line of the log.
func (l *list) take(e journal.LogEntry) error {
	if e.Record == nil {
		return nil
	}
	r, err := supervisor.DecodeRecord(e)
	if err != nil {
		return err
	}
	switch {
	case r.Kind == supervisor.KindAudit && r.What == "tool_called" && r.About == contract.Arbiter:
		written, _ := r.Detail["input"].(map[string]any)
		input, _ := written["text"].(string)
		var spawn struct{ Mode string }
		if r.Detail["tool"] == "spawn_orchestrator" && json.Unmarshal([]byte(input), &spawn) == nil {
			l.spawned = append(l.spawned, spawn.Mode)
		}
	case r.Kind == supervisor.KindDecision && r.Decided != nil:
		one := Decision{Record: e.Input, At: e.At, Decided: *r.Decided, Unused: r.Unused}
		if r.Decided.Decision.Source == decider.BySession {
			one.Spawned, l.spawned = l.spawned, nil
		}
		l.decisions = append(l.decisions, one)
	}
	return nil
}

// Decisions returns the decisions of a run, in order.
func (r *Runs) Decisions(ctx context.Context, run string) ([]Decision, journal.LogHealth, error) {
	var l list
	health, err := r.each(ctx, run, l.take)
	return l.decisions, health, err
}

// LastDecision returns the number of the last decision in a list. Several entries may be about one.
func LastDecision(list []Decision) (number int) {
	for _, d := range list {
		number = max(number, d.Number)
	}
	return number
}

// SameDecision reports whether two decisions have the same result. It ignores reasons and wording.
func SameDecision(a, b decider.Decision) bool {
	return a.Decision == b.Decision && (a.Decision != decider.SelectMode || a.Mode == b.Mode)
}

// DecisionText returns a decision in a few words.
func DecisionText(d decider.Decision) string {
	if d.Mode == "" {
		return d.Decision
	}
	return d.Decision + " " + d.Mode
}

// The values that an input file may use. Recorded inputs are not checked against them.
var (
	inputStatuses = []decider.DecisionStatus{decider.StatusSuccess, decider.StatusFailure, decider.StatusTimeout,
		decider.StatusCancelled}
	inputSteps      = []string{"pending", "in_progress", "complete", "failed", "skipped"}
	inputCategories = []decider.DecisionCategory{
		decider.ToolFailure, decider.ProviderError, decider.ValidationError, decider.TimeoutError,
		decider.PermissionError, decider.AgentError, decider.UnknownError,
	}
)

// check reports what is missing or makes no sense. A decider would treat half an input like a whole one.
func check(q decider.Input) error {
	in, _ := q.(decider.SelectAgentInput)
	if e, ok := q.(decider.EvaluateProgressInput); ok {
		if err := checkExecution("lastExecution", e.LastExecution); err != nil {
			return err
		}
		in.Task, in.Plan, in.History, in.AvailableAgents = e.Task, e.Plan, e.History, e.AvailableAgents
	}
	if e := in.LastError; e != nil {
		if err := oneOf("lastError.category", e.Category, inputCategories); err != nil {
			return err
		}
	}
	if strings.TrimSpace(in.Task) == "" {
		return errors.New("the member task is missing or empty")
	}
	if plan := in.Plan; plan != nil {
		if n := len(plan.Steps); plan.CurrentStepIndex < 0 || plan.CurrentStepIndex > n {
			return fmt.Errorf("plan.currentStepIndex: %d, want 0 to %d: it is counted from 0, and %d when all steps "+
				"are over", plan.CurrentStepIndex, n, n)
		}
		for i, s := range plan.Steps {
			if err := oneOf(fmt.Sprintf("plan.steps[%d].status", i), s.Status, inputSteps); err != nil {
				return err
			}
		}
	}
	for i, e := range in.History {
		if err := checkExecution(fmt.Sprintf("history[%d]", i), e); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for i, a := range in.AvailableAgents {
		switch {
		case a.Name == "":
			return fmt.Errorf("availableAgents[%d].name is missing", i)
		case seen[a.Name]:
			return fmt.Errorf("availableAgents[%d].name: there are two %q", i, a.Name)
		}
		seen[a.Name] = true
	}
	return nil
}

func checkExecution(where string, e decider.ExecutionSummary) error {
	if e.Agent == "" {
		return errors.New(where + ".agent is missing")
	}
	if err := oneOf(where+".status", e.Status, inputStatuses); err != nil {
		return err
	}
	if e.Error == nil {
		return nil
	}
	return oneOf(where+".error.category", e.Error.Category, inputCategories)
}

func oneOf[T ~string](where string, value T, known []T) error {
	if slices.Contains(known, value) {
		return nil
	}
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	return fmt.Errorf("%s: %q, want one of %s", where, value, strings.Join(words, ", "))
}

// jsonProblem rewrites an error of encoding/json in terms of JSON instead of Go types.
func jsonProblem(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	want := map[reflect.Kind]string{reflect.Slice: "a list", reflect.String: "a text", reflect.Bool: "true or false",
		reflect.Int: "a whole number", reflect.Float64: "a number"}[wrong.Type.Kind()]
	is := map[string]string{"array": "a list", "object": "an object", "string": "a text",
		"bool": "true or false"}[wrong.Value]
	_, digits, _ := strings.Cut(wrong.Value, " ") // number 1.5
	where := ""
	if wrong.Field != "" { // encoding/json names an embedded struct in it, too
		where = strings.TrimPrefix(wrong.Field, reflect.TypeFor[decider.TaskInput]().Name()+".") + ": "
	}
	return fmt.Errorf("%swant %s, not %s", where, cmp.Or(want, "an object"), cmp.Or(is, digits, "a "+wrong.Value))
}

// QuestionOf reads a recorded input. It ignores unknown members: an input with one more member is not a new kind of
// input.
func QuestionOf(p decider.DecisionPoint, raw json.RawMessage) (decider.Input, error) {
	return decider.ReadInput(p, func(to any) error {
		if len(raw) == 0 {
			return errors.New("no input was recorded")
		}
		if err := json.Unmarshal(raw, to); err != nil {
			return fmt.Errorf("read the input: %w", err)
		}
		return nil
	})
}

// ParseQuestion reads an input from a file and derives its kind from its members. The input may be in the member
// `input`, as in explanations. A misspelled member is an error, because the author of the file expects it to have
// an effect.
func ParseQuestion(raw []byte) (decider.Input, error) {
	members, err := membersOf(raw)
	if inner, ok := members["input"]; ok && err == nil {
		raw = inner
		members, err = membersOf(raw)
	}
	if err != nil {
		return nil, err
	}
	point := decider.PointSelect
	switch {
	case members["lastExecution"] != nil:
		point = decider.PointEvaluate
	case members["availableAgents"] == nil:
		return nil, errors.New("an input has the member lastExecution (to evaluate progress) or availableAgents (to " +
			"select an agent)")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	q, err := decider.ReadInput(point, d.Decode)
	if err != nil {
		return nil, jsonProblem(err)
	}
	return q, check(q)
}

func membersOf(raw []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", jsonProblem(err))
	}
	return members, nil
}

package claude

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
)

// querySettings: messages of other sessions must not reach a query, and the user's hooks must not run for
// it (they would run with each query, observed with CLI 2.1.329).
const querySettings = `{"crossSessionInbound":"refuse","disableAllHooks":true}`

// queryEnv keeps other parts of the user's settings out of the prompt: CLAUDE.md, which is read even if
// Arbiter gives a system prompt; and, when there is no tool to search for, the placeholder of the tool
// search (observed with CLI 2.1.329).
var queryEnv = []string{"CLAUDE_CODE_DISABLE_CLAUDE_MDS=1", "CLAUDE_CODE_DISABLE_AUTO_MEMORY=1",
	"ENABLE_TOOL_SEARCH=false"}

// errQueryTimeout reports that a query took longer than its limit.
var errQueryTimeout = errors.New("no answer in time")

func (l *Launcher) Query(ctx context.Context, of bridge.Owner, spec bridge.ClaudeSpec,
	p bridge.QueryParams) (bridge.QueryResult, error) {
	var none bridge.QueryResult
	program, err := l.detect(ctx, spec)
	if err != nil {
		return none, err
	}
	launch, err := queryPlan(p)
	if err != nil {
		return none, err
	}
	input, err := queryInput(launch, p.Prompt)
	if err != nil {
		return none, err
	}
	limit := p.Limit()
	env, err := l.environ(p.Env)
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errQueryTimeout)
	defer cancel()
	cmd := command(program, launch.args, p.CWD, append(env, queryEnv...))
	q, err := startQuery(cmd, markOf(of, "query."+strconv.FormatInt(l.queries.Add(1), 10)),
		p.Sandbox, l.self, input)
	if err != nil {
		return none, claudeError(bridge.CatStart, "start the Claude CLI: %v", err)
	}
	cause := q.await(ctx)
	if err := q.end(); err != nil {
		return none, claudeError(bridge.CatInternal, "end a query: %v", err)
	}
	return q.answer(cause, limit)
}

// queryPlan renders parameters that the bridge has checked. The message goes over stream-json and not as
// text: in a text the CLI runs a leading slash command and reads the files that an @ names, even without a
// tool (observed with CLI 2.1.329).
func queryPlan(p bridge.QueryParams) (plan, error) {
	if err := check(bridge.AgentConfig{SessionID: uuid.Nil.String(), Model: p.Model, Effort: p.Effort,
		SystemPrompt: p.SystemPrompt, JSONSchema: p.JSONSchema, SettingSources: p.SettingSources}); err != nil {
		return plan{}, err
	}
	q := plan{init: map[string]any{}, args: []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--no-session-persistence", "--strict-mcp-config", "--permission-mode", "default",
		"--setting-sources", strings.Join(p.SettingSources, ","),
		"--settings", querySettings,
	}}
	q.optional("--model", p.Model)
	q.optional("--effort", p.Effort)
	if p.MaxBudgetUSD > 0 {
		q.add("--max-budget-usd", strconv.FormatFloat(p.MaxBudgetUSD, 'f', -1, 64))
	}
	q.text("--system-prompt", "systemPrompt", p.SystemPrompt)
	q.schema(p.JSONSchema)
	q.add("--tools", "")
	return q, nil
}

// queryInput returns all that the CLI reads: values that are too long for an argument, and the message. The
// message need not wait for the answer to the former.
func queryInput(p plan, prompt string) ([]byte, error) {
	var input []byte
	if len(p.init) > 0 {
		p.init["subtype"] = "initialize"
		line, err := marshalLine(map[string]any{"type": "control_request", "request_id": "init", "request": p.init})
		if err != nil {
			return nil, err
		}
		input = line
	}
	line, err := marshalLine(userLine{Type: "user", UUID: uuid.NewString(),
		Message: userMessage{Role: "user", Content: prompt}, ClientComposed: true})
	if err != nil {
		return nil, err
	}
	return append(input, line...), nil
}

// answer makes a result from the CLI's output, or an error that says why there is none.
func (q *queryRun) answer(cause error, limit time.Duration) (bridge.QueryResult, error) {
	output := q.output
	switch {
	case output.result != nil:
	case errors.Is(cause, errQueryTimeout):
		e := &bridge.RPCError{Code: bridge.CodeTimeout, Category: bridge.CatTimeout,
			Message: fmt.Sprintf("the model gave no answer within %v", limit), Stderr: q.stderr.Tail()}
		if retry := output.retry; retry != nil {
			// If an error makes the CLI retry, the caller can wait for its end too.
			if e.Category = byStatus(retry.Status); e.Category == "" {
				e.Category = bridge.CatServer
			}
			e.Message += fmt.Sprintf("; the API was tried again %d times: %s", retry.Attempt, retry.Reason)
		}
		return bridge.QueryResult{}, e
	case cause != nil:
		return bridge.QueryResult{}, cause
	default:
		e := claudeError(bridge.CatStart, "the Claude CLI ended without an answer (%s)", q.child.State())
		e.Stderr = q.stderr.Tail()
		return bridge.QueryResult{}, e
	}
	f := *output.result
	if o := judge(f, output.priorErrors); o.outcome != bridge.TurnDone {
		e := claudeError(o.category, "%s", o.message)
		if e.Category == "" || f.Subtype == "error_during_execution" {
			e.Category, e.Message = bridge.CatStart, failureText(f) // it never got as far as a request
		}
		e.Stderr, e.CostUSD, e.ResetsAt = q.stderr.Tail(), f.TotalCost, o.resetsAt
		return bridge.QueryResult{}, e
	}
	r := bridge.QueryResult{Output: f.Verdict, Usage: totalsOf(f.ModelUsage).Usage, CostUSD: f.TotalCost,
		DurationMS: q.took.Milliseconds(), Model: output.model}
	if f.Verdict == nil {
		r.Text = f.Text
	}
	return r, nil
}

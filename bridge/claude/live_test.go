package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

const verdictSchema = `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"],"additionalProperties":false}`

// live prepares an agent of the real CLI against a scripted model.
func live(t *testing.T, script ...reply) (*stageOf, *api) {
	t.Helper()
	t.Parallel()
	return liveAlone(t, script...)
}

// liveAlone is for tests that sweep a whole run: adopted orphans belong to the process, so they would end
// those of tests that run at the same time.
func liveAlone(t *testing.T, script ...reply) (*stageOf, *api) {
	t.Helper()
	return against(t, realSpec(t), script...)
}

// against prepares an agent of one player against a scripted model.
func against(t testing.TB, spec bridge.ClaudeSpec, script ...reply) (*stageOf, *api) {
	t.Helper()
	model := startAPI(t, script...)
	return prepare(t, spec, model.env()), model
}

func TestLiveTextTurn(t *testing.T) {
	realAtNight(t)
	s, model := live(t, reply{text: "hello", usage: [3]int{3, 50_000, 1_000}}, reply{text: "first"}, reply{text: "second"})
	s.cfg.ContextCap = 100_000
	s.launch()
	info := s.agent.Info()
	testkit.Check(t, info.SessionID == s.cfg.SessionID && info.PID != 0 && info.Window == 0 && info.Tokens == 0,
		"info: %+v", info)
	id := s.send("hi")
	turn := s.turnOf(id)
	want := bridge.Turn{Text: "hello", MessageIDs: []string{id}, Outcome: bridge.TurnDone, NumTurns: 1,
		Reason: "completed", Usage: bridge.Usage{Input: 3, CacheRead: 50_000, CacheCreation: 1_000, Output: 7}}
	testkit.Check(t, turn.CostUSD > 0 && turn.DurationMS > 0, "cost %v, duration %v", turn.CostUSD, turn.DurationMS)
	if m := turn.Models; len(m) != 1 || m[0].Model == "" || m[0].Usage != want.Usage || m[0].CostUSD != turn.CostUSD {
		t.Errorf("models %+v", m)
	}
	turn.CostUSD, turn.DurationMS, turn.Models = 0, 0, nil
	testkit.Same(t, "turn", want, turn)
	var order []bridge.EventBody
	for _, e := range s.host.all() {
		switch e := e.(type) {
		case bridge.Turn:
		case bridge.Spent: // on a busy machine the turn takes so long that its costs are reported
		case bridge.Assistant:
			e.MessageID = ""
			order = append(order, e)
		case bridge.Context:
			e.Source = "" // a stand-in's transcript may be faster than its stream
			order = append(order, e)
		default:
			order = append(order, e)
		}
	}
	if len(order) > 1 {
		if _, early := order[0].(bridge.Context); early { // the transcript may be faster than the stream
			order[0], order[1] = order[1], order[0]
		}
	}
	wantOrder := []bridge.EventBody{
		bridge.Delivered{MessageID: id, Proof: "lifecycle"},
		bridge.Context{Tokens: 51_003, Window: 100_000, Pct: 51.003},
		bridge.Assistant{Text: "hello", ContextPct: 51.003},
	}
	testkit.Same(t, "events", wantOrder, order)
	c, err := s.agent.Context(context.Background())
	testkit.Check(t, err == nil && c.Window == 100_000 && c.Tokens >= 51_003, "context: %+v, %v", c, err)

	testkit.Like(t, "commands and files are text", bridge.Turn{Text: "first"}, s.turn("/clear"))
	turn = s.turn("@/etc/hostname")
	testkit.Check(t, turn.Text == "second" && len(of[bridge.ToolUse](s.host)) == 0, "turn: %+v", turn)
	model.hasRead(t, "the text did not reach the model as it was", `"/clear"`)
}

func TestLiveVerdict(t *testing.T) {
	realAtNight(t)
	verdict := taskCall(bridge.VerdictTool, map[string]any{"message": "so it is"})
	s, model := live(t, reply{text: "no verdict yet"}, verdict, reply{text: "none"}, reply{text: "none again"})
	s.cfg.JSONSchema = json.RawMessage(verdictSchema)
	s.cfg.Partial = true
	s.launch()
	turn := s.turn("decide") // the CLI retries on its own
	testkit.Check(t, string(turn.Verdict) == `{"message":"so it is"}` && turn.Text == "" &&
		turn.Outcome == bridge.TurnDone, "turn: %+v", turn)
	testkit.Empty(t, "the verdict is not a tool use", of[bridge.ToolUse](s.host))
	var text, partial string
	for _, d := range of[bridge.Delta](s.host) {
		if d.Verdict {
			partial += d.Text
		} else {
			text += d.Text
		}
	}
	testkit.Same(t, "deltas", "no verdict yet", text)
	testkit.Same(t, "partial", `{"message":"so it is"}`, partial)
	turn = s.turn("decide again")
	testkit.Check(t, turn.Verdict == nil && turn.Text == "none again" && turn.Outcome == bridge.TurnDone,
		"turn without a verdict: %+v", turn)
	model.hasRead(t, "the CLI did not ask for the verdict", "structured-output-enforce")
}

func TestLiveLongPromptAndSchema(t *testing.T) {
	realAtNight(t)
	onlyTheCLI(t, "takes a schema from its command line alone")
	verdict := taskCall(bridge.VerdictTool, map[string]any{"message": "m"})
	s, model := live(t, verdict)
	s.cfg.SystemPrompt = "RULE-ONE " + strings.Repeat("long ", 40_000)
	s.cfg.JSONSchema = json.RawMessage(`{"description":"` + strings.Repeat("x", 120_000) + `",` + verdictSchema[1:])
	s.launch()
	turn := s.turn("go")
	testkit.Check(t, string(turn.Verdict) == `{"message":"m"}`, "turn: %+v", turn)
	model.hasRead(t, "the system prompt did not reach the model", "RULE-ONE long long")
}

func TestLivePermission(t *testing.T) {
	realAtNight(t)
	s, model := live(t, runs("touch allowed"), reply{text: "first"}, runs("touch denied"), reply{text: "second"})
	var asked []bridge.PermissionParams
	s.host.permission = func(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
		asked = append(asked, p)
		if strings.Contains(string(p.Input), "denied") {
			return bridge.PermissionResult{Behavior: bridge.Deny, Message: "NOT-THIS"}, nil
		}
		return bridge.PermissionResult{Behavior: bridge.Allow}, nil
	}
	s.launch()
	s.turn("one")
	testkit.Works(t, "the allowed tool did not run", testkit.Err(os.Stat(filepath.Join(s.dir, "allowed"))))
	s.turn("two")
	testkit.Fails(t, "the denied tool ran", testkit.Err(os.Stat(filepath.Join(s.dir, "denied"))))
	model.hasRead(t, "the reason did not reach the model", "NOT-THIS")
	testkit.Check(t, len(asked) == 2 && asked[0].Tool == "Bash" && asked[0].ID == "orch-1" && asked[0].ToolUse != "" &&
		asked[0].Request != asked[1].Request, "asked: %+v", asked)
	results := of[bridge.ToolResult](s.host)
	testkit.Check(t, len(results) == 2 && !results[0].IsError && results[1].IsError && results[1].Text == "NOT-THIS",
		"results: %+v", results)
}

func TestLiveMCP(t *testing.T) {
	s, model := live(t, taskCall(mcpPrefix+"report", map[string]any{"message": "half done"}), reply{text: "first"},
		taskCall(mcpPrefix+"report", map[string]any{"wrong": 1}), reply{text: "second"},
		taskCall(mcpPrefix+"report", map[string]any{"message": "slow"}), reply{text: "third"})
	s.cfg.Tools = []string{"Read", "Grep"}
	s.cfg.MCPTools = []bridge.ToolSpec{{Name: "report", Description: "REPORT-HERE", TimeoutMS: 300,
		InputSchema: json.RawMessage(
			`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`)}}
	s.host.tool = func(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
		if strings.Contains(string(p.Input), "slow") {
			<-ctx.Done()
			return bridge.ToolCallResult{}, ctx.Err()
		}
		testkit.Check(t, p.Tool == "report" && strings.HasPrefix(p.Call, "toolu_") &&
			string(p.Input) == `{"message":"half done"}`, "call: %+v", p)
		return bridge.ToolCallResult{Text: "NOTED"}, nil
	}
	s.host.permission = func(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
		t.Errorf("asked for %s", p.Tool)
		return bridge.PermissionResult{}, nil
	}
	s.launch()
	for i, want := range []string{"NOTED", "do not match the tool's schema", "No answer within 300ms"} {
		s.turn("go")
		result := await[bridge.ToolResult](s.host, i+1, nil)
		testkit.Check(t, strings.Contains(result.Text, want) && result.IsError == (i > 0), "result %d: %+v, want %q", i,
			result, want)
	}
	model.hasRead(t, "the tool was not offered with its description", "REPORT-HERE")
	inEveryList := func(name string) bool { return name == "DeferredToolPlaceholder" }
	offered := slices.DeleteFunc(model.toolNames(0), inEveryList)
	testkit.Same(t, "tools", []string{"Grep", "Read", mcpPrefix + "report"}, offered)
	testkit.Empty(t, "notices in a healthy session", of[bridge.Notice](s.host))
}

func TestLiveSubagent(t *testing.T) {
	realAtNight(t)
	s, _ := live(t,
		taskCall("Agent", map[string]any{"description": "dig", "prompt": "p", "subagent_type": "general-purpose"}),
		reply{tools: []call{bash("echo below")}, usage: [3]int{1, 2, 900_000}}, reply{text: "dug"},
		reply{text: "all done"})
	s.launch()
	turn := s.turn("go")
	testkit.Check(t, turn.Outcome == bridge.TurnDone && turn.Text == "all done", "turn: %+v", turn)
	starts, stops := of[bridge.SubagentStart](s.host), of[bridge.SubagentStop](s.host)
	testkit.Need(t, len(starts) == 1 && len(stops) == 1, "subagents:\n%s", s.host.dump())
	testkit.Check(t, starts[0].Description == "dig" && starts[0].Type == "general-purpose" &&
		stops[0].ToolUse == starts[0].ToolUse && stops[0].Description == "dig" && stops[0].Status == "completed" &&
		stops[0].Tokens != 0, "start %+v, stop %+v", starts[0], stops[0])
	for _, use := range of[bridge.ToolUse](s.host) {
		testkit.Same(t, fmt.Sprintf("tool use: %+v", use), (use.Subagent == starts[0].ToolUse), (use.Tool == "Bash"))
	}
	for _, c := range of[bridge.Context](s.host) {
		testkit.Check(t, c.Tokens <= 900_000, "a subagent's usage was taken for the main thread's: %+v", c)
	}
}

func TestLiveInterrupt(t *testing.T) {
	realAtNight(t)
	s, _ := live(t, runs("python3 -c 'import time; time.sleep(60)'"), reply{text: "after"})
	s.launch()
	testkit.Works(t, "interrupt while idle", testkit.Err(s.agent.Interrupt(context.Background())))
	id := s.send("go")
	await[bridge.ToolUse](s.host, 1, nil)
	err := s.agent.Message(context.Background(), bridge.MessageParams{MessageID: uuid.NewString(), Content: "x"})
	testkit.Check(t, errCode(err) == bridge.CodeBusy, "a second message: %v", err)
	testkit.Must(s.agent.Interrupt(context.Background()))(t)
	turn := s.turnOf(id)
	testkit.Check(t, turn.Outcome == bridge.TurnInterrupted && turn.Category == "", "turn: %+v", turn)
	testkit.Like(t, "turn after it", bridge.Turn{Text: "after"}, s.turn("again"))
}

func TestLiveSteer(t *testing.T) {
	realAtNight(t)
	s, model := live(t, runs("until test -e go; do python3 -c 'import time; time.sleep(0.05)'; done"),
		reply{text: "end"})
	s.launch()
	first := s.send("go")
	await[bridge.ToolUse](s.host, 1, nil)
	second := s.message(bridge.MessageParams{MessageID: uuid.NewString(), Content: "LOOK-LEFT", Steer: true})
	if !s.probe().Answered { // so the message has been read, before the tool ends
		t.Error("the ping is not answered")
	}
	testkit.OK(t, os.WriteFile(filepath.Join(s.dir, "go"), nil, 0o600))
	testkit.Same(t, "message ids", []string{first, second}, s.turnOf(first).MessageIDs)
	await(s.host, 1, func(d bridge.Delivered) bool { return d.MessageID == second })
	model.hasRead(t, "the steering message did not reach the model", "LOOK-LEFT")
	testkit.Like(t, "turn", bridge.Turn{Outcome: bridge.TurnDone}, s.turn("next")) // nothing is left open
}

func TestLiveResume(t *testing.T) {
	s, model := live(t, reply{text: "REMEMBER-ME", usage: [3]int{1, 2, 30_000}})
	s.cfg.AppendSystemPrompt = "OLD-RULES"
	s.launch()
	first := s.turn("one")
	s.stopNow()

	next := s.again()
	next.cfg.AppendSystemPrompt = "NEW-RULES"
	model.then(reply{text: "again", usage: [3]int{1, 2, 30_000}})
	next.launch()
	info := next.agent.Info()
	testkit.Check(t, info.Tokens >= 30_000 && info.Tokens <= 60_000, "info: %+v", info)
	second := next.turn("two")
	testkit.Check(t, second.CostUSD > 0 && second.CostUSD <= first.CostUSD*1.5,
		"cost of the second turn %v includes the first's %v", second.CostUSD, first.CostUSD)
	req := model.lastRequest()
	testkit.Check(t, strings.Contains(req, "REMEMBER-ME") && strings.Contains(req, "NEW-RULES") &&
		!strings.Contains(req, "OLD-RULES"), "the resumed session has not the old history under the new rules")
}

func TestLiveStartFailures(t *testing.T) {
	realAtNight(t)
	onlyTheCLI(t, "takes any word for a type")
	s, _ := live(t)
	s.cfg.JSONSchema = json.RawMessage(`{"type":"nonsense"}`)
	err := s.try()
	rpc, ok := errors.AsType[*bridge.RPCError](err)
	testkit.Check(t, ok && rpc.Category == bridge.CatStart && strings.Contains(rpc.Stderr, "json-schema"),
		"bad schema: %+v", rpc)
	if events := s.host.all(); len(events) > 0 {
		for _, e := range events {
			_, ok := e.(bridge.Done)
			testkit.Check(t, !ok, "done after a failed launch")
		}
	}
	s.checkNoProcesses()
}

func TestLiveAPIErrors(t *testing.T) {
	for _, test := range []struct {
		reply reply
		want  bridge.Category
	}{
		{reply{status: 400, kind: "invalid_request_error", message: "bad thing"}, bridge.CatInvalidRequest},
		{reply{status: 400, kind: "invalid_request_error", message: "prompt is too long: 140000 tokens > 131072 maximum"},
			bridge.CatPromptTooLong},
		// A history that the API refuses is reported as such: retrying does not help.
		{reply{status: 400, kind: "invalid_request_error", message: "messages.1: `tool_use` ids were found without " +
			"`tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding " +
			"`tool_result` block in the next message."}, bridge.CatResume},
		{reply{status: 400, kind: "invalid_request_error", message: "messages.0.content.1: unexpected `tool_use_id` found " +
			"in `tool_result` blocks: toolu_01"}, bridge.CatResume},
		{reply{status: 429, kind: "rate_limit_error", message: "Claude AI usage limit reached|1999999999"},
			bridge.CatUsageLimit},
		{reply{status: 401, kind: "authentication_error", message: "invalid x-api-key"}, bridge.CatAuth},
		{reply{status: 403, kind: "permission_error", message: "no"}, bridge.CatAuth},
		{reply{status: 404, kind: "not_found_error", message: "model"}, bridge.CatInvalidRequest},
		{reply{status: 429, kind: "rate_limit_error", message: "slow down"}, bridge.CatRateLimit},
		{reply{status: 500, kind: "api_error", message: "x"}, bridge.CatServer},
		{reply{status: 529, kind: "overloaded_error", message: "Overloaded"}, bridge.CatOverloaded},
	} {
		t.Run(test.reply.kind+" "+test.reply.message, func(t *testing.T) {
			if k := test.want; k != bridge.CatPromptTooLong && k != bridge.CatAuth || test.reply.status == 403 {
				realAtNight(t)
			}
			s, _ := live(t, test.reply)
			s.cfg.JSONSchema = json.RawMessage(verdictSchema)
			tries := test.reply.status == 500 && !standInByDay(t) // the stand-in does not try again
			if tries {
				s.cfg.Env["CLAUDE_CODE_MAX_RETRIES"] = "1"
			}
			s.launch()
			turn := s.turn("go")
			if tries {
				r := await[bridge.Retry](s.host, 1, nil)
				testkit.Check(t, r.Attempt == 1 && r.MaxRetries == 1 && r.Status == 500 && r.DelayMS > 0, "retry: %+v", r)
			}
			if test.want == bridge.CatPromptTooLong { // it names the limit of a model whose window the CLI does not know
				testkit.Check(t, turn.Window == 131_072 && turn.Model != "", "turn: %+v", turn)
			}
			// A turn that the API refused has used nothing: so the supervisor knows that no model has read its message.
			testkit.Check(t, turn.Outcome == bridge.TurnFailed && turn.Category == test.want && turn.Error != "" &&
				turn.Verdict == nil && turn.Usage == (bridge.Usage{}), "turn: %+v", turn)
			testkit.Check(t, len(of[bridge.Assistant](s.host)) == 0 && len(of[bridge.Context](s.host)) == 0,
				"the CLI's own words passed for the model's:\n%s", s.host.dump())
		})
	}
}

func TestLiveNotLoggedIn(t *testing.T) {
	onlyTheCLI(t, "asks without a key, too")
	s, _ := live(t)
	s.cfg.Env["ANTHROPIC_API_KEY"] = ""
	s.launch()
	testkit.Like(t, "turn", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatAuth}, s.turn("go"))
}

func TestLiveBudget(t *testing.T) {
	realAtNight(t)
	s, _ := live(t, reply{tools: []call{bash("echo hi")}, usage: [3]int{1000, 0, 0}})
	s.cfg.MaxBudgetUSD = 0.0001
	s.launch()
	turn := s.turn("go")
	testkit.Check(t, turn.Outcome == bridge.TurnFailed && turn.Category == bridge.CatBudget && turn.CostUSD > 0,
		"turn: %+v", turn)
}

func TestLiveSideQuestionAndConfigure(t *testing.T) {
	realAtNight(t)
	onlyTheCLI(t, "takes any mode")
	s, model := live(t, reply{text: "one"}, reply{text: "SIDE"}, reply{text: "two"})
	s.launch()
	s.turn("go")
	testkit.Same(t, "ask", "SIDE", testkit.Must(s.agent.Ask(context.Background(), "what?"))(t))
	err := s.agent.Configure(context.Background(),
		bridge.ConfigureParams{Model: "claude-haiku-4-5", PermissionMode: "acceptEdits"})
	testkit.Check(t, err == nil, "configure: %v", err)
	err = s.agent.Configure(context.Background(), bridge.ConfigureParams{PermissionMode: "nonsense"})
	testkit.Check(t, errCode(err) == bridge.CodeRefused, "configure nonsense: %v", err)
	turn := s.turn("go")
	testkit.Check(t, turn.Text == "two" && strings.Contains(model.lastRequest(), "claude-haiku-4-5"), "turn: %+v", turn)
	c, err := s.agent.Context(context.Background())
	testkit.Check(t, err == nil && c.Window == 167_000, "context of the new model: %+v, %v", c, err)
}

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
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

// asking is one query with its environment.
type asking struct {
	t    *testing.T
	l    *Launcher
	spec bridge.ClaudeSpec
	run  string
	home string
	bridge.QueryParams
}

func newAsking(t *testing.T, spec bridge.ClaudeSpec, model *api) *asking {
	t.Helper()
	q := &asking{t: t, spec: spec, run: "run-" + uuid.NewString(), home: t.TempDir()}
	q.l = NewLauncher(cacheOf(spec, q.home))
	q.QueryParams = bridge.QueryParams{Model: "claude-opus-5-5", Effort: "low", CWD: t.TempDir(),
		SystemPrompt: "You choose.",
		Prompt:       "Which?", JSONSchema: json.RawMessage(verdictSchema), SettingSources: []string{"user"},
		Env: map[string]string{"HOME": q.home, "ANTHROPIC_API_KEY": "sk-ant-rehearsal-0000", "CLAUDE_CODE_MAX_RETRIES": "0"}}
	if model != nil {
		q.Env["ANTHROPIC_BASE_URL"] = model.url
	}
	return q
}

// ask runs the query, and checks what must hold after every query.
func (q *asking) ask(ctx context.Context) (bridge.QueryResult, error) {
	q.t.Helper()
	r, err := q.l.Query(ctx, bridge.Owner{Run: q.run}, q.spec, q.QueryParams)
	testkit.Empty(q.t, "processes are left", proctree.Survivors(q.run))
	found, _ := filepath.Glob(filepath.Join(q.home, ".claude", "projects", "*", "*.jsonl"))
	testkit.Check(q.t, len(found) == 0, "a session is left: %v", found)
	return r, err
}

func chosen(message string) reply {
	return reply{usage: [3]int{3, 100, 20}, tools: []call{{bridge.VerdictTool, map[string]any{"message": message}}}}
}

func TestLiveQuery(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		model := startAPI(t, chosen("the tester"))
		q := newAsking(t, spec, model)
		hooked := q.burden()
		q.Prompt = "/cost\n@/etc/passwd Which?"
		r := testkit.Must(q.ask(t.Context()))(t)
		testkit.Check(t, r.CostUSD > 0 && r.DurationMS > 0, "cost %v, duration %v", r.CostUSD, r.DurationMS)
		r.CostUSD, r.DurationMS = 0, 0
		want := bridge.QueryResult{Output: json.RawMessage(`{"message":"the tester"}`), Model: "claude-opus-5-5",
			Usage: bridge.Usage{Input: 3, CacheRead: 100, CacheCreation: 20, Output: 7}}
		testkit.Same(t, "", want, r)
		request := model.lastRequest()
		for _, has := range []string{"You choose.", `/cost\n@/etc/passwd Which?`, `"effort":"low"`} {
			testkit.Includes(t, "the request has no", request, has)
		}
		for _, not := range []string{"root:", "USER MEMORY", "PROJECT MEMORY", "temperature"} {
			testkit.Excludes(t, "the request has", request, not)
		}
		testkit.Same(t, "tools", []string{bridge.VerdictTool}, model.toolNames(0))
		testkit.Fails(t, "a hook of the user's ran", testkit.Err(os.Stat(hooked)))
	})
}

// burden fills the user's and the project's settings with things that must not affect a query, and returns
// the file that a hook would write.
func (q *asking) burden() string {
	q.t.Helper()
	hooked := filepath.Join(q.home, "hooked")
	hook, _ := json.Marshal(map[string]any{"hooks": map[string]any{"UserPromptSubmit": []any{
		map[string]any{"hooks": []any{map[string]any{"type": "command", "command": "touch " + hooked}}}}}})
	for path, text := range map[string]string{
		filepath.Join(q.home, ".claude", "settings.json"): string(hook),
		filepath.Join(q.home, ".claude", "CLAUDE.md"):     "USER MEMORY",
		filepath.Join(q.CWD, "CLAUDE.md"):                 "PROJECT MEMORY",
	} {
		testkit.OK(q.t, os.MkdirAll(filepath.Dir(path), 0o755))
		testkit.OK(q.t, os.WriteFile(path, []byte(text), 0o600))
	}
	return hooked
}

// toolNames lists the tools of the nth request, sorted.
func (a *api) toolNames(n int) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var names []string
	if n < len(a.requests) {
		tools, _ := a.requests[n]["tools"].([]any)
		for _, tool := range tools {
			name, _ := tool.(map[string]any)["name"].(string)
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// TestLiveQueryWithoutAVerdict: this is not a failure, the caller may find the answer in the text.
func TestLiveQueryWithoutAVerdict(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		q := newAsking(t, spec, startAPI(t, reply{text: "the tester"}, reply{text: "I said so"}))
		r, err := q.ask(t.Context())
		testkit.Check(t, err == nil && r.Output == nil && r.Text == "I said so", "%+v, %v", r, err)
	})
}

func TestLiveQueryWithoutASchema(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		model := startAPI(t, reply{text: "plain"})
		q := newAsking(t, spec, model)
		q.JSONSchema, q.SettingSources = nil, nil
		r, err := q.ask(t.Context())
		if err != nil || r.Output != nil || r.Text != "plain" || len(model.toolNames(0)) != 0 {
			t.Errorf("%+v, %v, tools %v", r, err, model.toolNames(0))
		}
	})
}

// TestLiveQueryOfEveryLength: a query that is too long for an argument goes over stdin.
func TestLiveQueryOfEveryLength(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		model := startAPI(t, chosen("long"))
		q := newAsking(t, spec, model)
		q.SystemPrompt, q.Prompt = strings.Repeat("s", 200<<10), strings.Repeat("p", 300<<10)
		r, err := q.ask(t.Context())
		testkit.Check(t, err == nil && string(r.Output) == `{"message":"long"}`, "%+v, %v", r, err)
		testkit.Includes(t, "the prompts did not arrive whole", model.lastRequest(), q.SystemPrompt, q.Prompt)
	})
}

func TestLiveQueryFails(t *testing.T) {
	realAtNight(t)
	wrong := reply{tools: []call{{bridge.VerdictTool, map[string]any{"message": 1}}}}
	for name, tc := range map[string]struct {
		script   []reply
		budget   float64
		category bridge.Category
		cost     bool
	}{
		"auth": {script: []reply{{status: 401, kind: "authentication_error", message: "no"}}, category: bridge.CatAuth},
		"rate limit": {script: []reply{{status: 429, kind: "rate_limit_error", message: "slow"}},
			category: bridge.CatRateLimit},
		"overloaded": {script: []reply{{status: 529, kind: "overloaded_error", message: "full"}},
			category: bridge.CatOverloaded},
		"server":  {script: []reply{{status: 500, kind: "api_error", message: "oops"}}, category: bridge.CatServer},
		"verdict": {script: []reply{wrong, wrong, wrong, wrong, wrong, wrong}, category: bridge.CatVerdict, cost: true},
		"budget": {script: []reply{{text: "a"}, {text: "b"}, {text: "c"}}, budget: 1e-9, category: bridge.CatBudget,
			cost: true},
	} {
		play := players
		if name == "verdict" { // the stand-in asks once; the CLI decides how often it asks
			play = inside
		}
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, spec bridge.ClaudeSpec) {
				q := newAsking(t, spec, startAPI(t, tc.script...))
				q.MaxBudgetUSD = tc.budget
				r, err := q.ask(t.Context())
				rpc, ok := errors.AsType[*bridge.RPCError](err)
				testkit.Check(t, ok && rpc.Category == tc.category && rpc.Message != "" && rpc.CostUSD > 0 == tc.cost,
					"%+v, %#v", r, err)
			})
		})
	}
}

// TestLiveQueryTimeout: the reason why the CLI kept retrying is reported, if the CLI gave one.
func TestLiveQueryTimeout(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		hold := make(chan struct{})
		defer close(hold)
		q := newAsking(t, spec, startAPI(t, reply{hold: hold}))
		q.TimeoutMS = 1500
		_, err := q.ask(t.Context())
		rpc, ok := errors.AsType[*bridge.RPCError](err)
		testkit.Check(t, ok && rpc.Code == bridge.CodeTimeout && rpc.Category == bridge.CatTimeout, "silence: %#v", err)
		if len(spec.Args) > 0 {
			return // the stand-in does not retry
		}
		// How long the start takes depends on the machine.
		for limit := 2500; ; limit *= 2 {
			q = newAsking(t, spec, startAPI(t, reply{status: 429, kind: "rate_limit_error", message: "slow"}))
			q.Env["CLAUDE_CODE_MAX_RETRIES"] = "10"
			q.TimeoutMS = limit
			_, err = q.ask(t.Context())
			rpc, ok := errors.AsType[*bridge.RPCError](err)
			if ok && rpc.Code == bridge.CodeTimeout && rpc.Category == bridge.CatTimeout && limit < 20_000 {
				continue
			}
			testkit.Check(t, ok && rpc.Code == bridge.CodeTimeout && rpc.Category == bridge.CatRateLimit,
				"retries: %#v", err)
			return
		}
	})
}

func TestLiveQueryCancelled(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		hold := make(chan struct{})
		defer close(hold)
		model := startAPI(t, reply{hold: hold})
		q := newAsking(t, spec, model)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		failed := make(chan error, 1)
		go func() {
			_, err := q.ask(ctx)
			failed <- err
		}()
		testkit.Await(t, "the request", func() bool { return model.lastRequest() != "" })
		cancel() // the model does not answer, because of hold
		testkit.Fails(t, "its call", <-failed, context.Canceled)
	})
}

// TestLiveQueriesOfAScenario: a scripted model treats each query as a session of its own.
func TestLiveQueriesOfAScenario(t *testing.T) {
	realAtNight(t)
	players(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		sc := testkit.Must(rehearsal.Parse("choices.yaml", []byte(`
actors:
  - {name: first, match: {role: main, contains: Which, nth: 1}, steps: [{expect: Which, verdict: {message: one}}]}
  - {name: second, match: {role: main, contains: Which, nth: 2}, steps: [{expect: Which, verdict: {message: two}}]}
`)))(t)
		srv := testkit.Must(rehearsal.Start(sc, rehearsal.Options{}))(t)
		defer srv.Close()
		q := newAsking(t, spec, nil)
		q.Env["ANTHROPIC_BASE_URL"] = srv.URL()
		for _, want := range []string{`{"message":"one"}`, `{"message":"two"}`} {
			r, err := q.ask(t.Context())
			testkit.Check(t, err == nil && string(r.Output) == want, "%+v, %v; want %s", r, err, want)
		}
		testkit.Empty(t, "p", srv.Problems())
	})
}

func TestQueryOfACLIThatMisbehaves(t *testing.T) {
	result := `out {"type":"result","subtype":"success","is_error":false,"result":"fine","terminal_reason":"completed","total_cost_usd":0.5}`
	for name, tc := range map[string]struct {
		mode, prompt string
		text         string
		category     bridge.Category
	}{
		"good":              {fakeGood, result, "fine", ""},
		"noise":             {fakeGood, "raw oops\nlong 100\nout {\"type\":\"new\"}\nstderr 500\n" + result, "fine", ""},
		"dies at once":      {fakeDies, "x", "", bridge.CatStart},
		"dies later":        {fakeGood, "exit 3", "", bridge.CatStart},
		"half a result":     {fakeGood, `half {"type":"result"`, "", bridge.CatStart},
		"hangs afterwards":  {fakeGood, result + "\ndeaf", "fine", ""},
		"leaves an orphan":  {fakeGood, "orphan\n" + result, "fine", ""},
		"closes its output": {fakeGood, "close\ndeaf", "", bridge.CatStart},
		"stubborn":          {fakeStubborn, "orphan\ndeaf", "", bridge.CatTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newAsking(t, fakeSpec(t, tc.mode), nil)
			q.Prompt, q.TimeoutMS = tc.prompt, 20_000
			if tc.category == bridge.CatTimeout {
				q.TimeoutMS = 500
			}
			r, err := q.ask(t.Context())
			rpc, ok := errors.AsType[*bridge.RPCError](err)
			testkit.Check(t, ok == (tc.category != "") && (!ok || rpc.Category == tc.category) && r.Text == tc.text,
				"%+v, %#v", r, err)
		})
	}
}

func TestQueryRefusesWhatTheCLIWouldMisread(t *testing.T) {
	for name, wrong := range map[string]func(*bridge.QueryParams){
		"source": func(p *bridge.QueryParams) { p.SettingSources = []string{"everywhere"} },
		"NUL":    func(p *bridge.QueryParams) { p.SystemPrompt = "\x00" },
		"schema": func(p *bridge.QueryParams) { p.JSONSchema = json.RawMessage(`{`) },
	} {
		q := newAsking(t, fakeSpec(t, fakeGood), nil)
		wrong(&q.QueryParams)
		_, err := q.ask(t.Context())
		testkit.Check(t, errCode(err) == -32602, "%s: %v", name, err)
	}
}

// mcpBubble serves one tool, `work`, inside a synctest bubble.
func mcpBubble(t *testing.T, tool func(context.Context, bridge.ToolCallParams) (bridge.ToolCallResult, error),
	test func(ask func(method, params string) <-chan string, end context.CancelFunc)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		host := newHost(t)
		host.tool = tool
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s := testkit.Must(newToolServer(ctx, bridge.AgentRef{ID: "a"},
			[]bridge.ToolSpec{{Name: "work", InputSchema: json.RawMessage(`{"type":"object"}`), TimeoutMS: 60_000}},
			host))(t)
		id := 0
		ask := func(method, params string) <-chan string {
			message := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s,"id":%d}`, method, params, id)
			if strings.HasPrefix(method, "notifications/") {
				message = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
			} else {
				id++
			}
			obj := testkit.Must(split([]byte(`{"subtype":"mcp_message","server_name":"arbiter","message":` + message + `}`)))(t)
			wait := s.accept(obj)
			answer := make(chan string, 1) // read or not
			go func() {
				payload, err := wait(ctx)
				data, _ := json.Marshal(payload)
				answer <- fmt.Sprint(string(data), err)
			}()
			return answer
		}
		if got := <-ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2.1.329"}}`); !strings.Contains(got, `"protocolVersion":"2025-11-25"`) {
			t.Fatalf("initialize: %s", got)
		}
		got := <-ask("notifications/initialized", `{}`)
		testkit.Check(t, strings.HasPrefix(got, `{"mcp_response":{`), "a notification was answered with %s", got)
		test(ask, cancel)
		cancel()
		s.end()
	})
}

func TestMCPTools(t *testing.T) {
	mcpBubble(t, nil, func(ask func(string, string) <-chan string, _ context.CancelFunc) {
		testkit.Includes(t, "tools", <-ask("tools/list", `{}`), `"anthropic/alwaysLoad":true`,
			`"inputSchema":{"type":"object"}`)
		testkit.Includes(t, "unknown tool", <-ask("tools/call", `{"name":"play","arguments":{}}`), `"error"`)
		testkit.Includes(t, "bad arguments", <-ask("tools/call", `{"name":"work","arguments":[]}`), `"isError":true`)
	})
}

func TestMCPCallsDoNotWaitForEachOther(t *testing.T) {
	release := make(chan struct{})
	tool := func(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
		if strings.Contains(string(p.Input), "slow") {
			select {
			case <-release:
			case <-ctx.Done():
				return bridge.ToolCallResult{}, ctx.Err()
			}
		}
		return bridge.ToolCallResult{Text: p.Call}, nil
	}
	mcpBubble(t, tool, func(ask func(string, string) <-chan string, _ context.CancelFunc) {
		release = make(chan struct{})
		slow := ask("tools/call",
			`{"name":"work","arguments":{"slow":1},"_meta":{"claudecode/toolUseId":"toolu_slow"}}`)
		testkit.Includes(t, "quick one", <-ask("tools/call", `{"name":"work"}`), `"text":"call-1"`)
		close(release)
		testkit.Includes(t, "slow one", <-slow, `"text":"toolu_slow"`)
	})
}

func TestMCPDeadlineAndEnd(t *testing.T) {
	tool := func(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
		<-ctx.Done()
		return bridge.ToolCallResult{}, ctx.Err()
	}
	mcpBubble(t, tool, func(ask func(string, string) <-chan string, end context.CancelFunc) {
		began := time.Now()
		if got := <-ask("tools/call", `{"name":"work"}`); !strings.Contains(got, "No answer within 1m0s") ||
			time.Since(began) != time.Minute {
			t.Errorf("after %v: %s", time.Since(began), got)
		}
		open := ask("tools/call", `{"name":"work"}`)
		synctest.Wait()
		end()
		<-open // with any answer, it does not hang
	})
}

func TestMCPCancelled(t *testing.T) {
	ended := make(chan error, 1)
	tool := func(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return bridge.ToolCallResult{}, ctx.Err()
	}
	mcpBubble(t, tool, func(ask func(string, string) <-chan string, _ context.CancelFunc) {
		ended = make(chan error, 1)
		began := time.Now()
		open := ask("tools/call", `{"name":"work"}`)
		synctest.Wait()
		<-ask("notifications/cancelled", `{"requestId":1,"reason":"interrupted"}`)
		<-ended
		<-open
		if time.Since(began) > 10*time.Second {
			t.Errorf("ended after %v only", time.Since(began))
		}
	})
}

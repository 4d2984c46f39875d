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
		q.Env["ANTHROPIC_BASE_URL"] = model.URL
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
		testkit.Excludes(t, "the request has", request, "root:", "USER MEMORY", "PROJECT MEMORY", "temperature")
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
		put(q.t, path, text)
	}
	return hooked
}

// toolNames lists the tools of the nth request, sorted.
func (a *api) toolNames(n int) []string {
	var body struct{ Tools []struct{ Name string } }
	_ = json.Unmarshal([]byte(a.Requests()[n]), &body)
	var names []string
	for _, tool := range body.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// TestLiveQueryOutcomes: a query without a verdict is not a failure, the caller may find the answer in the text. One
// that is too long for an argument goes over stdin.
func TestLiveQueryOutcomes(t *testing.T) {
	realAtNight(t)
	wrong := taskCall(bridge.VerdictTool, map[string]any{"message": 1})
	refused := func(status int, kind string) []reply { return []reply{{status: status, kind: kind, message: "no"}} }
	long := strings.Repeat("p", 300<<10)
	for name, tc := range map[string]struct {
		script   []reply
		change   func(*bridge.QueryParams)
		want     string // the output or the text
		category bridge.Category
		cost     bool
	}{
		"long": {script: []reply{chosen("long")}, want: `{"message":"long"}`,
			change: func(p *bridge.QueryParams) { p.SystemPrompt, p.Prompt = long[:200<<10], long }},
		"no verdict": {script: []reply{{text: "the tester"}, {text: "I said so"}}, want: "I said so"},
		"no schema": {script: []reply{{text: "plain"}}, want: "plain",
			change: func(p *bridge.QueryParams) { p.JSONSchema, p.SettingSources = nil, nil }},
		"auth":       {script: refused(401, "authentication_error"), category: bridge.CatAuth},
		"rate limit": {script: refused(429, "rate_limit_error"), category: bridge.CatRateLimit},
		"overloaded": {script: refused(529, "overloaded_error"), category: bridge.CatOverloaded},
		"server":     {script: refused(500, "api_error"), category: bridge.CatServer},
		"verdict":    {script: []reply{wrong, wrong, wrong, wrong, wrong, wrong}, category: bridge.CatVerdict, cost: true},
		"budget": {script: []reply{{text: "a"}, {text: "b"}, {text: "c"}}, category: bridge.CatBudget, cost: true,
			change: func(p *bridge.QueryParams) { p.MaxBudgetUSD = 1e-9 }},
	} {
		play := players
		if name == "verdict" { // the stand-in asks once; the CLI decides how often it asks
			play = inside
		}
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, spec bridge.ClaudeSpec) {
				model := startAPI(t, tc.script...)
				q := newAsking(t, spec, model)
				if tc.change != nil {
					tc.change(&q.QueryParams)
				}
				r, err := q.ask(t.Context())
				if tc.category != "" {
					rpc, ok := errors.AsType[*bridge.RPCError](err)
					testkit.Check(t, ok && rpc.Category == tc.category && rpc.Message != "" && rpc.CostUSD > 0 == tc.cost,
						"%+v, %#v", r, err)
					return
				}
				testkit.Check(t, err == nil && (string(r.Output) == tc.want || r.Output == nil && r.Text == tc.want),
					"%+v, %v", r, err)
				testkit.Includes(t, "the request", model.lastRequest(), q.SystemPrompt, q.Prompt)
				testkit.Same(t, "tools are offered", q.JSONSchema != nil, len(model.toolNames(0)) > 0)
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

// TestMCPTools asks the server of an agent's own tools as the CLI does: calls do not wait for each other, and end at
// their deadline, when they are cancelled and when the agent ends.
func TestMCPTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, ended := make(chan struct{}), make(chan error, 3)
		host := newHost(t)
		host.tool = func(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
			switch {
			case strings.Contains(string(p.Input), "hang"):
				<-ctx.Done()
				ended <- ctx.Err()
				return bridge.ToolCallResult{}, ctx.Err()
			case strings.Contains(string(p.Input), "slow"):
				<-release
			}
			return bridge.ToolCallResult{Text: p.Call}, nil
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s := testkit.Must(newToolServer(ctx, bridge.AgentRef{ID: "a"},
			[]bridge.ToolSpec{{Name: "work", InputSchema: json.RawMessage(`{"type":"object"}`), TimeoutMS: 60_000}},
			host))(t)
		id := 0
		ask := func(method, params string) <-chan string {
			number := fmt.Sprintf(`,"id":%d`, id)
			if strings.HasPrefix(method, "notifications/") {
				number = ""
			} else {
				id++
			}
			wait := s.accept(testkit.Must(split(fmt.Appendf(nil, `{"subtype":"mcp_message","server_name":"arbiter",`+
				`"message":{"jsonrpc":"2.0","method":%q,"params":%s%s}}`, method, params, number)))(t))
			answer := make(chan string, 1) // read or not
			go func() {
				payload, err := wait(ctx)
				data, _ := json.Marshal(payload)
				answer <- fmt.Sprint(string(data), err)
			}()
			return answer
		}
		const hang = `{"name":"work","arguments":{"hang":1}}`
		for _, c := range []struct{ method, params, want string }{
			{"initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code",` +
				`"version":"2.1.329"}}`, `"protocolVersion":"2025-11-25"`},
			{"notifications/initialized", `{}`, `{"mcp_response":{`},
			{"tools/list", `{}`, `"anthropic/alwaysLoad":true`},
			{"tools/list", `{}`, `"inputSchema":{"type":"object"}`},
			{"tools/call", `{"name":"play","arguments":{}}`, `"error"`},
			{"tools/call", `{"name":"work","arguments":[]}`, `"isError":true`},
		} {
			testkit.Includes(t, c.method+" "+c.params, <-ask(c.method, c.params), c.want)
		}
		slow := ask("tools/call",
			`{"name":"work","arguments":{"slow":1},"_meta":{"claudecode/toolUseId":"toolu_slow"}}`)
		testkit.Includes(t, "quick one", <-ask("tools/call", `{"name":"work"}`), `"text":"call-`)
		close(release)
		testkit.Includes(t, "slow one", <-slow, `"text":"toolu_slow"`)
		began := time.Now()
		testkit.Includes(t, "one without an answer", <-ask("tools/call", hang), "No answer within 1m0s")
		testkit.Same(t, "it ended after", time.Minute, time.Since(began))
		<-ended
		open := ask("tools/call", hang)
		synctest.Wait()
		<-ask("notifications/cancelled", fmt.Sprintf(`{"requestId":%d,"reason":"interrupted"}`, id-1))
		<-ended
		<-open
		testkit.Check(t, time.Since(began) <= time.Minute+10*time.Second, "a cancelled one ended after %v only",
			time.Since(began)-time.Minute)
		open = ask("tools/call", hang)
		synctest.Wait()
		cancel()
		<-open // with any answer, it does not hang
		s.end()
	})
}

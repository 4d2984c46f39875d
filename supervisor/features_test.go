package supervisor

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// rolePrompts are the prompts of both roles in a run with hosts and directories of their own.
func rolePrompts(t *testing.T) (arbiter, orchestrator string) {
	t.Helper()
	p := begin(t, func(o *runconfig.Options) {
		o.Hosts = []runconfig.Host{{Name: "loom", Slots: 2}}
		o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "spindle"}}}
		o.Workspace = runconfig.Workspace{Root: "/w", Isolation: runconfig.IsolationWorktree}
	})
	a, _ := p.s.Agent(contract.Arbiter)
	arbiter = p.s.agentConfig(&a).SystemPrompt
	one := Agent{AgentIdentity: AgentIdentity{Role: RoleOrchestrator, Name: "Orchestrator I", Isolation: "worktree"}}
	one.ID = "orch-1"
	return arbiter, p.s.agentConfig(&one).AppendSystemPrompt
}

const (
	readsArbiter = "A: " // before a word that the Arbiter's prompt has
	readsOrch    = "O: " // before a word that the Orchestrator's prompt has
)

// eventsInPrompts says for each event by which word the role that it concerns knows it.
var eventsInPrompts = map[string]string{
	"acceptance": "A: set_acceptance", "check": "A: PASSED, FAILED, UNRUN", "context_warning": "O: [arbiter: context]",
	"cost": "A: cost", "budget": "A: limits", "fuse": "A: `fuse_usd`", "quota": "A: limits", "decision": "A: decision",
	"handoff": "A: `handoff`", "host": "A: `host`", "merge": "A: merge", "message": "A: envelopes",
	"notice": "A: `notice`", "plan": "A: `set_plan`", "question": "A: The question stays open",
	"quiet": "A: silent or gone", "done": "A: silent or gone", "permission_request": "A: permission requests",
	"permission": "O: denied", "spawn": "A: `spawn_orchestrator`", "tool_call": "A: tools of the server `arbiter`",
	"subagent_start": "O: Agent tool", "compact": "O: summaries", "overlap": "A: different files",
	"retry": "A: `retry`", "result": "A: `summary`", "error": "A: When something fails", "forecast": "A: will cost",
	"changes": "A: the changed files",
}

// eventsForNobody are the events of which no role needs to know, by the reason.
var eventsForNobody = map[string][]string{
	"a frontend shows what an agent says or does; the agent knows it": {"assistant", "delta", "tool_use", "tool_result",
		"turn", "delivered", "subagent_progress", "subagent_stop"},
	"an answer to a human's command": {"accepted", "rejected", "withdrawn"},
	"a human stops or takes over an agent, which reads a message about it afterwards": {"halted", "takeover"},
	"the supervisor acts on it by itself":                                             {"restart", "context"},
	"a record of the run for frontends":                                               {"session", "state", "workspace"},
}

// settingsInPrompts says the same for each setting of a run.
var settingsInPrompts = map[string]string{
	"Delimiter": "O: {delimiter}", "CWD": "O: at the workspace (/", "Task": "A: `task`", "Lessons": "A: \"memory\"",
	"Memory": "A: `lessons`", "Accept": "A: human's criteria", "MaxOrchestrators": "A: At most 4 may live",
	"MaxFailures": "A: three failures", "MaxCostUSD": "A: limit", "MaxCostPerAgent": "O: `relief`", "Timeout": "A: limit",
	"ContextWarn": "O: 70 %", "ContextCritical": "O: 85 %", "ContextStop": "O: only read and commit",
	"CheckTimeout": "O: It takes seconds", "Modes": "A: # Modes", "Makes": "A: spindle", "Decider": "A: decision",
	"Hosts": "A: loom", "Pools": "A: loom", "HereToo": "A: here", "HumanPresent": "A: no human is present",
	"Workspace": "O: worktree", "Permissions": "A: permission requests", "Deny": "O: denied",
	"MaxIterations": "A: limits", "MaxTotalFailures": "A: limits", "MaxExchanges": "A: limits",
	"MaxCostPerDay": "A: limits", "FuseUSD": "A: `fuse_usd`", "QuotaReserve": "A: limits", "QuietAfter": "A: silent or gone",
	"ContextTokens": "O: Your\n  conversation is limited", "ContextTokensFor": "O: conversation is limited",
	"MaxSubagents": "O: limits how many subagents", "MaxSubagentsTotal": "O: limits how many subagents",
	"MaxSubagentsPerHour": "O: limits how many subagents", "Expected": "A: will cost",
}

// settingsForNobody are the settings of which no role needs to know, by the reason.
var settingsForNobody = map[string][]string{
	"chosen before a session begins, and fixed for it": {"Model", "ArbiterModel", "DefaultMake", "ArbiterMake", "Claude",
		"Env", "ArbiterEnv", "Templates", "Partial"},
	"what it allows needs no thought, and what it denies says so": {"Allow", "Ask", "Sandbox", "SandboxReason",
		"ScratchChecks", "Trusted", "TrustHash", "PermissionWait"},
	"of a decider, which is no session": {"DeciderModel", "DeciderEffort", "DeciderTimeout", "DecisionCache", "Provider",
		"Performance"},
	"the supervisor alone keeps this time or size": {"RetryBase", "StartTimeout", "MaxWait", "WatchEvery", "MaxMemory",
		"MaxOutput", "Lease", "Cores"},
	"names the run or its origin":                           {"Run", "Version", "Log", "ForkedFrom"},
	"of a rehearsal, where no model reads, only its script": {"Rehearsal", "Scenario", "Script", "StandIn"},
}

// TestPromptsNameEveryFeature: whatever a role can call, answer, receive or reach is named where that role reads. A new
// tool, kind, event or setting has no entry in the tables, and fails here until somebody decides who reads about it.
func TestPromptsNameEveryFeature(t *testing.T) {
	arbiter, orchestrator := rolePrompts(t)
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	arbiter, orchestrator = flat(arbiter), flat(orchestrator)
	named := func(what, word string) {
		t.Helper()
		text, rest := arbiter, strings.TrimPrefix(word, readsArbiter)
		if strings.HasPrefix(word, readsOrch) {
			text, rest = orchestrator, strings.TrimPrefix(word, readsOrch)
		}
		if !strings.Contains(text, flat(strings.ReplaceAll(rest, "{delimiter}", "7f3a9c"))) {
			t.Errorf("%s: no prompt has %q", what, word)
		}
	}
	for _, tool := range slices.Concat(ArbiterTools(), OrchestratorTools()) {
		var schema struct{ Properties map[string]json.RawMessage }
		testkit.OK(t, json.Unmarshal(tool.InputSchema, &schema))
		for input, raw := range schema.Properties {
			if !strings.Contains(string(raw), `"description"`) {
				t.Errorf("%s: nothing is said of %s", tool.Name, input)
			}
		}
	}
	for _, tool := range ArbiterTools() {
		named("tool", readsArbiter+tool.Name)
	}
	for _, tool := range OrchestratorTools() {
		named("tool", readsOrch+tool.Name)
	}
	for _, d := range []string{verdict.AddressHuman, verdict.AddressOrchestrator, verdict.SelectMode, verdict.Continue,
		verdict.Retry, verdict.Complete, verdict.Handoff} {
		named("decision", readsArbiter+"`"+d+"`")
	}
	for _, k := range []string{verdict.KindIntroduction, verdict.KindQuestion, verdict.KindProgress, verdict.KindHandoff,
		verdict.KindDone} {
		named("kind", readsOrch+"`"+k+"`")
		named("kind", readsArbiter+"`"+k+"`")
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[verdict.Document](), reflect.TypeFor[verdict.Orchestrator]()} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			switch name {
			case "steps": // of the planner's mode
			case "checks", "claims":
				named("field of the verdict", readsOrch+"`proofs`")
			default:
				named("field of the verdict", readsOrch+name)
			}
		}
	}
	for _, in := range []reflect.Type{reflect.TypeFor[SpawnInput](), reflect.TypeFor[verdict.Arbiter]()} {
		for i := range in.NumField() {
			if name, _, _ := strings.Cut(in.Field(i).Tag.Get("json"), ","); name != "prompt" {
				named("field", readsArbiter+name)
			}
		}
	}
	for kind, word := range messagesInPrompts(t) {
		named("message of kind "+kind, word)
	}
	checkTable(t, "event", contract.EventNames(), eventsInPrompts, eventsForNobody, named)
	checkTable(t, "setting", namesOfFields(reflect.TypeFor[runconfig.Options]()), settingsInPrompts,
		settingsForNobody, named)
}

func namesOfFields(typ reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(typ) {
		names = append(names, f.Name)
	}
	return names
}

// checkTable checks that each name is either in the table of words, which a prompt has, or among those for nobody.
func checkTable(t *testing.T, what string, names []string, table map[string]string, forNobody map[string][]string,
	named func(what, word string),
) {
	t.Helper()
	needless := slices.Concat(slices.Collect(maps.Values(forNobody))...)
	for _, name := range names {
		switch word, known := table[name]; {
		case known == slices.Contains(needless, name):
			t.Errorf("%s %s: say in one of the tables which prompt names it, or why no role needs it", what, name)
		case known:
			named(what+" "+name, word)
		}
	}
	for _, name := range slices.Concat(needless, slices.Collect(maps.Keys(table))) {
		if !slices.Contains(names, name) {
			t.Errorf("there is no %s %s", what, name)
		}
	}
}

// messagesInPrompts are the kinds of messages that conversation.go defines, with who reads about them.
func messagesInPrompts(t *testing.T) map[string]string {
	t.Helper()
	source := testkit.Must(os.ReadFile("conversation.go"))(t)
	toHuman := []string{"report", "complete", "question"}
	toOrchestrators := []string{"brief", "instruction", "continue", "relief"}
	list := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\tKind\w+ += "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		switch kind := m[1]; {
		case slices.Contains(toHuman, kind):
		case slices.Contains(toOrchestrators, kind):
			list[kind] = readsOrch + "`" + kind + "`"
		default:
			list[kind] = readsArbiter + "`" + kind + "`"
		}
	}
	if len(list) < 8 {
		t.Fatalf("conversation.go defines only %v", list)
	}
	return list
}

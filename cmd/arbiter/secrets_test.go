package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// printedSecrets are made-up secrets of different kinds, which agents and tools write.
func printedSecrets() []string {
	mix := func(n int) string { return strings.Repeat("q7Zx9K2mVb", n/10+1)[:n] }
	hex := func(n int) string { return strings.Repeat("0f7e3a9c1b", n/10+1)[:n] }
	big := func(n int) string { return strings.Repeat("Q7ZX9K2MVB", n/10+1)[:n] }
	return []string{
		"sk-ant-" + mix(40), "sk-or-" + mix(40), "sk-proj-" + mix(40), "sk-svcacct-" + mix(40), "sk-" + mix(48),
		"AKIA" + big(16), "ASIA" + big(16), "ghp_" + mix(36), "gho_" + mix(36), "ghu_" + mix(36), "ghs_" + mix(36),
		"ghr_" + mix(36), "github_pat_" + mix(60), "glpat-" + mix(20), "gldt-" + mix(20), "glrt-" + mix(20),
		"xoxb-" + mix(40), "xoxp-" + mix(40), "xapp-" + mix(40), "sk_live_" + mix(24), "rk_live_" + mix(24),
		"whsec_" + mix(32), "AIza" + mix(35), "GOCSPX-" + mix(28), "ya29." + mix(60),
		"npm_" + mix(36), "pypi-" + mix(60), "rubygems_" + hex(48), "dckr_pat_" + mix(27), "SK" + hex(32),
		"SG." + mix(64), "key-" + hex(32), "dop_v1_" + hex(64), "hf_" + mix(34), "r8_" + mix(37),
		"gsk_" + mix(48), "xai-" + mix(60), "shpat_" + hex(32), "dapi" + hex(32), "lin_api_" + mix(40),
		"PMAK-" + hex(58), "hvs." + mix(40), "tskey-" + mix(30), "CCIPAT_" + mix(44), "dp.pt." + mix(40),
		"eyJ" + mix(33) + ".eyJ" + mix(60) + "." + mix(43),
	}
}

// nameless is a secret of no known format: only its variable's name marks it.
const nameless = "tapestry-of-4711-looms"

// keyBody is a line of a private key, which alone looks like no secret.
const keyBody = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDRk0m5p0t7vZ1w"

// spilling is a play with secrets in everything that an agent can write.
func spilling(t *testing.T) string {
	all := strings.Join(printedSecrets(), " ") + " " + nameless
	end := done("Stands " + all)
	document := end["verdict"].(object)["handoff"].(object)
	document["accomplished"], document["key_context"], document["open_questions"] = []string{all}, all, []string{all}
	document["claims"] = []object{{"claim": all, "verified": true}}
	// The result is cut in the middle of the last secret.
	told := bash(fmt.Sprintf("echo '%s' | tee told.txt; head -c %d /dev/zero | tr '\\0' x; echo ' %s'", all,
		bridge.ToolResultCap-len(all)-len("\n ")-len(nameless)/2, nameless))
	told["say"] = "Said " + all
	told["use"].([]object)[0]["input"].(object)["description"] = "Told " + all
	return scenarioFile(t, playOf(
		arbiter([]object{
			uses(call("mcp__arbiter__set_plan", object{"steps": []object{{"text": "Plan " + all, "status": "active"}}}),
				call("mcp__arbiter__spawn_orchestrator", object{"prompt": "Brief " + all})),
			rules("CONTINUE", "Patience "+all, "reason", "r "+all),
			on("(?s)Stands.*redacted", rules("COMPLETE", "Done "+all, "summary", "Sum "+all, "reason", "r "+all)),
		}, patience),
		orchestrator("orchestrator", "", []object{told, writes("spilled.txt", all), end})))
}

// spill returns the secrets that a text contains.
func spill(text string) (found []string) {
	return testkit.Only(append(printedSecrets(), nameless, keyBody, nameless[:len(nameless)/2]),
		func(s string) bool { return strings.Contains(text, s) })
}

// TestSecretsAreNotKept: arbiter does not write secrets that agents write, pass to tools, get from tools or
// write to stderr, or that the environment contains.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	for _, s := range printedSecrets() {
		testkit.Check(t, sanitize.Redact("x "+s+" y") != "x "+s+" y", "no known format: %s", s)
	}
	all := strings.Join(printedSecrets(), " ")
	claude := sickClaude(t,
		sick{"orch-1.1": "sh: printf '%s\\n' '-----BEGIN PRIVATE KEY-----' " + keyBody + " " + keyBody +
			" '-----END PRIVATE KEY-----' >&2; for s in " + all + "; do echo \"leaked $s\" >&2; done; " +
			"export ARBITER_STANDIN_FAULT=die-mid-turn"})
	args := []string{"--rehearse", "--claude", claude, "--scenario", spilling(t), "--task", "Weave", "--env",
		"ARBITER_STANDIN_TOKEN=" + nameless, "--debug"}
	for _, frontend := range []string{"--json", "--plain"} {
		t.Run(frontend, func(t *testing.T) {
			t.Parallel()
			s := prepare(t, append([]string{"ANTHROPIC_API_KEY=" + printedSecrets()[0]}, secretsSeeded[1:]...),
				append(args, frontend)...)
			var out string
			if frontend == "--json" {
				s.launch()
				for _, tool := range []string{"Bash", "Write"} {
					asked := s.wants(tool)
					found := spill(string(asked.Input))
					testkit.Check(t, found == nil && strings.Contains(string(asked.Input), "redacted"),
						"asked with %q: %s", found, asked.Input)
					if runtime.GOOS == "linux" {
						for _, command := range survivors(s.run()) {
							if found := spill(command); found != nil && strings.Contains(command, "stand-in") {
								t.Errorf("%q is in the arguments of %s", found, command)
							}
						}
					}
					s.send(contract.Permit{Request: asked.Request, Behavior: bridge.Allow, Action: asked.Action,
						Scope: contract.ScopeRun})
				}
				s.completes()
				raw := testkit.Must(json.Marshal(s.lines))(t)
				out = string(raw)
				for _, args := range [][]string{{"replay", s.run()}, {"logs", s.run()}, {"logs", s.run(), "--audit"},
					{"sessions"}, {"sessions", "show", s.run()}, {"decide", s.run(), "--explain"},
					{"decide", s.run(), "--number", "1"}} {
					text, errs := s.output(0, args...)
					found := spill(text + errs)
					testkit.Check(t, found == nil && text != "", "arbiter %v: %q\n%s", args, found, errs)
				}
				// The allowed call was executed with the real secrets, not with the redacted text.
				done, err := os.ReadFile(filepath.Join(collect[contract.Session](s)[0].CWD, "spilled.txt"))
				testkit.Check(t, err == nil && len(spill(string(done))) == len(printedSecrets())+2,
					"the file: %v, %d secrets", err, len(spill(string(done))))
			} else {
				s.cmd.Args = append(s.cmd.Args, "--allow", "Bash", "--allow", "Write")
				var b bytes.Buffer
				s.cmd.Stdout = &b
				err := s.cmd.Run()
				testkit.Check(t, err == nil, "%v\n%s", err, s.stderr.String())
				out = b.String()
			}
			found := spill(out)
			testkit.Check(t, found == nil && strings.Contains(out, "redacted"), "stdout has %q", found)
			found = spill(s.stderr.String())
			testkit.Check(t, found == nil, "stderr has %q", found)
			crashes := keepsNone(t, filepath.Join(s.cmd.Dir, ".local", "state", "arbiter"))
			testkit.Check(t, crashes != 0, "there is no crash report")
		})
	}
}

// keepsNone checks that no file below the state directory contains a secret, except in Claude's own home in a
// rehearsal, and returns the number of crash reports.
func keepsNone(t *testing.T, state string) (crashes int) {
	t.Helper()
	files := filesBelow(t, state, "home")
	for path, text := range files {
		if strings.HasPrefix(filepath.Base(path), "crash-") {
			crashes++
		}
		if found := spill(text); found != nil {
			t.Errorf("%s has %d secrets: …%.300q", path, len(found), text[max(0, strings.Index(text, found[0])-200):])
		}
		for _, entry := range secretsSeeded[1:] {
			_, value, _ := strings.Cut(entry, "=")
			testkit.Check(t, !strings.Contains(text, value), "%s has the value of %s", path, entry)
		}
	}
	testkit.Check(t, len(files) >= 4, "%d files in %s", len(files), state)
	return crashes
}

// providerKey is a key of no known format, in a variable whose name does not mark it as a secret.
const providerKey = "loom-of-4711-tapestries"

// gateway is a test's server in the place of a provider. It checks each request, answers the first ones itself,
// and forwards the others to the scripted model. It echoes the key wherever it can.
type gateway struct {
	*httptest.Server
	t     *testing.T
	model *rehearsal.Server
	first []int // statuses of the first answers

	mu     sync.Mutex
	bodies []map[string]any
	seen   int // number of command lines checked
}

func newGateway(t *testing.T, model *rehearsal.Server, first ...int) *gateway {
	t.Helper()
	g := &gateway{t: t, model: model, first: first}
	g.Server = httptest.NewServer(g)
	t.Cleanup(g.Close)
	return g
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	var body map[string]any
	testkit.Check(g.t, err == nil && json.Unmarshal(raw, &body) == nil, "request %q: %v", raw, err)
	testkit.Check(g.t, r.Header.Get("X-Api-Key") == providerKey ||
		r.Header.Get("Authorization") == "Bearer "+providerKey, "headers %v", r.Header)
	g.mu.Lock()
	g.bodies = append(g.bodies, body)
	n := len(g.bodies)
	g.seen += g.commandLines()
	g.mu.Unlock()
	if n <= len(g.first) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(g.first[n-1])
		fmt.Fprintf(w, `{"type":"error","error":{"message":"you sent %s"}}`, providerKey)
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodPost, g.model.URL()+r.URL.Path, bytes.NewReader(raw))
	if err != nil {
		g.t.Error(err)
		return
	}
	req.Header.Set("X-Api-Key", g.model.Key())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Error(err)
		return
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	testkit.Check(g.t, err == nil, "%v", err)
	w.WriteHeader(res.StatusCode)
	_, _ = w.Write(bytes.ReplaceAll(answer, []byte("The order was wrong"), []byte("The key is "+providerKey)))
}

// commandLines checks that the key is not in the arguments of any process, nor in the environment of any
// process except arbiter's own. It returns how many processes it checked.
func (g *gateway) commandLines() int {
	all := processes(func(p process) bool { return p.command != "" })
	for _, p := range all {
		program, _, _ := strings.Cut(p.command, "\x00")
		name := filepath.Base(program)
		holders := name == "arbiter" || strings.HasSuffix(name, ".test") ||
			strings.Contains(p.command, "\x00bridge\x00")
		if strings.Contains(p.command, providerKey) || strings.Contains(p.environment, providerKey) && !holders {
			g.t.Errorf("%q has the key among its arguments or in its environment", p.command)
		}
	}
	return len(all)
}

func (g *gateway) requests() []map[string]any {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.bodies)
}

// besideProvider prepares a run that is not a rehearsal: its agents use the scripted model, and its decider uses a
// gateway.
func besideProvider(t *testing.T, p player, provider string, first ...int) (*script, *gateway) {
	t.Helper()
	model := scriptedModel(t, "workflow")
	g := newGateway(t, model, first...)
	return prepare(t, append(asksOf(model), "LOOM="+providerKey), "--json", "--no-input", "--debug", "--claude",
		p.program(t), "--cwd", t.TempDir(), "--allow", "Write", "--allow", "Bash(*)", "--task", "Weave", "--decider",
		"stateless", "--decider-provider", provider, "--decider-base-url", g.URL+"/v1", "--decider-key-env", "LOOM",
		"--decider-model", "loom-1", "--decider-temperature", "0.3", "--decider-max-tokens", "900"), g
}

// TestTheKeyOfAProvider: the key is in no file, event, log, argument or error, even if the server echoes it,
// and in no agent's environment. Arbiter retries after two temporary failures; temperature and token limit are
// in each request.
func TestTheKeyOfAProvider(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for provider, busy := range map[string]int{decider.OpenAI: 429, decider.APIAnthropic: 529} {
		for _, p := range players(t) {
			t.Run(provider+"/"+p.name, func(t *testing.T) {
				p.long(t)
				t.Parallel()
				s, g := besideProvider(t, p, provider, busy, busy)
				s.launch()
				s.finish(contract.ExitComplete)
				diff := cmp.Diff(taskRulings("model", "model", "model", "model", "model", "model"), rulingsOf(s))
				testkit.Need(t, diff == "", "decisions (-want +got):\n%s", diff)
				decisions := collect[contract.Decision](s)
				w := decisions[0].Warnings
				testkit.Check(t, len(w) == 2 && strings.Contains(w[0], "you sent *redacted") &&
					strings.Contains(w[0], "asked again after 1s"), "warnings %q", w)
				testkit.Includes(t, "reason", decisions[2].Reason, "The key is *redacted:")
				for _, body := range g.requests() {
					testkit.Check(t, body["temperature"] == 0.3 && body["max_tokens"] == 900.0 &&
						body["model"] == "loom-1", "request %v", body)
				}
				testkit.Check(t, len(g.requests()) == 8 && g.seen != 0, "%d requests, %d command lines",
					len(g.requests()), g.seen)
				told := testkit.Must(json.Marshal(s.lines))(t)
				texts := map[string]string{"the events": string(told), "stderr": s.stderr.String()}
				for _, args := range [][]string{{"replay", s.run()}, {"logs", s.run()}, {"logs", s.run(), "--audit"},
					{"decide", s.run(), "--explain", "--json"}, {"decide", s.run(), "--number", "3", "--json"},
					{"report", s.run()}, {"sessions", "show", s.run()}, {"doctor"}} {
					c := s.beside(args...)
					testkit.Check(t, c.code == 0 || args[0] == "doctor", "arbiter %q: exit code %d\n%s", args, c.code,
						c.errs)
					texts[strings.Join(args, " ")] = c.out + c.errs
				}
				for name, text := range texts {
					testkit.Excludes(t, fmt.Sprintf("%s has the key", name), text, providerKey)
				}
				n := filesWithout(t, s.cmd.Dir, providerKey)
				testkit.Check(t, n >= 4, "%d files", n)
			})
		}
	}
}

// filesWithout fails for each file below a directory that contains a text, and returns the number of files.
func filesWithout(t *testing.T, dir, text string) int {
	t.Helper()
	files := filesBelow(t, dir)
	for path, has := range files {
		testkit.Check(t, !strings.Contains(has, text), "%s has the key", path)
	}
	return len(files)
}

// TestAProviderThatRefuses: if the provider refuses, the rules decide and a warning says so; a question outside
// of a run fails with the exit code for the environment.
func TestAProviderThatRefuses(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	s, g := besideProvider(t, players(t)[0], decider.OpenAI, slices.Repeat([]int{401}, 100)...)
	s.launch()
	s.finish(contract.ExitComplete)
	for _, d := range collect[contract.Decision](s) {
		testkit.Check(t, d.Source == "fallback" && len(d.Warnings) == 1 &&
			strings.Contains(d.Warnings[0], "check the key in LOOM") &&
			strings.Contains(d.Warnings[0], strings.TrimPrefix(g.URL, "http://")+"/v1/chat/completions: 401") &&
			strings.Contains(d.Warnings[0], "the rules decide"), "%+v", d)
	}
	input, _ := s.output(0, "decide", "--explain", s.run(), "--number", "3", "--json")
	file := write(t, input, t.TempDir(), "input.json")
	asks := []string{"decide", "--input", file, "--decider-provider", "openai", "--decider-model", "m",
		"--decider-key-env", "LOOM", "--decider-base-url"}
	_, errs := s.output(int(contract.ExitEnvironment), append(asks, g.URL)...)
	testkit.Includes(t, "", errs, "401")
	testkit.Excludes(t, "", errs, providerKey)
	// A server that does not answer is given up after the timeout.
	hung := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	defer hung.Close()
	_, errs = s.output(int(contract.ExitFailed), append(asks, hung.URL, "--decider-timeout", "1s")...)
	testkit.Includes(t, "", errs, "no answer within 1s", "--decider-timeout")
	// A proxy from the usual variables is used.
	s.cmd.Env = append(s.cmd.Env, "HTTP_PROXY="+g.URL)
	out, errs := s.output(int(contract.ExitEnvironment), append(asks, "http://models.internal:4000/v1")...)
	testkit.Check(t, g.requests()[len(g.requests())-1]["model"] == "m" &&
		strings.Contains(errs, "models.internal:4000") && strings.Contains(errs, "401"), "%s%s", out, errs)
	u, err := url.Parse(g.URL)
	testkit.Check(t, err == nil && !strings.Contains(errs, u.Port()), "the proxy is named for the server: %s", errs)
}

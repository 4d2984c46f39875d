package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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

// spilling is a play with secrets in everything that an agent can write.
func spilling(t *testing.T) string {
	all := strings.Join(printedSecrets(), " ") + " " + nameless
	return scenarioFile(t, strings.ReplaceAll(`name: spilling
title: Agents that spill secrets
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__set_plan, input: {steps: [{text: "Plan SPILL", status: active}]}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: "Brief SPILL"}}
      - verdict: {decision: CONTINUE, message: "Patience SPILL", reason: "r SPILL"}
      - expect: (?s)Stands.*redacted
        verdict: {decision: COMPLETE, message: "Done SPILL", summary: "Sum SPILL", reason: "r SPILL"}
    otherwise: {verdict: {decision: CONTINUE, message: Patience., reason: r}}
  - name: orchestrator
    match: {role: orchestrator}
    steps:
      - {say: "Said SPILL", use: [{tool: Bash, input: {command: "echo 'SPILL' | tee told.txt", description: "Told SPILL"}}]}
      - {use: [{tool: Write, input: {file_path: "{{.cwd}}/spilled.txt", content: "SPILL"}}]}
      - verdict:
          kind: done
          expects_response: true
          message: "Stands SPILL"
          handoff: {accomplished: ["SPILL"], remaining: [], key_context: "SPILL", decisions: [], constraints: [], files: [], checks: [], open_questions: ["SPILL"], claims: [{claim: "SPILL", verified: true}]}
`, "SPILL", all))
}

// spill returns the secrets that a text contains.
func spill(text string) (found []string) {
	for _, s := range append(printedSecrets(), nameless) {
		if strings.Contains(text, s) {
			found = append(found, s)
		}
	}
	return found
}

// TestSecretsAreNotKept: arbiter does not write secrets that agents write, pass to tools, get from tools or
// write to stderr, or that the environment contains.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	for _, s := range printedSecrets() {
		if sanitize.Redact("x "+s+" y") == "x "+s+" y" {
			t.Errorf("no known format: %s", s)
		}
	}
	all := strings.Join(printedSecrets(), " ")
	claude := sickClaude(t,
		sick{"orch-1.1": "sh: for s in " + all +
			"; do echo \"leaked $s\" >&2; done; export ARBITER_STANDIN_FAULT=die-mid-turn"})
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
					asked := await[contract.PermissionRequest](s, "a request",
						func(_ string, r contract.PermissionRequest) bool { return r.Tool == tool })
					if found := spill(string(asked.Input)); found != nil ||
						!strings.Contains(string(asked.Input), "redacted") {
						t.Errorf("asked with %q: %s", found, asked.Input)
					}
					if runtime.GOOS == "linux" {
						for pid := range survivors(s.run()) {
							raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
							if found := spill(string(raw)); found != nil && bytes.Contains(raw, []byte("stand-in")) {
								t.Errorf("process %d has %q in its arguments", pid, found)
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
					if found := spill(text + errs); found != nil || text == "" {
						t.Errorf("arbiter %v: %q\n%s", args, found, errs)
					}
				}
				// The allowed call was executed with the real secrets, not with the redacted text.
				if done, err := os.ReadFile(filepath.Join(collect[contract.Session](s)[0].CWD,
					"spilled.txt")); err != nil || len(spill(string(done))) != len(printedSecrets())+1 {
					t.Errorf("the file: %v, %d secrets", err, len(spill(string(done))))
				}
			} else {
				s.cmd.Args = append(s.cmd.Args, "--allow", "Bash", "--allow", "Write")
				var b bytes.Buffer
				s.cmd.Stdout = &b
				if err := s.cmd.Run(); err != nil {
					t.Errorf("%v\n%s", err, s.stderr.String())
				}
				out = b.String()
			}
			if found := spill(out); found != nil || !strings.Contains(out, "redacted") {
				t.Errorf("stdout has %q", found)
			}
			if found := spill(s.stderr.String()); found != nil {
				t.Errorf("stderr has %q", found)
			}
			crashes := keepsNone(t, filepath.Join(s.cmd.Dir, ".local", "state", "arbiter"))
			if crashes == 0 {
				t.Error("there is no crash report")
			}
		})
	}
}

// keepsNone checks that no file below the state directory contains a secret, except in Claude's own home in a
// rehearsal, and returns the number of crash reports.
func keepsNone(t *testing.T, state string) (crashes int) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == "home":
			return filepath.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		if strings.HasPrefix(e.Name(), "crash-") {
			crashes++
		}
		if found := spill(string(raw)); found != nil {
			i := bytes.Index(raw, []byte(found[0]))
			t.Errorf("%s has %d secrets: …%.300q", path, len(found), raw[max(0, i-200):])
		}
		for _, entry := range secretsSeeded[1:] {
			if _, value, _ := strings.Cut(entry, "="); bytes.Contains(raw, []byte(value)) {
				t.Errorf("%s has the value of %s", path, entry)
			}
		}
		return nil
	})
	if err != nil || files < 4 {
		t.Errorf("%d files in %s: %v", files, state, err)
	}
	return crashes
}

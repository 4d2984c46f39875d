package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// manyHands is a play in which n Orchestrators write a file each. The first is spawned to a pool, the second
// to a host by name, and the others to any host with a free slot.
func manyHands(n int) string {
	var play strings.Builder
	play.WriteString("name: many-hands\ntitle: Many at one cloth\nactors:\n" +
		"  - name: arbiter\n    match: {role: arbiter}\n    steps:\n      - use:\n")
	for i := range n {
		where := map[int]string{0: ", host: far", 1: ", host: h2"}[i]
		fmt.Fprintf(&play, "          - tool: mcp__arbiter__spawn_orchestrator\n"+
			"            input: {prompt: Weave part %d;%s}\n", i, where)
	}
	play.WriteString("      - verdict: &go {decision: CONTINUE, message: Weave., reason: All are summoned.}\n")
	for i := range n {
		decision := "*go"
		if i == n-1 {
			decision = "{decision: COMPLETE, message: It is done., summary: The cloth is woven., reason: All are done.}"
		}
		fmt.Fprintf(&play, "      - {expect: is woven, verdict: %s}\n", decision)
	}
	play.WriteString("    otherwise: {verdict: *go}\n")
	for i := range n {
		fmt.Fprintf(&play, `  - name: hand-%[1]d
    match: {role: orchestrator, contains: Weave part %[1]d;}
    steps:
      - use: [{tool: Write, input: {file_path: "{{.cwd}}/part-%[1]d.txt", content: "%[1]d\n"}}]
      - verdict:
          kind: done
          expects_response: true
          message: Part %[1]d is woven.
          handoff: {accomplished: [a part], remaining: [], key_context: In the files.}
`, i)
	}
	return play.String()
}

// TestOrchestratorsOnManyHosts: Orchestrators are spread over four hosts by their slots; if a host or a pool is
// named, it is used. With ARBITER_LONG=1 there are twenty Orchestrators.
func TestOrchestratorsOnManyHosts(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	agents, slots := 5, 2
	if testkit.AtNight() {
		agents, slots = 20, 5
	}
	text := "hosts:\n"
	for i := range 4 {
		dir := gittest.Temp(t)
		for _, d := range []string{"bin", "home"} {
			if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		equip(t, filepath.Join(dir, "bin"), "")
		text += fmt.Sprintf("  h%d:\n    command: [env, -i, HOME=%s/home, 'PATH=%[2]s/bin:/usr/local/bin:/usr/bin:/bin']\n"+
			"    slots: %d\n    pass_env: [ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC]\n",
			i+1, dir, slots)
	}
	config := write(t, text+"pools: {far: [h3, h4]}\n", t.TempDir(), "config.yaml")
	repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
	s, model := hiredIn(t, players(t)[0], manyHands(agents), repo.Path, "--config", config, "--hosts", "h1,h2,far",
		"--isolation", "worktree", "--max-orchestrators", fmt.Sprint(agents), "--allow", "Write", "--task", "Weave")
	await[contract.Result](s, "the result", nil)
	s.finish(contract.ExitComplete)
	if list := model.Problems(); len(list) > 0 {
		t.Errorf("the play left its script: %v\n%s", list, s.dump())
	}
	on, places := map[string]int{}, []string{}
	for _, b := range collect[contract.Spawn](s) {
		if b.Prompt != "" && b.Host != "" {
			on[b.Host]++
			places = append(places, b.Host)
		}
	}
	if len(places) != agents || !slices.Contains([]string{"h3", "h4"}, places[0]) || places[1] != "h2" {
		t.Fatalf("placed on %v\n%s", places, s.dump())
	}
	for i := range 4 {
		if n := on[fmt.Sprintf("h%d", i+1)]; n < agents/4 || n > slots {
			t.Errorf("placed on %v", on)
		}
	}
	merged := 0
	for _, b := range collect[contract.Merge](s) {
		if b.Status == "merged" {
			merged++
		}
	}
	files := strings.Fields(repo.Git("ls-tree", "--name-only", fmt.Sprintf("arbiter/%.8s/main", s.run())))
	if merged != agents || len(files) != agents+1 {
		t.Errorf("%d merges, files %v\n%s", merged, files, s.dump())
	}
}

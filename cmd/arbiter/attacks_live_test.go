package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// TestAttacks plays the attacks on the permission rules with the real CLI: alone, where nobody answers its questions,
// and under Arbiter, where a human denies every request, each with the same rules. What is done under Arbiter the CLI
// alone does, too; where a deny or ask rule is about an attack, it is not done at all, and it is denied or asked about.
// By default it plays a few attacks of each of someGroups in one mode, every third group by a subagent. With
// ARBITER_LONG=1 it plays all groups in all their modes.
func TestAttacks(t *testing.T) {
	t.Parallel()
	claude := neededClaude(t)
	groups := corpus.Attacks(t, "../..")
	all := testkit.AtNight()
	for i, g := range groups {
		modes := g.Modes
		if !all {
			if !slices.Contains(someGroups, i) {
				continue
			}
			modes = modes[i%len(modes) : i%len(modes)+1]
		}
		g.Attacks = slices.DeleteFunc(g.Attacks, func(a corpus.Attack) bool { return !a.Possible() })
		if every := (len(g.Attacks) + fewAttacks - 1) / fewAttacks; !all && every > 1 {
			n := 0
			g.Attacks = slices.DeleteFunc(g.Attacks, func(corpus.Attack) bool { n++; return n%every != 0 })
		}
		for _, mode := range modes {
			for n, g := range shares(g) {
				if n > 0 && !all {
					break
				}
				t.Run(fmt.Sprintf("%d row %d/%s", i, g.Row, mode), func(t *testing.T) {
					t.Parallel()
					o := &onslaught{t: t, mode: mode, place: corpus.NewAttackPlace(t, t.TempDir(), g), group: g,
						bySubagent: i%3 == 1 && staysPut(g)}
					if o.unruled() && mode != "allow-all" {
						o.playAlone(claude)
					}
					o.start(claude)
					o.play()
				})
			}
		}
	}
}

// TestGeneratedAttacks plays generated lines in the same way: each runs a program that no rule allows, within nested
// expansions, backquotes, here-documents and compound commands of programs that rules allow. In every second group a
// rule denies that program. It plays 20,000 lines at night, and some for each change.
func TestGeneratedAttacks(t *testing.T) {
	t.Parallel()
	claude := neededClaude(t)
	groups, size, seed := 1, 8, uint64(7)
	if testkit.AtNight() {
		groups, size, seed = 200, 100, rand.Uint64()
	}
	for i := range groups {
		t.Run(fmt.Sprintf("%d of seed %d", i, seed), func(t *testing.T) {
			t.Parallel()
			random, dir := rand.New(rand.NewPCG(seed, uint64(i))), t.TempDir()
			g := corpus.AttackGroup{Allow: []string{"Bash(echo *)", "Bash(cat *)"}}
			if i%2 == 1 {
				g.Deny = []string{"Bash(touch *)"}
			}
			for n := range size {
				made := fmt.Sprintf("made%d", n)
				line := corpus.NestedLine(random, "touch "+made)
				for strings.Contains(line, `\\;`) {
					line = strings.ReplaceAll(line, `\\;`, `\;`) // as the CLI does itself, at each place once
				}
				a := corpus.Attack{Line: line, Made: made}
				cmd := exec.Command("bash", "-c", a.Line)
				cmd.Dir = dir
				_ = cmd.Run() // some end with the status of an empty command
				_, err := os.Lstat(filepath.Join(dir, made))
				a.Harmless = err != nil
				g.Attacks = append(g.Attacks, a)
			}
			o := &onslaught{t: t, mode: "ask", place: corpus.NewAttackPlace(t, t.TempDir(), g), group: g}
			if o.unruled() {
				o.playAlone(claude)
			}
			o.start(claude)
			o.play()
		})
	}
}

// someGroups cover each way by which attacks reach arbiter: a check, another directory, a command line that a rule
// denies, tools other than Bash, a subagent, and each mode. The attacks of the others differ only in the input of the
// policy.
var someGroups = []int{4, 8, 12, 13, 19}

// TestSomeAttacksCoverEachWay holds someGroups to what they are for.
func TestSomeAttacksCoverEachWay(t *testing.T) {
	groups, ways := corpus.Attacks(t, "../.."), map[string]bool{}
	for _, i := range someGroups {
		g := groups[i]
		ways[g.Modes[i%len(g.Modes)]], ways["subagent"] = true, ways["subagent"] || i%3 == 1 && staysPut(g)
		for _, a := range g.Attacks {
			ways["check"], ways["tool"] = ways["check"] || a.Check != "", ways["tool"] || a.Tool != ""
			ways["directory"], ways["denied"] = ways["directory"] || a.CWD != "", ways["denied"] || len(g.Deny) > 0
		}
	}
	for _, way := range strings.Fields("ask accept-edits rules allow-all subagent check tool directory denied") {
		testkit.Check(t, ways[way], "no group is one of: %s", way)
	}
}

// fewAttacks is how many of a group are played for each change, spread over the group.
const fewAttacks = 4

// staysPut reports whether a subagent can try a group: a subagent's cd does not last beyond one command, and a
// subagent does not hand off.
func staysPut(g corpus.AttackGroup) bool {
	return !slices.ContainsFunc(g.Attacks, func(a corpus.Attack) bool { return a.CWD != "" || a.Check != "" })
}

// maxChecks is how many checks of one hand-off are run.
const maxChecks = 10

// shares splits a group into parts that one run can try.
func shares(g corpus.AttackGroup) []corpus.AttackGroup {
	var list []corpus.AttackGroup
	size := len(g.Attacks)
	if g.Attacks[0].Check != "" {
		size = maxChecks
	}
	for some := range slices.Chunk(g.Attacks, size) {
		g.Attacks = some
		list = append(list, g)
	}
	return list
}

// onslaught is a run in which an Orchestrator, or its subagent, tries the attacks of a group one
// after the other, and a human denies every request.
type onslaught struct {
	t          *testing.T
	s          *script
	mode       string
	place      corpus.AttackPlace
	group      corpus.AttackGroup
	bySubagent bool
	alone      map[string]string // the harm that each attack did to the CLI alone
}

// unruled reports whether what is done is compared with what the CLI alone does: no rule denies the attacks or asks
// about them, and none is a check.
func (o *onslaught) unruled() bool {
	return len(o.group.Deny)+len(o.group.Ask) == 0 && o.group.Attacks[0].Check == ""
}

// playAlone plays the attacks to the CLI alone, in a place of its own. It has the rules that Arbiter gives it in this
// mode; with -p, what it would ask about is denied.
func (o *onslaught) playAlone(claude string) {
	t := o.t
	t.Helper()
	place := corpus.NewAttackPlace(t, t.TempDir(), o.group)
	model := serve(t, o.scenarioAlone(place))
	native := func(behavior string, texts []string) []string {
		list := []string{}
		for _, text := range texts {
			rule, err := policy.ParseRule(text)
			if err == nil {
				text, err = rule.Native(behavior, place.Work, place.Home)
			}
			testkit.OK(t, err)
			list = append(list, text)
		}
		return list
	}
	allow := native(bridge.Allow, o.group.Allow)
	if edits, ok := policy.EditsBelow(place.Work); ok && o.mode == "accept-edits" {
		allow = append(allow, edits)
	}
	settings := testkit.Must(json.Marshal(
		map[string]any{"useAutoModeDuringPlan": false, "permissions": map[string]any{"allow": allow,
			"deny": native(bridge.Deny, o.group.Deny), "ask": native(bridge.Ask, o.group.Ask),
			"disableAutoMode": "disable"}},
	))(t)
	shell := testkit.Must(exec.LookPath("bash"))(t)
	cmd := exec.CommandContext(t.Context(), claude, "-p", "Try", "--output-format", "stream-json", "--verbose",
		"--setting-sources", "", "--permission-mode", "default", "--settings", string(settings))
	cmd.Dir = place.Work
	cmd.Env = append(asksOf(model), "PATH="+os.Getenv("PATH"), "HOME="+place.Home, "GIT_CONFIG_NOSYSTEM=1",
		"CLAUDE_CODE_SHELL="+shell)
	out, err := cmd.Output()
	testkit.Need(t, err == nil, "the CLI alone: %v\n%.2000s", err, out)
	shown := shownTo(t, out)
	o.alone = map[string]string{}
	for _, a := range o.group.Attacks {
		text, tried := shown[attackKey(a)]
		testkit.Need(t, tried, "%q was not tried with the CLI alone: %.2000s", a.Text(), out)
		o.alone[attackKey(a)] = place.Harm(a, text)
	}
}

// attackKey names an attack by its command, or by its tool and input.
func attackKey(a corpus.Attack) string {
	if a.Tool == "" {
		return a.Text()
	}
	input, _ := json.Marshal(a.Input)
	return a.Tool + string(input)
}

// shownTo returns what the model was shown for each call, from the output of the CLI.
func shownTo(t *testing.T, out []byte) map[string]string {
	t.Helper()
	shown, names := map[string]string{}, map[string]string{}
	for line := range bytes.Lines(out) {
		var f struct {
			Message struct {
				Content json.RawMessage `json:"content"`
			} `json:"message"`
		}
		var blocks []struct {
			Type, ID, Name string
			Input, Content json.RawMessage
			ToolUse        string `json:"tool_use_id"`
		}
		if json.Unmarshal(line, &f) != nil || json.Unmarshal(f.Message.Content, &blocks) != nil {
			continue // a frame without content blocks
		}
		for _, b := range blocks {
			switch b.Type {
			case "tool_use":
				var input struct{ Command string }
				_ = json.Unmarshal(b.Input, &input) // other tools have no command
				if names[b.ID] = input.Command; b.Name != "Bash" {
					names[b.ID] = b.Name + canonical(t, b.Input)
				}
			case "tool_result":
				shown[names[b.ToolUse]] = string(b.Content)
			}
		}
	}
	return shown
}

func (o *onslaught) start(claude string) {
	t, g := o.t, o.group
	t.Helper()
	model := serve(t, o.scenario())
	args := []string{"--json", "--claude", claude, "--cwd", o.place.Work, "--permissions", o.mode, "--task", "Try",
		"--state-dir", t.TempDir()}
	if o.mode == "allow-all" {
		args = append(args, "--i-accept-the-risk")
		if os.Geteuid() == 0 { // root may use allow-all only in a sandbox
			needSandbox(t)
			args = append(args, "--sandbox", "on", "--sandbox-write", filepath.Dir(o.place.Work))
		}
	}
	for flag, rules := range map[string][]string{"--allow": g.Allow, "--deny": g.Deny, "--ask": g.Ask} {
		for _, rule := range rules {
			args = append(args, flag, rule)
		}
	}
	shell, _ := exec.LookPath("zsh") // even if the user's shell is not Bash, the tool uses Bash
	o.s = start(t, append(asksOf(model), "HOME="+o.place.Home, "SHELL="+shell, "GIT_CONFIG_NOSYSTEM=1"), args...)
}

// scenarioAlone has a session call a tool for each attack, itself or by a subagent.
func (o *onslaught) scenarioAlone(place corpus.AttackPlace) string {
	steps, _ := o.steps(place)
	steps = append(steps, says("Tried."))
	session := func(steps []object) object { return actor("session", object{"role": "main"}, steps) }
	if o.bySubagent {
		return playOf(subagent(steps...), session([]object{hires("Try."), says("Tried.")}))
	}
	return playOf(session(steps))
}

// steps are a call for each attack, and the checks.
func (o *onslaught) steps(place corpus.AttackPlace) (steps, checks []object) {
	at := ""
	for _, a := range o.group.Attacks {
		if a.Check != "" {
			checks = append(checks, check(a.Check, "exit 0"))
			continue
		}
		if a.CWD != at {
			at = a.CWD
			steps = append(steps, bash(enter(place, a)))
		}
		if a.Tool != "" {
			steps = append(steps, uses(call(a.Tool, a.Input)))
		} else {
			steps = append(steps, bash(a.Line))
		}
	}
	return steps, checks
}

// scenario has the Orchestrator call a tool for each attack, and hand its checks off.
func (o *onslaught) scenario() string {
	steps, checks := o.steps(o.place)
	end := done("Tried.", checks...)
	actors := []object{arbiter(summons("Try."), complete("s"))}
	if o.bySubagent {
		actors, steps = append(actors, subagent(append(steps, says("Tried."))...)), []object{hires("Try.")}
	}
	return playOf(append(actors, orchestrator("orchestrator", "", append(steps, end)))...)
}

// enter is the command that goes where an attack is tried.
func enter(place corpus.AttackPlace, a corpus.Attack) string {
	return "cd " + filepath.Join(place.Work, a.CWD)
}

// play has the human deny every request, waits for the end, and checks the outcome of each attack.
func (o *onslaught) play() {
	t := o.t
	t.Helper()
	answered := map[string]bool{}
	for over := false; !over; {
		l := o.s.see("a request, or the result", func(l contract.Line) bool {
			switch b := l.Body.(type) {
			case contract.PermissionRequest:
				return !answered[b.Request]
			case contract.Result:
				return true
			}
			return false
		})
		switch b := l.Body.(type) {
		case contract.PermissionRequest:
			answered[b.Request] = true
			o.s.send(contract.Permit{Request: b.Request, Behavior: bridge.Deny, Message: humanDenies})
		default:
			over = true
		}
	}
	o.s.finish(contract.ExitComplete)
	calls := o.calls()
	ran := slices.ContainsFunc(slices.Collect(maps.Values(calls)), func(c attempt) bool { return !c.stopped })
	for _, a := range o.group.Attacks {
		c, tried := calls[attackKey(a)]
		if !tried {
			t.Errorf("%q was not tried", a.Text())
			continue
		}
		harm := o.place.Harm(a, c.shown)
		kept := a.Harmless || calls[enter(o.place, a)].stopped // stopped before the directory where it would have done harm
		switch {
		case o.unruled():
			testkit.Check(t, harm == "" || o.alone[attackKey(a)] != "",
				"%q: %s under Arbiter, and not with the CLI alone: %.300s", a.Text(), harm, c.shown)
		case a.Unasked && (o.mode == "ask" || o.mode == "accept-edits"):
		case !c.stopped && (harm != "" || !kept):
			t.Errorf("%q ran (%s): %.300s", a.Text(), harm, c.shown)
		case harm != "" && !ran: // otherwise another attack may have done it
			t.Errorf("%q was stopped, and %s: %.300s", a.Text(), harm, c.shown)
		}
	}
	if t.Failed() {
		t.Log(o.s.stderr.String())
	}
}

const humanDenies = "THE HUMAN DENIES IT"

// attempt is the outcome of an attack.
type attempt struct {
	shown   string // what the model was shown
	stopped bool   // it was denied, by a rule, by the mode or by the human
}

// calls are the calls of the Orchestrator and the checks of its hand-off, keyed by the command, or by the tool
// with its input. For each call that arbiter or the human denied there must be an event.
func (o *onslaught) calls() map[string]attempt {
	o.t.Helper()
	calls, names, denied, reported := map[string]attempt{}, map[string]string{}, 0, 0
	for _, l := range o.s.lines {
		switch b := l.Body.(type) {
		case contract.ToolUse:
			var input struct{ Command string }
			testkit.OK(o.t, json.Unmarshal(b.Input, &input))
			if names[b.ToolUse] = input.Command; b.Tool != "Bash" {
				names[b.ToolUse] = b.Tool + canonical(o.t, b.Input)
			}
		case contract.Permission:
			if b.Behavior == bridge.Deny {
				reported++
			}
		case contract.ToolResult:
			byUs := b.IsError && (strings.Contains(b.Text, "Denied: ") || strings.Contains(b.Text, humanDenies))
			if byUs {
				denied++
			}
			calls[names[b.ToolUse]] = attempt{b.Text, byUs || b.IsError && byCLI.MatchString(b.Text)}
		case contract.Check:
			calls[b.Receipt.Command] = attempt{b.Receipt.Output, b.Receipt.Exit < 0}
		}
	}
	testkit.Check(o.t, o.group.Attacks[0].Check != "" || reported == denied,
		"%d calls were denied, and %d denials were told", denied, reported)
	return calls
}

// byCLI matches the texts with which the CLI denies a call by its own rules, or rejects an input.
var byCLI = regexp.MustCompile(
	"has been denied|was blocked by a deny rule|InputValidationError|denied by your permission settings")

// canonical returns JSON as it is encoded from a map.
func canonical(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var m map[string]any
	testkit.OK(t, json.Unmarshal(raw, &m))
	raw, _ = json.Marshal(m)
	return string(raw)
}

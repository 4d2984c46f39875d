package policy

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// linked is a file system with links: /w/out leads to /x, /w/in to /w/src, /h/link to
// /w, /alias to /w, /w/bad cannot be followed.
func linked(name string) (string, error) {
	name = filepath.Clean(name)
	for range 3 {
		for from, to := range map[string]string{"/w/out": "/x", "/w/in": "/w/src", "/h/link": "/w", "/alias": "/w"} {
			if rest, ok := below(name, from); ok {
				name = filepath.Join(to, rest)
			}
		}
	}
	if strings.HasPrefix(name, "/w/bad") {
		return "", os.ErrPermission
	}
	return name, nil
}

var (
	randomTools = strings.Split("Bash Edit Write Read Grep Glob WebFetch Agent Task Skill NotebookEdit TodoWrite "+
		"mcp__a__b mcp__a__bc mcp__a_b__c mcp__a___b Strange", " ")
	randomParts = strings.Split("w src out in bad a.go b.go a .env x alias h link secret", " ")
	randomSegs  = strings.Split("** * *.go a* ?.go [ab].go *.e* src out in a.go .env x secret w", " ")
	randomWords = strings.Split("git push log rm -rf ls $X *.go 'a b' x /bin/rm sudo ./rm r? A=1", " ")
	randomHosts = strings.Split("a.de b.a.de c.b.a.de de x.de A.de. a.de:80 a.de@x.de", " ")
)

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func several(r *rand.Rand, from []string, most int, sep string) string {
	var out []string
	for range 1 + r.IntN(most) {
		out = append(out, pick(r, from))
	}
	return strings.Join(out, sep)
}

func randomRule(r *rand.Rand) Rule {
	for {
		var s string
		switch r.IntN(7) {
		case 0, 1:
			s = "Bash(" + several(r, append(randomWords, "*", "*", "*m", "|", "git*", "rm:*"), 3, " ") + ")"
		case 2, 3, 4:
			s = pick(r, []string{"Edit", "Read", "Write", "Grep"}) + "(" +
				pick(r, []string{"", "", "//", "~/", "./", "/", "../"}) + several(r, randomSegs, 4, "/") + ")"
		case 5:
			s = pick(r, []string{"WebFetch(domain:" + pick(r, []string{"", "*."}) + pick(r, randomHosts) + ")",
				pick(r, []string{"Skill", "Agent"}) + "(" + pick(r, []string{"a", "A", "a*", "ab"}) + ")"})
		default:
			s = pick(r, []string{pick(r, randomTools), "mcp__a", "mcp__a_", "mcp__a__b*", "mcp__a__*", "mcp__a__b"})
		}
		if rule, err := ParseRule(s); err == nil && (rule.kind != kindTool || r.IntN(4) == 0) {
			return rule
		}
	}
}

func randomRequest(r *rand.Rand) Request {
	tool := pick(r, randomTools)
	name := pick(r, []string{"/", "", "~/", "../", "./", "/w/", "/alias/"}) + several(r, append(randomParts, ".."), 5,
		"/")
	in := map[string]string{}
	switch tool {
	case "Bash":
		in["command"] = several(r, append(randomWords, "cat src/a.go", "tee secret/a", "> in/.env", "<out/x",
			"sudo sed -i a.go", ";", "&&", "|", "$(rm x)", "'"), 6, " ")
		if r.IntN(30) == 0 {
			in["command"] = "sudo " + strings.Repeat("x ", 70) + in["command"]
		}
	case "WebFetch":
		in["url"] = "https://" + pick(r, randomHosts) + "/x"
	case "Skill":
		in["skill"] = pick(r, []string{"a", "A", "ab", "/a"})
	case "Agent", "Task":
		in["subagent_type"] = pick(r, []string{"a", "A", "ab"})
	case "Grep", "Glob":
		in["path"] = name
		in["pattern"], in["glob"] = several(r, randomSegs, 2, "/"), several(r, randomSegs, 2, "/")
	case "NotebookEdit":
		in["notebook_path"] = name
	default:
		in["file_path"] = name
	}
	if r.IntN(12) == 0 {
		clear(in)
	}
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return Request{Tool: tool, Input: raw}
}

// TestCompiledSaysTheSame: finding rules by an index and trying one after another give the same result, for any
// rules and any request.
func TestCompiledSaysTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	seen := map[string]int{}
	for range 400 {
		rules := func() (out []Rule) {
			for range random.IntN(12) {
				out = append(out, randomRule(random))
			}
			return out
		}
		p := Policy{Mode: []Mode{ModeAsk, ModeRules, ModeAcceptEdits, ModeAllowAll}[random.IntN(4)], Deny: rules(),
			Ask: rules(), Allow: rules(), CWD: pick(random, []string{"/w", "/w", "/alias", "/"}),
			Home: pick(random, []string{"/h", "/h", ""}), Resolve: linked}
		c := p.Compile()
		for range 60 {
			r := randomRequest(random)
			want := p.Decide(r)
			seen[want.Behavior+" by "+want.By]++
			if diff := cmp.Diff(want, c.Decide(r)); diff != "" {
				t.Fatalf("%s %s\ncwd %s deny %v ask %v allow %v (-one by one +compiled):\n%s", r.Tool, r.Input, p.CWD,
					p.Deny, p.Ask, p.Allow, diff)
			}
			one, ok := p.Covered(r)
			if other, okToo := c.Covered(r); one != other || ok != okToo {
				t.Fatalf("%s %s is covered by %q and, compiled, by %q", r.Tool, r.Input, one, other)
			}
			one, ok = p.Denied(r)
			if other, okToo := c.Denied(r); one != other || ok != okToo {
				t.Fatalf("%s %s is denied by %q and, compiled, by %q", r.Tool, r.Input, one, other)
			}
			if p.Harmless(r) != c.Harmless(r) {
				t.Fatalf("%s %s is harmless to one of the two only", r.Tool, r.Input)
			}
		}
	}
	for _, kind := range []string{"allow by rule", "deny by rule", "ask by rule", "allow by mode", "ask by mode",
		"deny by mode"} {
		if seen[kind] < 100 {
			t.Errorf("%s came up %d times only: too little was tried", kind, seen[kind])
		}
	}
}

// TestCompiledManyAtOnce is for the race detector.
func TestCompiledManyAtOnce(t *testing.T) {
	p := manyRules(t, "mixed", 100, t.TempDir())
	c := p.Compile()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, r := range askedOfMany() {
				if got, want := c.Decide(r), p.Decide(r); got != want {
					t.Errorf("%s: %v, want %v", r.Input, got, want)
				}
			}
		})
	}
	wg.Wait()
}

// TestCompiledFollowsMovedLinks: a link in a rule's path may be changed later, and the rule follows it.
func TestCompiledFollowsMovedLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "current")
	point := func(to string) {
		if err := os.MkdirAll(filepath.Join(dir, to), 0o700); err != nil {
			t.Fatal(err)
		}
		os.Remove(link)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	point("one")
	c := Policy{Mode: ModeAllowAll, CWD: dir, Deny: mustRules(t, "Edit(current/**)")}.Compile()
	point("two")
	for name, want := range map[string]string{"current/a": Deny, "two/a": Deny, "one/a": Allow} {
		if got := c.Decide(Request{Tool: "Edit", Input: input("file_path", name)}).Behavior; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// manyRules is a policy of about n rules, a third in each list; no rule matches askedOfMany's requests.
func manyRules(t testing.TB, kind string, n int, cwd string) Policy {
	kinds := map[string][]string{
		"path": {"Edit(secret%d/**)", "Read(~/.keys%d/**)", "Read(//etc/x%d)", "Edit(**/gen%d/*.go)", "Read(*.ext%d)",
			"Edit(deep/er/x%d.go)"},
		"bash":   {"Bash(danger%d *)", "Bash(git x%d:*)", "Bash(npm run y%d)", "Bash(* --z%d)"},
		"domain": {"WebFetch(domain:x%d.example.com)", "WebFetch(domain:*.y%d.example.com)"},
		"mcp":    {"mcp__srv%d", "mcp__other__t%d", "mcp__third__get%d_*"},
	}
	for _, k := range []string{"path", "bash", "domain", "mcp"} {
		kinds["mixed"] = append(kinds["mixed"], kinds[k]...)
	}
	var lists [3][]string
	for i := range n {
		lists[i%3] = append(lists[i%3], fmt.Sprintf(kinds[kind][(i/3)%len(kinds[kind])], i))
	}
	return Policy{Mode: ModeAsk, CWD: cwd, Home: filepath.Join(cwd, "home"),
		Deny: mustRules(t, lists[0]...), Ask: mustRules(t, lists[1]...), Allow: mustRules(t, lists[2]...)}
}

func askedOfMany() map[string]Request {
	return map[string]Request{
		"Edit":     {Tool: "Edit", Input: input("file_path", "src/a/b.go", "old_string", "x", "new_string", "y")},
		"Read":     {Tool: "Read", Input: input("file_path", "/usr/share/doc/x")},
		"Grep":     {Tool: "Grep", Input: input("pattern", "x", "path", "src", "glob", "*.go")},
		"Bash":     {Tool: "Bash", Input: bashInput("make -C sub test 2>&1 | tail -n 5 && git status --short")},
		"Holes":    {Tool: "Bash", Input: bashInput(`sudo env A=1 make -C "$X" $(go env GOPATH) ?/x all`)},
		"WebFetch": {Tool: "WebFetch", Input: input("url", "https://www.example.org/x", "prompt", "y")},
		"MCP":      {Tool: "mcp__mine__do", Input: input("x", "y")},
	}
}

// plainly is the time in ns to compare a text with each of others.
func plainly(texts []string, with string) float64 {
	const rounds = 2000
	begin, same := time.Now(), 0
	for range rounds {
		for _, text := range texts {
			if text == with {
				same++
			}
		}
	}
	return float64(time.Since(begin).Nanoseconds()+int64(same)) / rounds
}

// TestManyRulesAreCheap: the allocations of a decision do not grow with the number of rules, because everything
// about them is computed in advance. BenchmarkDecide measures the times.
func TestManyRulesAreCheap(t *testing.T) {
	dir := t.TempDir()
	for _, kind := range []string{"mixed", "path", "bash"} {
		few, many := manyRules(t, kind, 45, dir).Compile(), manyRules(t, kind, 999, dir).Compile()
		for name, r := range askedOfMany() {
			cost := func(c *Compiled) float64 {
				return testing.AllocsPerRun(20, func() { c.Decide(r) })
			}
			if a, b := cost(few), cost(many); b > a+20 {
				t.Errorf("%s, %s: %v allocations with 999 rules, %v with 45", kind, name, b, a)
			}
		}
	}
}

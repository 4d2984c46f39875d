package view

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// answers is a completer that records the questions.
type answers struct {
	asked []EditorContext
	list  []Candidate
}

func (a *answers) complete(c EditorContext) []Candidate {
	a.asked = append(a.asked, c)
	return a.list
}

func (a *answers) last() EditorContext { return a.asked[len(a.asked)-1] }

func popupText(r *rig, width, height int) []string {
	lines, selected := r.c.Popup(width, height)
	var list []string
	for i, l := range lines {
		mark := " "
		if i == selected {
			mark = ">"
		}
		list = append(list, mark+strings.TrimRight(l.Text(), " "))
	}
	return list
}

func TestCompleteCommand(t *testing.T) {
	r := newRig(t, 60, 3)
	r.write("/su")
	testkit.Same(t, "", ">/summon  MODE  summon an Orchestrator under a mode", popupText(r, 60, 5)[0])
	r.press("Enter").cursor("/summon |") // an incomplete name is completed, not sent
	testkit.Check(t, len(r.sent)+len(r.commands)+len(r.notices) == 0, "sent %q, executed %v, said %q", r.sent,
		r.commands, r.notices)
	r.c.Clear()
	r.write("/p").press("Down", "Tab").text("/pause ")
	r.press("Ctrl+U").write("/pause").press("Enter") // complete: it is executed
	testkit.Check(t, len(r.commands) == 1, "executed %v", r.commands)
	r.write("/pa")
	testkit.Same(t, "Esc closes the popup", false, !r.c.Escape() || r.c.PopupOpen())
	r.text("/pa").press("Tab")
	if !r.c.PopupOpen() { // pause, plan by subsequence and others
		t.Error("Tab opens it again")
	}
	r.press("Left")
	testkit.Same(t, "the popup stays away from the end of the word", false, r.c.PopupOpen())
	r.c.SetText("//p")
	r.press("Tab")
	testkit.Same(t, "text with two slashes is not a command", false, r.c.PopupOpen())
}

func TestCompleteArgument(t *testing.T) {
	for _, c := range []struct {
		text    string
		command string
		want    Want
		prefix  string
	}{
		{"/kill ", "kill", WantAgent, ""},
		{"/kill Orch", "kill", WantAgent, "Orch"},
		{"/kill Orchestrator I", "kill", WantAgent, "Orchestrator I"},
		{"/to or", "to", WantAgent, "or"},
		{"/mode arch", "summon", WantMode, "arch"},
		{"/model opus ", "model", WantAgent, ""},
		{"/model op", "model", WantModel, "op"},
		{"/file docs/my f", "file", WantPath, "docs/my f"},
		{"/resume r-1", "resume", WantRun, "r-1"},
		{"/theme d", "theme", WantTheme, "d"},
	} {
		a := &answers{list: []Candidate{{Text: "zzz"}}}
		r := newRig(t, 60, 3)
		r.c.Completer = a.complete
		r.write(c.text)
		got := a.last()
		testkit.Check(t, got.Kind == EditorArgument && got.Command == c.command && got.Want == c.want &&
			got.Prefix == c.prefix, "%q asks for %+v", c.text, got)
	}
	for _, text := range []string{"/note ", "/note x", "/to orch-1 x", "/pause ", "/frobnicate x", "plain", "mail@host",
		"/kill a\n"} {
		a := &answers{}
		r := newRig(t, 60, 3)
		r.c.Completer = a.complete
		r.c.SetText(text)
		r.press("Tab")
		if len(a.asked) > 0 {
			t.Errorf("%q asks for %+v", text, a.last())
		}
	}
	r := newRig(t, 60, 3)
	r.write("/allow ").press("Tab").text("/allow run ")
	r.c.Clear()
	r.c.Completer = (&answers{list: []Candidate{{Text: "Orchestrator I"}, {Text: "Orchestrator II"}}}).complete
	r.write("/to ").press("Down", "Tab").text(`/to "Orchestrator II" `).write("go").press("Enter")
	testkit.Check(t, len(r.commands) == 1 && r.commands[0].Arg(0) == "Orchestrator II" && r.commands[0].Arg(1) == "go",
		"executed %v", r.commands)
}

func TestCompleteFile(t *testing.T) {
	a := &answers{list: []Candidate{{Text: "src/", Open: true}, {Text: "src/my file.go"}, {Text: "README.md"},
		{Text: "evil\x1b[2J.md"}, {Text: "two\nlines"}}}
	r := newRig(t, 60, 3)
	r.c.Completer = a.complete
	r.write("look at @s")
	got := a.last()
	testkit.Check(t, got.Kind == EditorFile && got.Prefix == "s", "asks for %+v", got)
	testkit.Same(t, "", []string{">@src/", " @src/my file.go"}, popupText(r, 30, 5))
	r.press("Tab").text("look at @src/")
	testkit.Same(t, "a directory goes on", false, !r.c.PopupOpen() || a.last().Prefix != "src/")
	r.write("m").press("Tab").text(`look at @"src/my file.go" `)
	r.write("and (@REA").press("Tab").text(`look at @"src/my file.go" and (@README.md `)
	r.press("Ctrl+U").write("to @src and more").press("Enter") // typed text is sent as it is
	r.write("see @rea").press("Enter")
	testkit.Same(t, "sent", []string{"to @src and more", "see @rea"}, r.sent)
	r.write("see @rea").press("Down", "Enter").text("see @README.md ") // but not if a candidate was chosen
}

// Late answers are dropped; timely ones are shown, and the selection stays where it was.
func TestCandidatesComeLater(t *testing.T) {
	a := &answers{}
	r := newRig(t, 60, 3)
	r.c.Completer = a.complete
	r.write("@m")
	old := a.last().Generation
	r.write("a")
	r.c.SetCandidates(old, []Candidate{{Text: "mine"}})
	testkit.Same(t, "a late answer was taken", false, r.c.PopupOpen())
	now := a.last().Generation
	r.c.SetCandidates(now, []Candidate{{Text: "main.go"}, {Text: "make"}})
	r.press("Down")
	r.c.SetCandidates(now, []Candidate{{Text: "manual"}, {Text: "main.go"}, {Text: "make"}})
	r.press("Tab").text("@main.go ")
	r.c.SetCandidates(now, []Candidate{{Text: "main.go"}})
	testkit.Same(t, "an answer was taken after all was over", false, r.c.PopupOpen())
	r.c.Clear()
	r.write("@x")
	gen := a.last().Generation
	r.c.Escape()
	r.press("Ctrl+A")
	r.c.SetCandidates(gen, []Candidate{{Text: "xylophone"}})
	testkit.Same(t, "an answer was taken though the cursor went away", false, r.c.PopupOpen())
}

func TestPopupFits(t *testing.T) {
	r := newRig(t, 60, 3)
	r.write("/")
	for width := 1; width < 130; width++ {
		for height := range 12 {
			lines, selected := r.c.Popup(width, height)
			testkit.Need(t, len(lines) <= height && selected < max(len(lines), 1),
				"%d lines, the %dth selected, in %dx%d", len(lines), selected, width, height)
			for _, l := range lines {
				testkit.Need(t, l.Width() <= width, "%q in %d columns", l.Text(), width)
			}
		}
		r.press("Down")
	}
}

func TestParseSlash(t *testing.T) {
	for text, want := range map[string]EditorCommand{
		"/pause":   {Name: "pause"},
		"/Pause  ": {Name: "pause"},
		"/note  the tests\nfirst ": {Name: "note", Args: []string{"the tests\nfirst"},
			Rest: "the tests\nfirst"},
		"/stop":          {Name: "stop"},
		"/stop that now": {Name: "stop", Args: []string{"that now"}, Rest: "that now"},
		"/to orch-2 go  on\nplease": {Name: "to", Args: []string{"orch-2", "go  on\nplease"},
			Rest: "orch-2 go  on\nplease"},
		"/to Orchestrator II go on": {Name: "to", Args: []string{"Orchestrator II", "go on"},
			Rest: "Orchestrator II go on"},
		`/to "Orchestrator II" go on`: {Name: "to", Args: []string{"Orchestrator II", "go on"},
			Rest: `"Orchestrator II" go on`},
		"/kill Orchestrator III": {Name: "kill", Args: []string{"Orchestrator III"},
			Rest: "Orchestrator III"},
		"/mode architect":   {Name: "summon", Args: []string{"architect"}, Rest: "architect"},
		"/summon architect": {Name: "summon", Args: []string{"architect"}, Rest: "architect"},
		"/interrupt":        {Name: "interrupt"},
		"/plan":             {Name: "plan"},
		"/plan show":        {Name: "plan", Args: []string{"show"}, Rest: "show"},
		"/plan add read it": {Name: "plan", Args: []string{"add", "read it"},
			Rest: "add read it"},
		"/plan 2 mode tester": {Name: "plan", Args: []string{"2", "mode tester"},
			Rest: "2 mode tester"},
		"/plan set read\nwrite": {Name: "plan", Args: []string{"set", "read\nwrite"},
			Rest: "set read\nwrite"},
		"/allow always Bash(go test *)": {Name: "allow", Args: []string{"always", "Bash(go test *)"},
			Rest: "always Bash(go test *)"},
		"/allow Bash(go *)": {Name: "allow", Args: []string{"", "Bash(go *)"},
			Rest: "Bash(go *)"},
		"/allow mcp__git":    {Name: "allow", Args: []string{"", "mcp__git"}, Rest: "mcp__git"},
		"/allow eu-west":     {Name: "allow", Args: []string{"", "eu-west"}, Rest: "eu-west"},
		"/deny Bash(rm *)":   {Name: "deny", Args: []string{"Bash(rm *)"}, Rest: "Bash(rm *)"},
		"/ask Edit(go.mod)":  {Name: "ask", Args: []string{"Edit(go.mod)"}, Rest: "Edit(go.mod)"},
		"/permissions":       {Name: "permissions"},
		"/permissions rules": {Name: "permissions", Args: []string{"rules"}, Rest: "rules"},
		"/permissions allow-all i-accept-the-risk": {Name: "permissions",
			Args: []string{"allow-all", "i-accept-the-risk"}, Rest: "allow-all i-accept-the-risk"},
		"/allow run":        {Name: "allow", Args: []string{"run"}, Rest: "run"},
		"/deny not in /etc": {Name: "deny", Args: []string{"not in /etc"}, Rest: "not in /etc"},
		"/model opus orch-1": {Name: "model", Args: []string{"opus", "orch-1"},
			Rest: "opus orch-1"},
		"/model opus Orchestrator I": {Name: "model", Args: []string{"opus", "Orchestrator I"},
			Rest: "opus Orchestrator I"},
		"/file docs/what we want.md": {Name: "file", Args: []string{"docs/what we want.md"},
			Rest: "docs/what we want.md"},
		`/save "my notes.md"`: {Name: "save", Args: []string{"my notes.md"}, Rest: `"my notes.md"`},
		"/search a b":         {Name: "search", Args: []string{"a b"}, Rest: "a b"},
		"/choose 2":           {Name: "choose", Args: []string{"2"}, Rest: "2"},
		"/steer /etc/hosts is wrong, look at it": {Name: "steer", Args: []string{"/etc/hosts is wrong, look at it"},
			Rest: "/etc/hosts is wrong, look at it"},
	} {
		got, err := ParseSlash(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
}

// Errors say what, where, and what to do.
func TestParseSlashErrors(t *testing.T) {
	for text, want := range map[string]string{
		"/sumon x":            `"/sumon" is not a command – did you mean /summon? Otherwise, to send it as text, begin with "//"`,
		"/psuse":              `"/psuse" is not a command – did you mean /pause? Otherwise, to send it as text, begin with "//"`,
		"/s":                  `"/s" is not a command – did you mean /steer or /stop or /summon? Otherwise, to send it as text, begin with "//"`,
		"/etc/hosts is wrong": `"/etc/hosts" is not a command – to send it as text, begin with "//"; /help lists the commands`,
		"/":                   `"/" is not a command – to send it as text, begin with "//"; /help lists the commands`,
		"/ pause":             `"/" is not a command – to send it as text, begin with "//"; /help lists the commands`,
		"/note":               `/note: TEXT is missing – write /note TEXT`,
		"/to orch-1":          `/to: TEXT is missing behind AGENT – write /to AGENT TEXT`,
		"/kill":               `/kill: AGENT is missing – write /kill AGENT`,
		"/pause now\nplease":  `/pause takes no argument: leave out "now…" – write /pause alone; to send it as text, begin with "//"`,
		"/permissions all":    `/permissions: "all" is not one of ask, rules, accept-edits, allow-all – write /permissions [MODE] [i-accept-the-risk]`,
		"/permissions ask me": `/permissions: "me" is not known here, only i-accept-the-risk is – write /permissions [MODE] [i-accept-the-risk]`,
		"/ask":                `/ask: RULE is missing – write /ask RULE`,
		"/plan do":            `/plan: "do" is neither show, add or set nor the number of a step – write /plan [CHANGE]`,
		"/plan add":           `/plan add: the step is missing – write what is to be done after it`,
		"/plan 3":             `/plan 3: the change is missing – write /plan 3 done, start, skip, fail, pending, up, down, delete, text … or mode …`,
		"/plan 0 done":        `/plan: "0" is neither show, add or set nor the number of a step – write /plan [CHANGE]`,
		"/plan show it":       `/plan: leave out "it" – write /plan [CHANGE]; to send it as text, begin with "//"`,
		"/plan set":           `/plan set: the steps are missing – write them after it, one step per line (Ctrl+J)`,
		"/kill a\nb":          `/kill: leave out "b" – write /kill AGENT; to send it as text, begin with "//"`,
	} {
		cmd, err := ParseSlash(text)
		if err == nil {
			t.Errorf("%q was taken as %+v", text, cmd)
		} else if err.Error() != want {
			t.Errorf("%q:\n got %s\nwant %s", text, err, want)
		}
	}
}

// TestSlashIsNeverLostNorGuessed: refused text stays in the input; text that begins with two slashes is
// sent with one; what does not begin with a slash is text.
func TestSlashIsNeverLostNorGuessed(t *testing.T) {
	r := newRig(t, 60, 3)
	r.write("/etc/hosts is wrong").press("Esc", "Enter").text("/etc/hosts is wrong")
	if len(r.sent)+len(r.commands) > 0 || len(r.notices) != 1 || !strings.Contains(r.notices[0], `begin with "//"`) {
		t.Fatalf("sent %q, executed %v, said %q", r.sent, r.commands, r.notices)
	}
	r.press("Ctrl+Home").write("/").press("Enter").text("")
	r.write(" /pause").press("Enter").text("")
	r.write("first\n/pause").press("Enter").text("")
	diff := cmp.Diff([]string{"/etc/hosts is wrong", " /pause", "first\n/pause"}, r.sent)
	testkit.Check(t, diff == "" && len(r.commands) == 0, "sent (-want +got):\n%s", diff)
	r.refuse = true
	r.write("/kill orch-7").press("Esc", "Enter").text("/kill orch-7")
	testkit.Check(t, len(r.commands) == 1, "executed %v", r.commands)
	r.press("Ctrl+U").write("keep me").press("Enter").text("keep me")
}

// TestPasteIsNoCommand: a chip at the beginning is text, and so is one in a command's name; after a name it
// is an argument.
func TestPasteIsNoCommand(t *testing.T) {
	evil := "/kill orch-1" + strings.Repeat("\n", 20) + "x"
	r := newRig(t, 60, 3)
	r.c.Paste(evil)
	r.press("Enter")
	testkit.Need(t, len(r.commands) == 0 && len(r.sent) == 1 && r.sent[0] == evil, "executed %v, sent %q", r.commands,
		r.sent)
	r.write("/")
	r.c.Paste("kill orch-1" + strings.Repeat("\n", 20))
	r.press("Enter")
	testkit.Need(t, len(r.commands) == 0 && len(r.sent) == 1 && len(r.notices) == 1, "executed %v, sent %q, said %q",
		r.commands, r.sent, r.notices)
	r.c.Clear()
	r.write("/steer ")
	r.c.Paste(evil)
	r.press("Enter")
	testkit.Need(t, len(r.commands) == 1 && r.commands[0].Name == "steer" && r.commands[0].Arg(0) == evil,
		"executed %v", r.commands)
}

// TestCommandTable: names are single words, distinct, and explained; the help shows exactly what is parsed.
func TestCommandTable(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range EditorCommands {
		for _, n := range append([]string{s.Name}, s.Aliases...) {
			testkit.Check(t, !seen[n] && n == strings.ToLower(n) && !strings.ContainsAny(n, " /"), "name %q", n)
			seen[n] = true
		}
		testkit.Check(t, s.Help != "", "/%s has no help", s.Name)
		optional := false
		for _, p := range s.params {
			testkit.Check(t, !optional || p.optional, "%s: %s is needed behind what may be left out", s.Usage(), p.want)
			optional = p.optional
		}
		_, err := ParseSlash("/" + s.Name)
		needs := len(s.params) > 0 && !s.params[0].optional
		testkit.Check(t, needs == (err != nil), "%s alone: %v", s.Usage(), err)
	}
}

func FuzzParseSlash(f *testing.F) {
	for _, s := range EditorCommands {
		f.Add(s.Usage())
	}
	f.Add("/to \"a\n' b")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseSlash(text)
		testkit.Need(t, (c.Name == "") == (err != nil), "%q: %+v, %v", text, c, err)
		if err != nil {
			testkit.Need(t, (!utf8.ValidString(text) || utf8.ValidString(err.Error())) &&
				!strings.Contains(err.Error(), "\n"), "%q: %q", text, err)
			return
		}
		s, ok := Lookup(c.Name)
		testkit.Need(t, ok && s.Name == c.Name && len(c.Args) <= len(s.params)+1 &&
			(c.Name == "allow" || !slices.Contains(c.Args, "")) && slash(text), "%q: %+v", text, c) // a scope may be omitted
	})
}

func TestSuggest(t *testing.T) {
	for word, want := range map[string]string{"sumon": "/summon", "SUMMOM": "/summon", "modee": "/summon /model",
		"qiut": "/quit", "halp": "/halt /help", "x": "", "frobnicate": "", "home/me": "", "": ""} {
		testkit.Same(t, word, want, strings.Join(suggest(word), " "))
	}
}

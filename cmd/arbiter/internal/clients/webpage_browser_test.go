package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/tuitest"
)

// markup has texts that would affect the page if they were interpreted as HTML, in addition to the corpus for
// terminals.
var markup = []string{
	`<script>window.owned = 1</script><img src=x onerror="window.owned = 1"><svg onload="window.owned = 1">`,
	`"><iframe srcdoc="<script>parent.owned = 1</script>"></iframe></textarea></title></pre></style><b id=owned>`,
	`' onmouseover=window.owned=1 x='  javascript:window.owned=1 [x](javascript:window.owned=1) <http://evil.example>`,
	`<img src=https://evil.example/p.png><link rel=stylesheet href=//evil.example/x><base href=//evil.example>`,
	"```html\n<script>window.owned = 1</script>\n```\n`<b>` **<i onclick=alert(1)>** # <u>\n" +
		"- <form action=//evil.example>",
	`</script><!--<meta http-equiv=refresh content="0;url=https://evil.example">--> &lt;&#x3c; data: {} event: status`,
	strings.Repeat("unbroken", 400), "\n\ndata: {}\n\nevent: run\n\n",
}

// window is a page in a browser.
type window struct {
	t   *testing.T
	ctx context.Context

	mu       sync.Mutex
	requests []string // URLs
	problems []string // errors of scripts, violations of the content policy, and dialogs of scripts
}

// startBrowser returns the context of a browser that starts with its first tab.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(testkit.Chromium(t)),
		chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	return ctx
}

func openPage(t *testing.T, s *WebServer) *window {
	t.Helper()
	w := openTab(startBrowser(t), t, s.Link())
	w.show(360, 740, "light")
	w.until(`document.querySelector("#phase")?.textContent && document.querySelector("#connection").hidden`)
	return w
}

// openTab opens an address in a tab beside that of the context.
func openTab(ctx context.Context, t *testing.T, url string, options ...chromedp.ContextOption) *window {
	t.Helper()
	ctx, cancel := chromedp.NewContext(ctx, options...)
	t.Cleanup(cancel)
	w := &window{t: t, ctx: ctx}
	testkit.OK(t, chromedp.Listen(ctx, w.handleEvent))
	testkit.Must(chromedp.Call(ctx, page.Navigate, page.NavigateParams{URL: url}))(t)
	return w
}

func (w *window) handleEvent(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.requests = append(w.requests, e.Request.URL)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			w.problems = append(w.problems, e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		w.problems = append(w.problems, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError {
			w.problems = append(w.problems, fmt.Sprint("the console: ", e.Args))
		}
	case *page.EventJavascriptDialogOpening:
		w.problems = append(w.problems, "a dialog: "+e.Message)
	}
}

// clean checks that there were no problems.
func (w *window) clean() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	testkit.Same(w.t, "the problems are", nil, w.problems)
}

// show sets the size and the colors.
func (w *window) show(width, height int64, scheme string) {
	w.t.Helper()
	testkit.OK(w.t, chromedp.Do(w.ctx, chromedp.EmulateViewport(width, height)))
	testkit.Must(chromedp.Call(w.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		},
	}))(w.t)
}

func (w *window) press(keys string) {
	w.t.Helper()
	testkit.OK(w.t, chromedp.Do(w.ctx, chromedp.KeyEvent(keys)))
}

func (w *window) until(expression string) {
	w.t.Helper()
	testkit.Await(w.t, "the page says "+expression, func() bool {
		met, _ := chromedp.Run(w.ctx, chromedp.Evaluate[bool]("Boolean("+expression+")")) // an error while a page loads
		return met
	})
}

// eval returns the value of an expression.
func eval[T any](w *window, expression string) T {
	w.t.Helper()
	return testkit.Must(chromedp.Run(w.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise)))(w.t)
}

// tabTo presses Tab until the focused element matches, like a person without a mouse. The focus must always be
// visible.
func (w *window) tabTo(what string) {
	w.t.Helper()
	for range 80 {
		w.press(kb.Tab)
		at := eval[struct {
			There, Seen bool
			Text        string
		}](w, fmt.Sprintf(`(() => { const e = document.activeElement, s = getComputedStyle(e); return {
			There: e.matches(%q), Seen: e === document.body || s.outlineStyle !== "none" && s.outlineWidth !== "0px",
			Text: e.outerHTML.slice(0, 200)}})()`, what))
		testkit.Check(w.t, at.Seen, "the focus is not seen at %s", at.Text)
		if at.There {
			return
		}
	}
	w.t.Fatalf("Tab never comes to %s", what)
}

// fits checks that no element is wider than the window.
func (w *window) fits(where string) {
	w.t.Helper()
	wide := eval[[]string](w, `[...document.querySelectorAll("body, body *")].filter((e) => {
		const r = e.getBoundingClientRect();
		return r.width > 0 && r.right > innerWidth + 1 && getComputedStyle(e).position !== "absolute" &&
			!e.closest("pre, select, .subject");
	}).map((e) => e.tagName + "." + e.className + " " + e.getBoundingClientRect().right).slice(0, 5)`)
	scroll, width := eval[int](w, `document.scrollingElement.scrollWidth`), eval[int](w, `innerWidth`)
	testkit.Check(w.t, len(wide) == 0 && scroll <= width, "%s: wider than %d: %q, the page is %d", where, width, wide,
		scroll)
}

// harmless checks that no script ran, that there was no request to another host, and that texts created no active
// elements.
func (w *window) harmless(s *WebServer) {
	w.t.Helper()
	w.clean()
	w.mu.Lock()
	requests := slices.Clone(w.requests)
	w.mu.Unlock() // the browser answers nothing while an event of it waits for the lock
	for _, asked := range requests {
		u, err := url.Parse(asked)
		testkit.Check(w.t, err == nil && u.Host == s.listener.Addr().String(), "asked for %s", asked)
	}
	found := eval[string](w, `String(window.owned ?? "") + (document.getElementById("owned") ? "owned" : "") +
		[...document.querySelectorAll("iframe, base, object, embed, svg, style, meta[http-equiv]," +
			" script:not([src='/main.js']), img:not(.mark), a:not(.skip), link:not([href^='/']), [onclick], [onerror]")]
			.map((e) => e.outerHTML.slice(0, 200)).join(" ")`)
	testkit.Same(w.t, "the page has", "", found)
}

// named checks what a screen reader gets: every control has a name, and the parts of the page are present.
func (w *window) named(roles ...string) {
	w.t.Helper()
	text := func(v *accessibility.Value) (s string) {
		testkit.OK(w.t, json.Unmarshal(v.Value, &s))
		return s
	}
	tree := testkit.Must(chromedp.Call(w.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}))(w.t)
	seen := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		role := text(n.Role)
		seen[role]++
		switch role {
		case "button", "link", "textbox", "combobox", "checkbox", "radio", "meter", "heading", "region", "navigation",
			"complementary", "dialog", "img":
			testkit.Check(w.t, strings.TrimSpace(text(n.Name)) != "", "a %s has no name: %v", role, n.Properties)
		}
	}
	for _, role := range roles {
		testkit.Check(w.t, seen[role] != 0, "there is no %s in %v", role, seen)
	}
}

// legible checks that texts have the contrast that WCAG 2 requires (AA): 4.5 to 1. It ignores disabled and hidden
// elements.
func (w *window) legible(where string) {
	w.t.Helper()
	faint := eval[[]string](w, `(() => {
		const parse = (c) => c.match(/[\d.]+/g).map(Number);
		const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
			.map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
			.reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const behind = (e) => {
			for (; e; e = e.parentElement) {
				const c = parse(getComputedStyle(e).backgroundColor);
				if (c.length < 4 || c[3] === 1) return c;
			}
			return [255, 255, 255];
		};
		return [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() &&
			!e.closest(":disabled, .hidden") &&
			[...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())).map((e) => {
			const a = light(parse(getComputedStyle(e).color)), b = light(behind(e));
			return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e];
		}).filter(([ratio]) => ratio < 4.5).slice(0, 5).map(([ratio, e]) => ratio + " " + e.outerHTML.slice(0, 120));
	})()`)
	testkit.Check(w.t, len(faint) == 0, "%s: too little contrast: %q", where, faint)
}

// everything emits each kind of event with a text in each of its fields.
func (h *house) everything(text string) {
	raw := testkit.Must(json.Marshal(map[string]string{"command": text, "description": text, text: text}))(h.t)
	for _, body := range []contract.Body{
		contract.Spawn{Name: text, Mode: text, Prompt: text, Host: text},
		contract.Message{From: "orch-1", To: "human", Kind: text, Text: text},
		contract.Message{From: text, To: text, Kind: text, Text: text}, contract.Assistant{Text: text},
		contract.ToolUse{Tool: "Bash", Input: raw, ToolUse: "t"}, contract.ToolResult{ToolUse: "t", Text: text},
		contract.ToolUse{Tool: text, Input: raw}, contract.Decision{Decision: text, To: text, Reason: text},
		contract.Plan{Steps: []contract.Step{{Text: text, Status: text, Agent: text}}}, contract.Notice{Text: text},
		contract.Changes{Files: []contract.FileChange{{Path: text, Status: text, Agents: []string{text}}}},
		contract.Check{Receipt: verdict.Receipt{Command: text, Result: text}}, contract.Error{Message: text},
		contract.Permission{Behavior: "allow", By: text, Tool: text, Rule: text, Scope: text},
		contract.PermissionRequest{Tool: text, Input: raw}, contract.Question{Text: text}, contract.Done{Reason: text},
		contract.Overlap{Path: text, Agents: []string{text, text}}, contract.Merge{Status: text},
		contract.SubagentStart{Description: text, ToolUse: "s"}, contract.Handoff{From: text, To: text},
		contract.Retry{Reason: text}, contract.Acceptance{Text: text, Status: text}, contract.Delta{Text: text},
	} {
		h.emit("orch-1", body)
	}
}

// permissionItem returns an inbox item with a permission request.
func permissionItem(t *testing.T, id, command string, suggestions ...string) supervisor.InboxItem {
	t.Helper()
	input := testkit.Must(json.Marshal(map[string]string{"command": command}))(t)
	return supervisor.InboxItem{ID: id, Kind: "permission", Agent: "orch-1", Text: "Bash: " + command,
		Since: time.Now().UTC(), Request: &contract.PermissionRequest{
			Request: id, Tool: "Bash", Input: input, Action: strings.Repeat("ab", 32), Suggestions: suggestions,
			Reason: "no rule allows " + command,
		}}
}

// TestHostileTexts: the page shows anything that agents write, in any field, as plain text. At 360 pixels no
// element is wider than the window, and every control has a name for screen readers.
func TestHostileTexts(t *testing.T) {
	h := newHouse(t)
	texts := append(append([]string{}, markup...), tuitest.Hostile()...)
	h.status.Title, h.status.CWD, h.info.Title, h.info.CWD = markup[0], markup[1], markup[0], markup[1]
	for i, text := range append(markup, "plain") {
		h.status.Agents = append(h.status.Agents, runstore.AgentStatus{ID: fmt.Sprintf("orch-%d", i+1), Name: text,
			Mode: text, Status: "busy", Attached: text, Context: float64(i * 12)})
	}
	for i, text := range texts {
		if len(text) > 3000 {
			text = strings.ToValidUTF8(text[:3000], "")
		}
		text = strings.ToValidUTF8(text, "?")
		if i%8 == 0 || i < len(markup) {
			h.everything(text)
		} else {
			h.emit("orch-1", contract.Message{From: "orch-1", To: "human", Kind: "report", Text: text})
		}
		if i < len(markup) {
			h.wait(permissionItem(t, fmt.Sprintf("perm-%d", i), text, text),
				supervisor.InboxItem{ID: fmt.Sprintf("question-%d", i), Kind: "question", Agent: text, Text: text},
				supervisor.InboxItem{ID: fmt.Sprintf("recovery-%d", i), Kind: "recovery", Agent: text, Text: text,
					Choices: []string{text, text}})
		}
	}
	h.emit("orch-1", contract.Notice{Text: "all is reported"})
	s, _ := serve(t, h)
	w := openPage(t, s)
	w.until(`document.querySelector("#feed").textContent.includes("all is reported")`)
	w.until(fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, 3*len(markup)))
	eval[chromedp.Void](w, `document.querySelectorAll("details").forEach((d) => { d.open = true; })`)
	for _, part := range []string{"agents", "files", "talk"} {
		eval[chromedp.Void](w, fmt.Sprintf(`document.querySelector("[data-to=%s]").click()`, part))
		w.fits(part)
	}
	w.harmless(s)
	w.named("button", "textbox", "heading", "radio", "navigation", "main", "list", "status")
	for _, scheme := range []string{"light", "dark"} {
		w.show(1400, 900, scheme)
		w.legible(scheme)
	}
	w.named("meter", "complementary")
	w.fits("1400")
	h.end(contract.StatusFailed)
	h.info.Status = markup[0]
}

// TestPageWords: what the page says of permissions, places, fuses and forecasts is what other frontends say.
func TestPageWords(t *testing.T) {
	impatient(t)
	h := newHouse(t)
	h.status.Agents = append(h.status.Agents, runstore.AgentStatus{ID: "orch-1", Name: "Orchestrator I", Host: "gpu",
		Make: "codex", Status: "busy", Does: "in your hands", Fuse: 2, FuseSpent: 1.7, ContextUnknown: true,
		CostUnknown: true})
	h.status.Does = "Held: the limit of costs is spent"
	s, url := serve(t, h)
	w := openPage(t, s)
	w.until(`document.querySelector("#phase").textContent === "` + h.status.Does + `"`)
	w.shows("[data-agent=orch-1] .state", "in your hands")
	w.shows("[data-agent=orch-1] .gauge", "unknown$0.00 and what is unknown")
	w.shows("#cost", "$0.00 + ?")
	place := &contract.CallPlace{CWD: "/w/one", Host: "gpu", Own: true}
	item := permissionItem(t, "perm-1", "make test")
	item.Request = &contract.PermissionRequest{Request: "perm-1", Tool: "Bash", Place: place,
		Deadline: "2031-04-05T12:00:00Z", Input: []byte(`{"command":"make \u200btest"}`)}
	h.wait(item)
	goesOn := h.hangs(t)
	h.wait(supervisor.InboxItem{ID: "orch-1", Kind: "recovery", Agent: "orch-1", Text: "it failed"})
	w.shows("#phase", "No answer")
	w.shows("[data-agent=orch-1] .state", "in your hands") // and has not ended
	goesOn()
	h.emit("arbiter", noticeWeb("on"))
	w.shows("[data-item=orch-1] h3", "Orchestrator I @gpu [codex] is parked")
	w.shows("[data-agent=orch-1] strong", "Orchestrator I @gpu [codex]")
	w.shows("[data-item=perm-1]", "Denied at Apr 5,")
	for i, text := range []string{"Out of reach.", "Cannot be used."} { // at first it does not wait for the human
		h.mu.Lock()
		h.status.Inbox = append(slices.Clone(h.status.Inbox[:2]), supervisor.InboxItem{ID: "host-gpu", Kind: "recovery",
			Agent: contract.Supervisor, Text: text, Choices: []string{"retry gpu"}, Optional: i == 0})
		h.mu.Unlock()
		h.emit("supervisor", contract.Notice{Text: "the host"})
		w.shows("[data-item=host-gpu]", text)
		w.until(fmt.Sprintf(`document.title.startsWith("(%d) ")`, 2+i))
	}
	h.emit("supervisor", contract.Plan{Steps: []contract.Step{{Text: "weave", Status: contract.StepPending}}})
	forecast := contract.Forecast{Step: 1, USD: 0.4, Minutes: 6, From: 3}
	h.emit("supervisor", forecast)
	for _, body := range []contract.Body{
		contract.Spawn{Name: "Orchestrator I", Host: "gpu", Make: "codex", Mode: "tester"},
		contract.Fuse{USD: 2, Spent: 1.7, Status: contract.FuseWarn},
		contract.Permission{Behavior: "allow", By: contract.Human, Tool: "Bash", Scope: contract.ScopeAlways},
		contract.Host{Name: "gpu", Status: contract.HostLost}, contract.Overlap{Path: "a", Agents: []string{"orch-1"}},
		contract.Takeover{State: "ended", Reason: "the human gave it back", Words: 3},
		contract.Merge{Status: "merged"}, contract.Budget{Scope: contract.ScopeAgent, SpentUSD: 1, LimitUSD: 2},
	} {
		h.emit("orch-1", body)
		e := contract.Event{ID: "orch-1", Body: body}
		words := words.Sentence(eventtext.Line(e, func(string) string { return "Orchestrator I @gpu [codex]" }))
		if _, ok := body.(contract.Permission); ok {
			words = "Allowed by the human, always here: Bash for Orchestrator I @gpu [codex]."
		}
		w.shows("#feed", words)
	}
	w.shows("#inbox .where", eventtext.Unseen+" "+eventtext.PlaceOf(place))
	w.shows(".fuse", eventtext.FuseSpent(1.7, 2, false))
	w.shows("#plan", eventtext.Price(forecast))
	h.emit("orch-1", contract.Turn{Unknown: true})
	h.emit("supervisor", contract.Result{Status: contract.StatusFailed, CostUSD: 1})
	h.end(contract.StatusFailed)
	late := openTab(w.ctx, t, url) // what it shows, events tell
	late.shows("[data-agent=orch-1] .gauge", "$0.00 and what is unknown")
	late.shows("#outcome", "$1.00 + ?")
	late.shows("#cost", "$1.00 + ?")
}

// TestPageOfAGoneProcess: a call without a result ends with its turn and with its process, on a page that was open and
// on one that comes later, and so do subagents. The command for what is not shown names the run.
func TestPageOfAGoneProcess(t *testing.T) {
	quick(t)
	h := newHouse(t)
	h.status.Agents = append(h.status.Agents, runstore.AgentStatus{ID: "orch-1", Name: "Orchestrator I", Status: "busy"})
	s, url := serve(t, h)
	w := openPage(t, s)
	for range 1600 {
		h.emit("orch-2", noticeWeb("old"))
	}
	call := func(use string) { h.emit("orch-1", contract.ToolUse{Tool: "Bash", ToolUse: use, Input: []byte(`{}`)}) }
	call("t1")
	h.emit("orch-2", contract.Turn{})
	states := func(w *window, want ...string) {
		t.Helper()
		w.until(fmt.Sprintf(`[...document.querySelectorAll(".call-state")].map((e) => e.ariaLabel).join() === %q`,
			strings.Join(want, ",")))
	}
	states(w, "runs")
	h.emit("orch-1", contract.Turn{Outcome: "interrupted"})
	states(w, "cut off")
	call("t2")
	h.emit("orch-1", contract.SubagentStart{ToolUse: "s1", Description: "Callers"})
	states(w, "cut off", "runs")
	w.shows("[data-agent=orch-1] .subs", "Callers")
	h.end("")
	states(w, "cut off", "cut off")
	late := openTab(w.ctx, t, url)
	states(late, "cut off", "cut off")
	late.shows("#earlier", "arbiter replay "+testRun[:8]+" prints them all.")
	h.begin()
	w.until(`document.querySelector("[data-agent=orch-1]:not(.over)") && !document.querySelector(".subs")`)
	h.end(contract.StatusComplete)
	w.clean()
	late.clean()
}

// shows waits until an element shows a text.
func (w *window) shows(where, text string) {
	w.t.Helper()
	w.until(fmt.Sprintf(`document.querySelector(%q)?.textContent.includes(%q)`, where, text))
}

// TestAnswersByKeyboard: a person without a mouse answers a question and two permission requests. A screen reader
// announces each one, and the tab's title counts them.
func TestAnswersByKeyboard(t *testing.T) {
	quick(t)
	h := newHouse(t)
	h.status.Agents = append(h.status.Agents, runstore.AgentStatus{ID: "orch-1", Name: "Orchestrator I", Status: "busy"})
	s, _ := serve(t, h)
	w := openPage(t, s)
	h.emit("orch-1", contract.ToolUse{Tool: "Read", Input: []byte(`{"file_path":"go.mod"}`)})
	h.wait(supervisor.InboxItem{ID: "question-1", Kind: "question", Agent: "arbiter", Text: "Which **database**?"})
	w.until(`document.title.startsWith("(1) ")`)
	w.until(`document.querySelector("#alarm").textContent.includes("The Arbiter asks")`)
	w.until(`document.querySelector("#inbox").getAttribute("aria-busy") === "false"`)
	w.tabTo(".card textarea")
	w.press("PostgreSQL <b>15</b>" + kb.Enter)
	testkit.Same(t, "the answer", `{"text":"PostgreSQL \u003cb\u003e15\u003c/b\u003e","type":"message"}`,
		h.took(w.ctx, 1)[0])
	h.wait(permissionItem(t, "perm-1", "make test"), permissionItem(t, "perm-2", "go test ./...", "Bash(go test *)"))
	w.until(`document.querySelectorAll(".card").length === 2 && document.title.startsWith("(2) ")`)
	w.until(`document.querySelector("#inbox").getAttribute("aria-busy") === "false"`)
	w.until(`document.querySelector("[data-item=perm-1] h3").textContent === "Orchestrator I asks permission: Bash"`)
	w.until(`document.querySelector("[data-agent=orch-1] .doing").textContent === "Read go.mod"`)
	w.tabTo("[data-item=perm-1] [data-act=once]")
	w.press(kb.Enter)
	action := strings.Repeat("ab", 32)
	once := `{"action":"` + action + `","behavior":"allow","request":"perm-1","scope":"once","type":"permission"}`
	testkit.Same(t, "the answer is", once, h.took(w.ctx, 2)[1])
	h.emit("orch-1", noticeWeb("on"))
	w.until(`document.querySelectorAll(".card").length === 1 && document.activeElement.closest("[data-item=perm-2]")`)
	w.until(`document.querySelector("#inbox").getAttribute("aria-busy") === "false"`)
	w.tabTo("[data-item=perm-2] summary")
	w.press(kb.Enter)
	w.tabTo("[data-item=perm-2] input[type=radio]")
	w.press(kb.ArrowDown)
	w.tabTo("[data-item=perm-2] [data-act=always]")
	w.press(" ")
	always := `{"action":"` + action + `","behavior":"allow","request":"perm-2","rule":"Bash(go test *)",` +
		`"scope":"always","type":"permission"}`
	testkit.Same(t, "the answer is", always, h.took(w.ctx, 3)[2])
	h.emit("orch-1", noticeWeb("on"))
	w.until(`document.querySelector("#waiting-title").textContent === "Nothing waits for you"`)

	w.tabTo("#share")
	w.press(kb.Enter)
	w.until(`document.querySelector("#confirm").open`)
	link := eval[string](w, `document.querySelector("#confirm-link").value`)
	phone := openTab(w.ctx, t, link, chromedp.WithNewBrowserContext())
	phone.until(`document.querySelector("#title")?.textContent === "Rewrite the parser"`)
	w.press(kb.Escape)

	h.end("") // the host is killed
	w.until(`document.querySelector("#outcome h2")?.textContent.includes("interrupted")`)
	w.until(`document.querySelector("#stop").hidden`)
	w.tabTo("#outcome button")
	w.press(kb.Enter)
	w.until(`document.querySelector("#confirm").open`)
	w.named("dialog")
	w.press(kb.Enter)
	w.until(`document.querySelector("#outcome").hidden && !document.querySelector("#stop").hidden`)
	w.clean()
	testkit.Same(t, "the runs resumed are", 1, h.resumed)
}

// TestPageAnswersServers: a question of an MCP server is answered with a text. A message to a halted run is said to
// wait.
func TestPageAnswersServers(t *testing.T) {
	quick(t)
	h := newHouse(t)
	h.status.Halted, h.status.Paused = true, true
	s, _ := serve(t, h)
	w := openPage(t, s)
	h.wait(supervisor.InboxItem{ID: "perm-1", Kind: "permission", Agent: "arbiter", Request: &contract.PermissionRequest{
		Request: "perm-1", Tool: "Elicitation", Action: "a", Input: []byte(`{"server":"maps","message":"Which region?"}`)}})
	w.shows("[data-item=perm-1]", "Which region?")
	w.until(`document.querySelector("#inbox").getAttribute("aria-busy") === "false"`)
	w.tabTo(".card textarea")
	w.press("eu-west")
	w.tabTo("[data-act=once]")
	w.press(kb.Enter)
	testkit.Same(t, "the answer", `{"action":"a","behavior":"allow","message":"eu-west","request":"perm-1","scope":"once",`+
		`"type":"permission"}`, h.took(w.ctx, 1)[0])
	w.tabTo("#text")
	w.press("Go on" + kb.Enter)
	w.shows("#said", "It waits: the run is halted. Continue sends it.")
	w.clean()
}

// TestManyTabs: a browser has six connections to a server. With more tabs than that, each shows what happens, and each
// can answer.
func TestManyTabs(t *testing.T) {
	h := newHouse(t)
	s, _ := serve(t, h)
	tabs := []*window{openPage(t, s)}
	for range 7 {
		tabs = append(tabs, openTab(tabs[0].ctx, t, "http://"+s.listener.Addr().String()+"/"))
	}
	for i, w := range tabs {
		h.wait(supervisor.InboxItem{ID: fmt.Sprintf("question-%d", i), Kind: "question", Agent: "arbiter",
			Text: "Which one?"})
		w.until(fmt.Sprintf(`document.querySelector("[data-item=question-%d] textarea")`, i))
		eval[chromedp.Void](w, fmt.Sprintf(`(() => { const c = document.querySelector("[data-item=question-%d]");
			c.querySelector("textarea").value = "from tab %d"; c.querySelector("[type=submit]").click(); })()`, i, i))
		got := h.took(w.ctx, i+1)[i]
		testkit.Check(t, strings.Contains(got, fmt.Sprintf(`from tab %d`, i)), "the answer of tab %d is %s", i, got)
	}
	h.emit("orch-1", contract.Notice{Text: "all have answered"})
	for _, w := range tabs {
		w.until(`document.querySelector("#feed").textContent.includes("all have answered")`)
		w.clean()
	}
}

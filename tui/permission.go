package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// permissions shows the waiting permission requests, one after the other.
type permissions struct {
	d         *app
	dismissed []string       // requests that were put aside, or have just been answered
	written   string         // the request for which an answer, or the reason of a refusal, is being written
	sent      runconfig.Mode // the requested permission mode, until the run has answered
}

// askNext opens the next waiting permission request, or the panel if several wait, unless the person is
// writing or reads a page, or has put it aside.
func (q *permissions) askNext() {
	if q.d.session.state == nil {
		return
	}
	q.dismissed = slices.DeleteFunc(q.dismissed, func(id string) bool {
		_, asked := q.d.session.state.Permission.Find(id)
		return !asked
	})
	if q.d.dialogs.open != nil && q.d.dialogs.open.renote != nil {
		q.d.dialogs.open.renote()
	}
	if q.d.dialogs.open != nil || q.d.picker.open() || !q.d.screen().writes() || q.d.search.typing ||
		q.d.prompt.writing() && !q.d.prompt.input.Empty() {
		return
	}
	several := slices.DeleteFunc(q.requests(), func(p input.PermissionRequest) bool {
		return q.d.inbox.isAnswered(p.ID, p.At)
	})
	for _, p := range several {
		if !slices.Contains(q.dismissed, p.ID) {
			q.d.inbox.show(p.ID, true, len(several) == 1)
			return
		}
	}
}

// requests returns the requests that wait for an answer. Those of an earlier process of an agent wait, too:
// an answer is kept until the agent asks again.
func (q *permissions) requests() []input.PermissionRequest {
	if q.d.session.state == nil {
		return nil
	}
	return q.d.session.state.Permission.All()
}

// answer lets the person write the answer to a request behind a command: the reason for denying it, or what an MCP
// server asks.
func (q *permissions) answer(id string, allows bool) {
	q.putAside(id)
	q.written = id
	q.d.toInput()
	q.d.prompt.input.Begin(map[bool]string{true: "/allow ", false: "/deny "}[allows])
	q.d.prompt.write()
}

func (q *permissions) putAside(id string) {
	if !slices.Contains(q.dismissed, id) {
		q.dismissed = append(q.dismissed, id)
	}
}

// head collects the facts for a decision: the agent, the tool, the reason, and the place.
func (q *permissions) head(p *input.PermissionRequest) []render.Line {
	head := []render.Line{append(q.requester(p), render.Span{Text: " wants to use ", Role: render.Base},
		render.Span{Text: view.SlashWord(p.Params.Tool), Role: render.Strong})}
	for _, reason := range slices.Compact([]string{sanitize.Line(p.Why, 300), sanitize.Line(p.Params.Reason, 500)}) {
		if reason != "" {
			head = append(head, render.Line{{Text: "why    ", Role: render.Dim}, {Text: reason, Role: render.Base}})
		}
	}
	if where := eventtext.PlaceOf(p.Place); where != "" {
		head = append(head, render.Line{{Text: "where  ", Role: render.Dim}, {Text: where, Role: render.Base}})
	}
	return head
}

func (q *permissions) requester(p *input.PermissionRequest) render.Line {
	id := p.Params.ID
	l := render.Line{{Text: q.d.session.name(id), Role: render.Speaker(id)}}
	if a := view.AgentOf(q.d.session.state, id); a != nil && a.Mode != "" {
		l = append(l, render.Span{Text: " (" + view.SlashWord(a.Mode) + ")", Role: render.Dim})
	}
	if p.Params.Subagent != "" {
		l = append(l, render.Span{Text: ", for a subagent of its own,", Role: render.Warn})
	}
	return l
}

// permitCommand answers the waiting permission request, or the one whose answer was begun in its dialog.
// If several wait, it would be unclear which one is meant.
func (q *permissions) permitCommand(c view.EditorCommand) bool {
	waiting := q.requests()
	if len(waiting) == 0 {
		q.d.flash("No permission request is open.")
		return false
	}
	request := &waiting[0]
	begun, ok := q.begun(c.Name)
	_, waits := q.d.session.state.Permission.Find(q.written)
	switch {
	case ok:
		request = &begun
	case q.written != "" && !waits: // the text is not meant for another one
		q.written = ""
		q.d.flash("That request no longer waits. Enter again answers the one that does.")
		return false
	case len(waiting) > 1:
		q.d.flash(fmt.Sprintf("%d requests wait: Alt+p shows the first.", len(waiting)))
		return false
	}
	body, err := view.Permit(c, request)
	if err != nil {
		q.d.flash(view.Sentence(err.Error()))
		return false
	}
	q.written = ""
	return q.d.session.send(body)
}

// begun returns the waiting request whose answer was begun in its dialog with a command.
func (q *permissions) begun(command string) (r input.PermissionRequest, ok bool) {
	if s := q.d.session.state; s != nil {
		r, ok = s.Permission.Find(q.written)
	}
	return r, ok && (command == "deny" || command == "allow" && r.Elicits())
}

// askAllowAll asks the person to accept the risk before everything is allowed.
func (q *permissions) askAllowAll(c contract.Configure) bool {
	text := "Every agent may then run anything without asking. What you deny stays denied."
	if q.d.session.state != nil && q.d.session.state.Options.Sandbox == nil {
		text += " No sandbox confines them: they can do all that you can do on this machine."
	}
	return q.d.dialogs.confirm("Allow everything?", text, "I accept the risk", func() {
		c.AcceptRisk = true
		q.d.session.send(c)
	})
}

// judgeNext opens the waiting permission request, even if it was put aside: in its dialog, or in the panel
// if several wait.
func (q *permissions) judgeNext() {
	waiting := q.requests()
	if len(waiting) == 0 {
		q.d.flash("No permission request is open.")
		return
	}
	q.dismissed = nil
	id := waiting[0].ID
	if q.d.dialogs.asking() != nil {
		id = cmp.Or(q.d.inbox.about(), id)
	}
	q.d.inbox.show(id, false, len(waiting) == 1)
}

// modeCycle are the permission modes through which a single key cycles. allow-all is not among them: it has
// to be named, and its risk accepted.
var modeCycle = []runconfig.Mode{runconfig.ModeAsk, runconfig.ModeAcceptEdits, runconfig.ModeRules}

// mode returns the last requested permission mode, or that of the run; empty: there is no run.
func (q *permissions) mode() runconfig.Mode {
	if q.sent != "" {
		return q.sent
	}
	if q.d.session.state == nil {
		return runconfig.Mode(view.SlashWord(q.d.session.found.Permissions))
	}
	return runconfig.Mode(view.SlashWord(q.d.session.state.Options.Permissions))
}

// nextMode switches to the next permission mode. From allow-all it leads back to asking.
func (q *permissions) nextMode() {
	if !q.d.session.runs() {
		q.d.flash("There is no run: --permissions sets the mode that one begins with.")
		return
	}
	next := modeCycle[(slices.Index(modeCycle, q.mode())+1)%len(modeCycle)]
	if q.d.session.send(contract.Configure{Permissions: string(next)}) {
		q.sent = next
		q.d.flash(string(next) + ": " + next.Means() + ".")
	}
}

// recovery offers the recovery options of the last error.
type recovery struct {
	d    *app
	seen bool // a person has put it aside
}

// problem returns the error; without options, there is none.
func (rec *recovery) problem() supervisor.QuestionRecovery {
	if s := rec.d.session.state; s != nil && s.Ending == nil {
		return s.Question.Recovery
	}
	return supervisor.QuestionRecovery{}
}

// wayWords are the labels of options.
var wayWords = map[string]string{
	"retry": "Try again", "skip": "Skip the step", "fallback": "Go on with another agent", "abort": "Give the task up",
	"cancel": "End the run", "trust": "Trust the workspace, as it is now", "without": "Go on without its settings",
	"raise": "Raise the limit, and go on", "finish": "End the run at its limit",
}

// wayLabel is the label of an option; empty: it is for a person, outside of the run.
func wayLabel(option string) string {
	if host, ok := strings.CutPrefix(option, supervisor.RetryOption("")); ok {
		return "Try host " + eventtext.One(host, eventtext.MaxName) + " again"
	}
	return wayWords[option]
}

// wayHint returns the hint above the input that there are recovery options; empty: there are none.
func (rec *recovery) wayHint() string {
	choices, outside := splitWays(rec.problem().Options)
	if rec.seen || len(choices)+len(outside) == 0 {
		return ""
	}
	if len(choices) == 0 {
		return "Something is for you to do: Alt+c"
	}
	options := make([]string, len(choices))
	for i, c := range choices {
		options[i] = c.Value
	}
	return "Alt+c: " + strings.Join(options, " "+rec.d.look.Glyphs.Separator+" ")
}

// drawWays draws the problem, and how to recover from it.
func (rec *recovery) drawWays(c render.Canvas, hint string) {
	w, _ := c.Size()
	c.Clear(render.Base)
	mark := rec.d.look.Glyphs.Failed + " "
	space := w - render.Width(mark) - render.Width(hint) - 2
	l := render.Line{{Text: mark, Role: render.Bad}}
	if space >= 12 {
		l = append(l, render.Span{Text: render.Shorten(view.SlashWord(rec.problem().Text), space,
			rec.d.look.Glyphs.Ellipsis) + "  ", Role: render.Base})
	}
	l = append(l, render.Span{Text: hint, Role: render.Key})
	c.Line(0, 0, l.Shorten(w, rec.d.look.Glyphs.Ellipsis))
}

// askWay shows what can be chosen in the panel of what waits, or what is to be done outside of the run.
func (rec *recovery) askWay() {
	waiting := rec.d.inbox.waiting()
	i := slices.IndexFunc(waiting, func(i supervisor.InboxItem) bool { return i.Kind.Chosen() })
	switch problem := rec.problem(); {
	case i >= 0:
		rec.d.inbox.show(waiting[i].ID, false, false)
	case len(problem.Options) == 0:
		rec.d.flash("No way out is offered: nothing is in the way.")
	default:
		rec.d.dialogs.showText("Ways out", problem.Text+"\n\n"+strings.Join(problem.Options, "\n"))
	}
	rec.seen = true
}

// problemLines describes the problem, and the actions outside of the run.
func (rec *recovery) problemLines(width int, text string, outside []string) []render.Line {
	lines := render.WrapText(render.Base, sanitize.Text(text), width)
	for i, o := range outside {
		if i == 0 {
			lines = append(lines, nil)
		}
		lines = append(lines, render.Behind(render.Of(render.Dim, rec.d.look.Glyphs.Prompt+" "),
			render.WrapText(render.Strong, sanitize.Line(o, 400), max(width-2, 1)))...)
	}
	return lines
}

// take takes a recovery option. It asks before ending the run.
func (rec *recovery) take(option string) bool {
	if option == "cancel" || option == "abort" {
		return rec.d.dialogs.askEnd("End the run?", func() { rec.d.session.send(contract.Choose{Option: option}) })
	}
	return rec.d.session.send(contract.Choose{Option: option})
}

// splitWays separates the options that the run accepts from what a person can do outside of it.
func splitWays(options []string) (ways []view.PageChoice, outside []string) {
	for _, o := range options {
		if label := wayLabel(o); label != "" {
			ways = append(ways, view.PageChoice{Value: o, Label: label, Irreversible: o == "cancel" || o == "abort"})
		} else {
			outside = append(outside, o)
		}
	}
	return ways, outside
}

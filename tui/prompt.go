package tui

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// prompt is the input line: the text, its recipient, and its strength.
type prompt struct {
	d       *app
	input   *view.Editor
	reading bool   // the keyboard belongs to the screen, not to the input
	to      string // the recipient; empty: the agent that the text concerns
	force   string // of the next message: steer, stop; empty: it is a note
	images  attachments
}

func newPrompt(d *app) prompt {
	p := prompt{d: d, input: view.NewEditor(d.look)}
	p.input.OnSend = func(text string) bool { return d.prompt.submit(text) }
	p.input.OnCommand = func(c view.EditorCommand) bool { return d.slash(c) }
	p.input.OnPaste = func(text string) bool {
		path := imagePath(text)
		if path == "" || strings.HasPrefix(d.prompt.input.Text(), "/") || strings.HasPrefix(d.prompt.input.Text(), "!") {
			return false
		}
		d.prompt.attach(path, func(string) { d.prompt.input.Insert(text) })
		return true
	}
	p.input.OnCopy, p.input.OnNotice = d.copy, d.flash
	p.input.OnRecall = func(texts []string) {
		var items []choice
		for _, text := range slices.Backward(texts) {
			items = append(items, choice{text: text, value: text})
		}
		d.choose("What was written before", "Nothing was written before.", items, func(v any) {
			d.prompt.input.Begin(v.(string))
			d.prompt.write()
		})
	}
	p.input.Completer = func(c view.EditorContext) []view.Candidate { return d.prompt.complete(c) }
	return p
}

// relabel updates the recipient and the placeholder of the input.
func (p *prompt) relabel() {
	to, role := p.to, render.SpeakerHuman
	label, force := "", p.force
	if p.d.queuedEdits.id != "" {
		label, force, role = "changing your message that waits", "", render.SpeakerHuman
	} else if to != "" {
		label, role = "to "+p.d.session.name(to), render.Speaker(to)
	}
	if _, ok := shellLine(p.input.Text()); ok && p.d.queuedEdits.id == "" {
		label, force = "in your shell", ""
	}
	p.input.SetTo(label, force, role)
	p.input.SetPlaceholder(p.placeholder())
	if p.writing() {
		p.input.Focus(nil)
	} else {
		p.input.Blur()
	}
}

// placeholder returns the text that is shown in an empty input.
func (p *prompt) placeholder() string {
	switch s := p.d.session.state; {
	case p.reading && p.d.screen().writes():
		_, _, w, _ := p.d.GetRect()
		return footer(p.d.screen().context(), p.d.look, w-render.Width(p.d.look.Glyphs.Prompt)-2).Text()
	case p.d.session.begun.starting:
		return "Patience."
	case p.d.session.run == nil:
		return "Say what is to be done."
	case p.d.session.leaving:
		return "So it shall be."
	case p.d.session.interrupted():
		return "Interrupted. /resume continues the run; so does what you write."
	case p.d.session.over():
		return "Speak again, or depart."
	case s == nil:
		return ""
	case s.Halted && len(view.SlashWaiting(s)) == 0:
		return "Everything is halted. /continue"
	case len(view.SlashWaiting(s)) > 0:
		text := "A message of yours waits"
		if n := len(view.SlashWaiting(s)); n > 1 {
			text = fmt.Sprintf("%d messages of yours wait", n)
		}
		if s.Halted {
			text = "Halted (/continue). " + text
		}
		return text + ". Up: change it, or take it back."
	case s.Question.Open != nil && s.Ending == nil:
		return "The Arbiter awaits your answer."
	case s.Lifecycle.TrustQuestion != nil && s.Lifecycle.TrustQuestion.Host != supervisor.LifecycleHere:
		return "Host " + s.Lifecycle.TrustQuestion.Host + " awaits your trust. /choose trust, without, or cancel."
	case s.Lifecycle.TrustQuestion != nil:
		return "The workspace has changed. /choose trust, without, or cancel."
	case s.AnyWorks():
		return "Speak; the weaving goes on."
	}
	return "Speak."
}

func (p *prompt) submit(text string) bool {
	if line, ok := shellLine(text); ok && p.d.queuedEdits.id == "" {
		return p.d.shell.run(line)
	}
	if strings.HasPrefix(text, "!!") {
		text = text[1:]
	}
	switch {
	case p.d.session.leaving:
		p.d.flash("The threads are being laid down.")
		return false
	case p.d.session.begun.starting:
		p.d.flash("Patience. The thread is being laid.")
		return false
	case p.d.session.run == nil:
		if p.d.session.lack() != nil {
			p.d.beginning()
			p.d.flash("Nothing can be begun yet; your words are kept.")
			return false
		}
		p.d.session.remember(literal(text))
		p.d.session.begin(Begin{Task: text, Rehearse: p.d.session.rehearse})
		return true
	case p.d.session.over():
		p.d.session.remember(literal(text))
		p.d.session.begin(p.d.session.again(text))
		return true
	case p.d.session.ending():
		p.d.flash("The run is ending. Say it again in a moment.")
		return false
	case p.d.queuedEdits.id != "":
		return p.d.queuedEdits.reword(text)
	}
	say := contract.Say{Text: text, To: p.to, Strength: p.force}
	if to, rest := view.Mentioned(p.d.session.state, text); to != "" {
		say.To, say.Text = to, rest
	}
	if !p.d.session.send(say) {
		return false
	}
	p.d.session.remember(literal(text))
	p.force = ""
	p.d.runScreen.talk.Bottom()
	return true
}

// literal returns a text as a person writes it, so that it is neither a command nor a line for the shell.
func literal(text string) string {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, "!") {
		return text[:1] + text
	}
	return text
}

func (p *prompt) edit() {
	text := p.input.Text()
	p.d.outside(func(h Host) error {
		edited, err := h.Edit(text)
		if err == nil {
			text = edited
		}
		return err
	})
	p.input.SetText(text)
	p.write()
}

func (p *prompt) complete(c view.EditorContext) []view.Candidate {
	switch {
	case c.Kind == view.EditorFile, c.Want == view.WantPath, c.Want == view.WantFile:
		var agents []view.Candidate
		if c.Kind == view.EditorFile {
			agents = p.agentCandidates()
		}
		p.d.f.work(func(ctx context.Context) {
			list := agents
			for _, path := range p.d.f.options.Host.Files(ctx, c.Prefix) {
				list = append(list, view.Candidate{Text: path, Open: path[len(path)-1] == '/'})
			}
			p.d.f.post(func() { p.input.SetCandidates(c.Generation, list) })
		})
		return nil
	case c.Want == view.WantAgent:
		return p.agentCandidates()
	case c.Want == view.WantRule:
		if waiting := p.d.permissions.requests(); len(waiting) > 0 {
			return candidatesOf(waiting[0].Suggestions, func(rule string) view.Candidate {
				return view.Candidate{Text: sanitize.Line(rule, 300)}
			})
		}
	case c.Want == view.WantMode:
		return candidatesOf(view.Modes(p.d.session.state), func(m agents.Agent) view.Candidate {
			return view.Candidate{Text: m.Name, Note: view.SlashWord(m.Description)}
		})
	case c.Want == view.WantTheme:
		return candidatesOf(render.ThemeNames(), func(name string) view.Candidate { return view.Candidate{Text: name} })
	case c.Want == view.WantRun:
		return candidatesOf(p.d.session.found.Runs, func(r RunInfo) view.Candidate {
			return view.Candidate{Text: short(r.ID), Note: sanitize.Line(r.Title, 60)}
		})
	case c.Want == view.WantOption:
		var ways []view.PageChoice
		for _, i := range p.d.session.inbox {
			of, _ := splitWays(i.Choices)
			ways = append(ways, of...)
		}
		return candidatesOf(ways, func(w view.PageChoice) view.Candidate {
			return view.Candidate{Text: w.Value, Note: w.Label}
		})
	case c.Want == view.WantModel:
		return candidatesOf(p.d.models(), func(m view.ModelInfo) view.Candidate {
			return view.Candidate{Text: m.Name, Note: m.About()}
		})
	}
	return nil
}

func short(id string) string { return id[:min(len(id), 8)] }

func (p *prompt) agentCandidates() []view.Candidate {
	var list []view.Candidate
	for _, a := range p.d.session.agents() {
		if a.Alive() {
			list = append(list, view.Candidate{Text: a.ID, Note: p.d.session.name(a.ID)})
		}
	}
	return list
}

func candidatesOf[T any](things []T, candidate func(T) view.Candidate) (list []view.Candidate) {
	for _, t := range things {
		list = append(list, candidate(t))
	}
	return list
}

// write gives the keyboard to the input, read to the screen.
func (p *prompt) write() {
	p.reading = false
	p.relabel()
}

func (p *prompt) read() {
	p.reading = true
	p.relabel()
}

func (p *prompt) writing() bool {
	return !p.reading && p.d.screen().writes() && p.d.dialogs.asking() == nil
}

// attachment is an image of the person, with the mark that represents it in the text.
type attachment struct{ mark, path string }

// attachments are the images that were added to the input since the program started. A message has those
// whose marks are in its text, even if the text comes from the history.
type attachments []attachment

// of lists the paths of the images whose marks are in a text, in the order of the marks.
func (a attachments) of(text string) []string {
	found := slices.DeleteFunc(slices.Clone(a), func(x attachment) bool { return !strings.Contains(text, x.mark) })
	slices.SortFunc(found, func(x, y attachment) int {
		return cmp.Compare(strings.Index(text, x.mark), strings.Index(text, y.mark))
	})
	var paths []string
	for _, x := range found {
		paths = append(paths, x.path)
	}
	return paths
}

// attach writes the mark of an image into the input. It calls failed with the reason if the image cannot be
// sent.
func (p *prompt) attach(path string, failed func(why string)) {
	p.d.f.work(func(context.Context) {
		absolute, size, err := p.d.f.options.Host.Image(path)
		p.d.f.post(func() {
			if err != nil {
				failed(err.Error())
				return
			}
			mark := fmt.Sprintf("[image %d: %s]", len(p.images)+1, size)
			p.images = append(p.images, attachment{mark, absolute})
			view.InsertMark(p.input, mark)
			p.write()
		})
	})
}

// imagePath returns the path of an image file that a text consists of, without quotes, escapes and the
// scheme of a URL; empty if the text is something else.
func imagePath(text string) string {
	path := strings.TrimSpace(text)
	if n := len(path); n > 1 && (path[0] == '\'' || path[0] == '"') && path[n-1] == path[0] {
		path = path[1 : n-1]
	} else if rest, ok := strings.CutPrefix(path, "file://"); ok {
		rest, err := url.PathUnescape(rest)
		if err != nil {
			return ""
		}
		path = rest
	} else {
		path = strings.NewReplacer(`\ `, " ", `\(`, "(", `\)`, ")", `\'`, "'", `\&`, "&").Replace(path)
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
	default:
		return ""
	}
	if strings.ContainsAny(path, "\n\t") || !filepath.IsAbs(path) && !strings.HasPrefix(path, "~/") {
		return ""
	}
	return path
}

// queuedEdits changes waiting messages of the person.
type queuedEdits struct {
	d    *app
	id   string // of the message that is being changed; empty: the user edits none
	was  string // its original text
	put  string // as it was put into the input
	sent string // its new text, until the run has accepted it
}

// recall puts a waiting message into the input: the last one, or the one before the one being edited. It
// returns false if there is none.
func (q *queuedEdits) recall() bool {
	if q.d.session.state == nil || !q.d.session.runs() {
		return false
	}
	list := view.SlashWaiting(q.d.session.state)
	at := len(list) - 1
	if q.id != "" {
		at = slices.IndexFunc(list, func(m supervisor.Mail) bool { return m.ID == q.id }) - 1
	}
	if at < 0 {
		return false
	}
	q.id, q.was = list[at].ID, list[at].Text
	q.d.prompt.input.SetText(literal(q.was))
	q.put = q.d.prompt.input.Text()
	q.d.prompt.relabel()
	return true
}

// key passes a key to the change of a message, and reports whether the key has a meaning.
func (q *queuedEdits) key(key string) bool {
	switch {
	case key == "Up" && (q.id == "" && q.d.prompt.input.Empty() || q.id != "" &&
		q.d.prompt.input.Text() == q.put) && !q.d.prompt.input.PopupOpen() && !q.d.prompt.input.Browsing():
		return q.recall()
	case q.id == "":
		return false
	case key == "Esc" && !q.d.prompt.input.PopupOpen():
		q.exitWord()
		q.d.flash("It stays as it was.")
	default:
		return false
	}
	return true
}

// exitWord ends the change of a message and leaves it unchanged.
func (q *queuedEdits) exitWord() {
	q.id, q.was = "", ""
	q.d.prompt.input.Clear()
	q.d.prompt.relabel()
}

func (q *queuedEdits) reword(text string) bool {
	id := q.id
	if text == q.was {
		q.exitWord()
		return true
	}
	if !q.d.session.send(contract.EditMessage{MessageID: id, Text: text}) {
		return false
	}
	*q = queuedEdits{d: q.d, sent: text}
	q.d.session.remember(literal(text))
	return true
}

func (q *queuedEdits) withdraw() {
	if q.id == "" {
		q.d.flash("No word is being changed: Up takes one that waits.")
	} else if q.d.session.send(contract.WithdrawMessage{MessageID: q.id}) {
		q.exitWord()
	}
}

// unedited restores a new text that came too late.
func (q *queuedEdits) unedited() {
	if q.sent != "" && q.d.prompt.input.Empty() {
		q.d.prompt.input.SetText(literal(q.sent))
		q.d.prompt.write()
	}
	q.sent = ""
}

// noticeSent detects that the message being changed was sent meanwhile. The text in the input is kept; it
// would be another message.
func (q *queuedEdits) noticeSent() {
	if q.id == "" || q.d.session.state == nil {
		return
	}
	if !slices.ContainsFunc(view.SlashWaiting(q.d.session.state),
		func(m supervisor.Mail) bool { return m.ID == q.id }) {
		q.id, q.was = "", ""
		q.d.flash("That word is on its way already. What stands here would be another one.")
	}
}

// footerHeight is the minimum height of a page with a footer.
const footerHeight = 10

// arrows are the signs of keys that have one.
var arrows = map[string]string{"Left Right": "←→", "Up Down": "↑↓"}

// footer names the keys of a context and what each does, as far as there is room.
func footer(c keys.Context, look *render.Look, width int) render.Line {
	var l render.Line
	for _, h := range keys.Footer(c) {
		name := h.Keys
		if sign := arrows[name]; sign != "" && look.Glyphs != render.ASCII {
			name = sign
		}
		item := render.Line{{Text: name, Role: render.Key}, {Text: " " + h.Text, Role: render.Dim}}
		if len(l) > 0 {
			item = append(render.Of(render.Dim, "  "), item...)
		}
		if l.Width()+item.Width() > width {
			break
		}
		l = append(l, item...)
	}
	return l
}

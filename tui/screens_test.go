package tui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/rivo/uniseg"

	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// TestScreens checks every situation at every size: everything is drawn whole and in its place, the screen says what
// the user must know, at once or after scrolling, and each key that it names works there. The pictures of some
// situations are compared with golden files.
func TestScreens(t *testing.T) {
	testkit.WithoutRace(t)
	all := sizes[:3]
	if testkit.AtNight() { // what the others would show, the widths between are likely to show as well
		all = append(slices.Clone(sizes), [2]int{300, 90}, [2]int{160, 44})
	}
	for _, tt := range situations {
		for i, size := range all {
			if testkit.Race && i > 1 {
				break // what a detector could find is the same at every size
			}
			name := fmt.Sprintf("%s-%dx%d", tt.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				play(t, size[0], size[1], tt.change, func(s *scene) {
					if tt.act != nil {
						tt.act(s)
						s.Settle()
					}
					if i < tt.golden {
						s.Golden(name)
					}
					s.expectClean(name)
					s.ExpectNot("[31m", "[2J", "]0;") // what the hostile texts are without their controls
					s.ExpectFramed()
					s.expectKeys()
					s.expectReadable()
					if size[0] >= 120 {
						s.Expect(tt.wide...)
					}
					s.expectReachable(tt.says...)
				})
			})
		}
		if testkit.Race {
			continue
		}
		t.Run(tt.name+"-plain", func(t *testing.T) {
			plain := func(o *Options, h *fakeHost) {
				if tt.change != nil {
					tt.change(o, h)
				}
				o.ASCII, o.Theme = true, "mono"
			}
			play(t, 80, 24, plain, func(s *scene) {
				if tt.act != nil {
					tt.act(s)
					s.Settle()
				}
				s.ExpectPlain(typedByHumans)
			})
		})
	}
}

// typedByHumans are the characters outside of ASCII that a user or an agent has written in the situations.
const typedByHumans = "織機に新しいヘッダーを教える世界🧵"

// keyNames matches names of keys on the screen that cannot be words.
var keyNames = regexp.MustCompile(
	`(?:(?:Ctrl|Alt|Shift)\+(?:[A-Za-z0-9\\]|Tab|Enter|Up|Down|Left|Right)|F[1-9]|Esc|PgDn|PgUp)\b`)

// expectKeys fails if the screen names a key that does nothing here, or if a page does not name its own.
func (s *scene) expectKeys() {
	s.T.Helper()
	d := s.frontend.root
	contexts := []keys.Context{d.context(), keys.Everywhere}
	pick, asking := d.picker.open(), d.dialogs.asking()
	switch {
	case pick:
		contexts = append(contexts, keys.Pick)
	case asking != nil:
		contexts = append(contexts, asking.context)
	}
	if d.screen().context() == keys.Help || s.Shows("A tour") {
		contexts = keys.Contexts // they teach the keys of all
	}
	for _, key := range keyNames.FindAllString(s.Text(), -1) {
		works := slices.ContainsFunc(contexts, func(c keys.Context) bool { _, ok := keys.Look(c, key); return ok })
		if _, agent := agentKey(keys.Normal, key); agent {
			continue
		}
		edits := func(b keys.Binding) bool { return slices.Contains(append(strings.Fields(b.Help), b.Keys...), key) }
		if !works && !slices.ContainsFunc(keys.Editing, edits) {
			s.T.Errorf("it names %s, which does nothing in %q:\n%s", key, contexts, s.Text())
		}
	}
	w, h := s.Screen.Size()
	if d.screen().writes() || d.field() != nil || h < footerHeight || w < 200 || pick || asking != nil {
		return
	}
	for _, hint := range keys.Footer(d.screen().context()) {
		name := hint.Keys
		if sign := arrows[name]; sign != "" {
			name = sign
		}
		s.Expect(name + " " + hint.Text)
	}
}

// expectReadable fails if prose is too wide to read, or a file of the workspace is named by its absolute path.
func (s *scene) expectReadable() {
	s.T.Helper()
	if strings.Contains(s.Text(), "/home/weaver/loom/") {
		s.T.Errorf("a path is absolute:\n%s", s.Text())
	}
	if !s.frontend.root.screen().writes() {
		return // lists and tables use the whole width
	}
	for _, row := range s.Rows() {
		for part := range strings.SplitSeq(row, "  ") {
			if n := uniseg.StringWidth(part); n > render.Prose+10 && strings.Count(part, " ") > 8 &&
				!strings.ContainsAny(part, "·─") {
				s.T.Errorf("prose of %d columns: %q", n, part)
			}
		}
	}
}

// expectReachable fails unless each text is visible, or becomes so when the user scrolls to the end or the top.
func (s *scene) expectReachable(texts ...string) {
	s.T.Helper()
	unbroken := func() string { // the rows, and what is between borders in them
		var all, framed []string
		for _, row := range s.Rows() {
			all = append(all, strings.Fields(strings.Trim(row, "▌│ "))...)
			if from, to := strings.Index(row, "│"), strings.LastIndex(row, "│"); to > from {
				framed = append(framed, strings.Fields(strings.TrimRight(row[from+len("│"):to], " ↑↓"))...)
			}
		}
		return strings.Join(append(all, framed...), " ")
	}
	seen := unbroken()
	for _, key := range []string{"PgDn", "PgUp"} {
		for range 30 {
			if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(seen, text) }) {
				return
			}
			s.Press(key)
			s.expectClean(key)
			seen += "\n" + unbroken()
		}
	}
	for _, text := range texts {
		if !strings.Contains(seen, text) {
			s.T.Errorf("%q is out of reach:\n%s", text, s.Text())
		}
	}
}

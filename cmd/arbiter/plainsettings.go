package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/tui"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// plainSettings lists the settings, describes one, or changes one in the user's configuration file.
func plainSettings(p plainHost, _ *clients.ScreenSession, _ *supervisor.State, c view.EditorCommand) string {
	name, value, given := strings.Cut(strings.TrimSpace(c.Arg(0)), " ")
	if given {
		if value = strings.TrimSpace(value); value == "default" {
			value = ""
		}
		text, err := p.ChangeSetting(p.Context(), name, value)
		if err != nil {
			return sanitize.Line("Nothing was written: "+err.Error(), 1000)
		}
		return sanitize.Line(text, 1000)
	}
	list, file, err := p.Settings(p.Context())
	if err != nil {
		return sanitize.Line(err.Error(), 1000)
	}
	if name != "" {
		i := slices.IndexFunc(list, func(s tui.Setting) bool { return s.Name == name })
		if i < 0 {
			return "There is no setting " + sanitize.Line(name, 60) + ": /settings lists them."
		}
		return settingText(list[i])
	}
	var b strings.Builder
	for _, s := range list {
		from := s.Source
		if from == "" {
			from = "default"
		}
		fmt.Fprintf(&b, "%s: %s (%s)\n", s.Name, sanitize.Line(s.Value, 200), sanitize.Line(from, 200))
	}
	return b.String() + "Your configuration file is " + sanitize.Line(file, 400) +
		". /settings NAME explains one, /settings NAME VALUE changes it there, /settings NAME default removes it."
}

func settingText(s tui.Setting) string {
	text := fmt.Sprintf("%s: %s\n%s\n", s.Name, sanitize.Line(s.Value, 1000), s.About)
	if len(s.Choices) > 0 {
		text += "One of " + strings.Join(s.Choices, ", ") + ".\n"
	}
	if s.Source == "" {
		text += "It is the default."
	} else {
		text += "Set by " + sanitize.Line(s.Source, 400) + "."
	}
	return text + " A change takes effect " + s.When + "."
}

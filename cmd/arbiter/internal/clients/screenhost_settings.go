package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/yamldoc"
	"github.com/arbiter-cli/arbiter/tui"
)

// This file has the page of settings, and its changes of the user's configuration file.

// secretLists are settings whose values are not shown, but only the names of their variables.
var secretLists = []string{"env", "arbiter-env"}

func (h *ScreenHost) Settings(context.Context) ([]tui.Setting, string, error) {
	var list []tui.Setting
	file := ""
	err := asStarted(h.choices, "", func(c *cli.Context) error {
		file = settings.UserConfig(c.String("config"))
		trusted := h.choices.Trusting.Trusted
		given, err := settings.ApplyConfig(c, h.choices.Place, trusted)
		if err != nil {
			return err
		}
		for _, s := range settings.Table {
			if s.Flagged {
				continue
			}
			list = append(list, settingRow(s, c, given[s.Name]))
		}
		return nil
	})
	return list, file, err
}

// settingRow returns a setting in the form for the page.
func settingRow(s settings.Setting, c *cli.Context, source string) tui.Setting {
	about := command.FlagDoc(s.Flag())
	t := tui.Setting{Name: s.Name, Group: s.Group, About: about.About, Choices: command.Choices(about.Value),
		Value: valueOfSetting(s, c), Source: source, When: "with the next run"}
	if s.Kind == settings.KindBool {
		t.Choices = []string{"true", "false"}
	}
	if s.Value != nil {
		t.Default = fmt.Sprint(s.Value)
	}
	switch {
	case s.Name == "theme":
		t.When = "at once"
	case s.Group == "The screen":
		t.When = "with the next start of the screen"
	case s.Name == "model":
		t.When = "with the next run; /model changes the present one"
	case s.Name == "permissions", s.Group == "Permissions" && s.Kind == settings.KindList:
		t.When = "with the next run; /permissions, /allow, /ask and /deny change the present one"
	}
	return t
}

// valueOfSetting returns the value of a setting in the form that [ScreenHost.ChangeSetting] accepts.
func valueOfSetting(s settings.Setting, c *cli.Context) string {
	if s.Kind != settings.KindList {
		return strings.Join(s.Texts(c), "")
	}
	items := s.Texts(c)
	if len(items) == 0 {
		return ""
	}
	for i, item := range items {
		if slices.Contains(secretLists, s.Name) {
			name, _, _ := strings.Cut(item, "=")
			item = name + "=…"
		}
		items[i] = yamldoc.EditedText(item)
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// asStarted parses the command line and the environment again. If file is not empty, it is read instead of the
// user's configuration file.
func asStarted(s settings.Choices, file string, do func(c *cli.Context) error) error {
	args := append([]string{"arbiter"}, s.Line...)
	if file != "" {
		args = append(args, "--config="+file)
	}
	app := &cli.App{
		Flags: settings.Flags(), HideHelp: true, HideVersion: true, DisableSliceFlagSeparator: true, Writer: io.Discard,
		ErrWriter: io.Discard, ExitErrHandler: func(*cli.Context, error) {}, Action: do,
		OnUsageError: func(_ *cli.Context, err error, _ bool) error { return err },
	}
	return app.Run(args)
}

// OpenSettings implements tui.Host.
func (h *ScreenHost) OpenSettings() error {
	file := ""
	err := asStarted(h.choices, "", func(c *cli.Context) error {
		file = settings.UserConfig(c.String("config"))
		return nil
	})
	if err != nil {
		return err
	}
	if file == "" {
		return errNoConfig
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return command.Environmentf("create the directory of your configuration: %v", command.WithoutPath(err))
	}
	return h.runEditor(file)
}

// errNoConfig says that the user's configuration file has no place.
var errNoConfig = command.Environmentf("there is no place for a configuration file: set HOME or XDG_CONFIG_HOME, or " +
	"use --config")

// ChangeSetting implements tui.Host.
func (h *ScreenHost) ChangeSetting(_ context.Context, name, value string) (string, error) {
	i := slices.IndexFunc(settings.Table, func(s settings.Setting) bool { return s.Name == name && !s.Flagged })
	if i < 0 {
		return "", command.Usagef("there is no setting %q: /settings lists them", name)
	}
	if slices.Contains(secretLists, name) && strings.Contains(value, "=…") {
		return "", command.Usagef("%s: write the values in full, in place of …", name)
	}
	s, written := settings.Table[i], ""
	var file string
	err := asStarted(h.choices, "", func(c *cli.Context) error {
		file = settings.UserConfig(c.String("config"))
		return nil
	})
	if err == nil && file == "" {
		err = errNoConfig
	}
	if err == nil && value != "" {
		written, err = settingYAML(s, value)
	}
	if err != nil {
		return "", err
	}
	if err := rewriteConfig(h.choices, file, name, written); err != nil {
		return "", err
	}
	message := fmt.Sprintf("%s: %s, written to %s", name, value, file)
	if value == "" {
		message = fmt.Sprintf("%s is the default again: removed from %s", name, file)
	}
	return message, nil
}

// settingYAML returns a value in the form for the file, or an error if the value is not valid for the setting.
func settingYAML(s settings.Setting, value string) (string, error) {
	about := command.FlagDoc(s.Flag())
	if words := command.Choices(about.Value); words != nil && !slices.Contains(words, value) {
		return "", command.Usagef("%s: %q is not one of %s", s.Name, value, strings.Join(words, ", "))
	}
	if s.Kind == settings.KindList && strings.HasPrefix(value, "[") {
		return value, nil // checked when the file is read again
	}
	if s.Kind == settings.KindList {
		return "[" + yamldoc.EditedText(value) + "]", nil
	}
	app := &cli.App{Flags: []cli.Flag{s.Flag()}, HideHelp: true, HideVersion: true, Writer: io.Discard,
		ErrWriter: io.Discard, Action: func(*cli.Context) error { return nil }}
	if err := app.Run([]string{"arbiter", "--" + s.Name + "=" + value}); err != nil {
		return "", command.Usagef("%s: %q is not %s", s.Name, value, s.Kind.Article())
	}
	if s.Kind == settings.KindText || s.Kind == settings.KindDuration {
		return yamldoc.EditedText(value), nil
	}
	return value, nil
}

// rewriteConfig changes or removes one key of a configuration file, provided that the program accepts the resulting
// file.
func rewriteConfig(s settings.Choices, file, key, value string) error {
	src, err := command.ReadFile(file, command.MaxSource)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return command.Environmentf("cannot read the configuration %s: %v", file, command.WithoutPath(err))
	}
	out, change := []byte(nil), yamldoc.RemoveText
	if value != "" {
		change = func(src []byte, key string) ([]byte, error) { return yamldoc.SetText(src, key, value) }
	}
	if out, err = change(src, key); err != nil {
		return command.Usagef("%s: %v", file, err)
	}
	dir, err := os.MkdirTemp("", "arbiter-settings-")
	if err != nil {
		return command.Environmentf("%v", err)
	}
	defer os.RemoveAll(dir)
	trial := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(trial, out, 0o600); err != nil {
		return command.Environmentf("%v", err)
	}
	err = asStarted(s, trial, func(c *cli.Context) error {
		_, err := settings.ReadChoices(c)
		return err
	})
	if err != nil {
		return command.Usagef("%s", strings.ReplaceAll(err.Error(), trial, file))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return command.Environmentf("%v", err)
	}
	if err := command.WriteOutput(file, out); err != nil {
		return command.Environmentf("write the configuration %s: %v", file, command.WithoutPath(err))
	}
	return nil
}

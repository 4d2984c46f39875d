package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// MaxTemplate bounds one template file, in bytes.
const MaxTemplate = 64 << 10

// ReadTemplates reads overriding templates: prompts/*.md of the user's configuration, and with higher priority
// .arbiter/prompts/*.md of a trusted workspace. It reads and parses all of them, so that an invalid one is reported
// before anything starts.
func ReadTemplates(place string, trusted, users bool) (map[string]string, error) {
	found := map[string]string{}
	if dir, err := os.UserConfigDir(); err == nil && users {
		// The user may have linked it from another place.
		if err := readTemplateDir(filepath.Join(dir, "arbiter", "prompts"), true, found); err != nil {
			return nil, err
		}
	}
	if trusted {
		if err := readTemplateDir(filepath.Join(place, ".arbiter", "prompts"), false, found); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found, nil
}

// readTemplateDir reads the templates of one directory into found, and overrides earlier ones.
func readTemplateDir(dir string, links bool, found map[string]string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return command.Usagef("prompt templates: %v", err)
	}
	for _, e := range entries {
		name := e.Name()
		if filepath.Ext(name) != ".md" || strings.HasPrefix(name, ".") {
			continue // an editor's file, or a note
		}
		path := filepath.Join(dir, name)
		text, err := readTemplate(path, links)
		if err != nil {
			return command.Usagef("%s: %v", path, err)
		}
		// Parse each one separately, so that the error names the file.
		if _, err := decider.NewSet(map[string]string{name: text}); err != nil {
			return command.Usagef("%s: %v", path, err)
		}
		found[name] = text
	}
	return nil
}

// readTemplate reads one file.
func readTemplate(path string, links bool) (string, error) {
	if info, err := os.Lstat(path); err == nil && !links && info.Mode()&fs.ModeSymlink != 0 {
		return "", errors.New("a link: a workspace's templates are files of its own")
	}
	raw, err := command.ReadFile(path, MaxTemplate)
	if _, large := errors.AsType[*command.SizeError](err); large {
		return "", fmt.Errorf("a template has at most %d bytes", MaxTemplate)
	}
	if err == nil && !utf8.Valid(raw) {
		err = errors.New("not UTF-8")
	}
	return string(raw), command.WithoutPath(err)
}

// ReadInstructions reads the instructions for deciders and agents: the user's prompt templates, and the agents that
// can be spawned. An invalid template is an error; an invalid agent file is skipped, and Notice reports it. A
// rehearsal uses none of the user's files.
func (c *Choices) ReadInstructions() error {
	trusted := c.Trusting.Trusted
	home := func(name string) string { return "" }
	if !c.Rehearse {
		home = os.Getenv
	}
	var err error
	if c.Options.Templates, err = ReadTemplates(c.Place, trusted, !c.Rehearse); err != nil {
		return err
	}
	found := agents.Discover(agents.UserPlaces(c.Place, trusted, home))
	c.Options.Modes, c.Notice = found.Agents, strings.Trim(agentNotice(found.Problems)+"; "+c.Unused, "; ")
	return c.Trusting.Unchanged(c.Place)
}

// maxListedProblems is how many problems of agent files a notice lists.
const maxListedProblems = 3

// agentNotice returns the problems of agent files in one line; empty if there are none.
func agentNotice(problems []agents.Problem) string {
	var listed []string
	more := 0
	for _, p := range problems {
		switch {
		case p.Warning:
		case len(listed) < maxListedProblems:
			listed = append(listed, p.Error())
		default:
			more++
		}
	}
	if len(listed) == 0 {
		return ""
	}
	if more > 0 {
		listed = append(listed, fmt.Sprintf("%d more (arbiter agents check)", more))
	}
	return "agent files: " + strings.Join(listed, "; ")
}

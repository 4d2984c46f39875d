package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
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
		if err := readTemplateDir(filepath.Join(dir, "arbiter", "prompts"), 0, found); err != nil {
			return nil, err
		}
	}
	if trusted {
		if err := readTemplateDir(filepath.Join(place, ".arbiter", "prompts"), syscall.O_NOFOLLOW, found); err != nil {
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return found, nil
}

// readTemplateDir reads the templates of one directory into found, and overrides earlier ones.
func readTemplateDir(dir string, flag int, found map[string]string) error {
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
		text, err := readTemplate(path, flag)
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

// readTemplate reads one file. It does not block on a file that is not regular.
func readTemplate(path string, flag int) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|flag, 0)
	if errors.Is(err, syscall.ELOOP) {
		return "", errors.New("a link: a workspace's templates are files of its own")
	}
	if err != nil {
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	raw, err := io.ReadAll(io.LimitReader(f, MaxTemplate+1))
	if err != nil {
		return "", err
	}
	if len(raw) > MaxTemplate {
		return "", fmt.Errorf("a template has at most %d bytes", MaxTemplate)
	}
	if !utf8.Valid(raw) {
		return "", errors.New("not UTF-8")
	}
	return string(raw), nil
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

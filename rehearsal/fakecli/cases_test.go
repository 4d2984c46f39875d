package fakecli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/tools/txtar"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
)

// A case is one file. Its sections:
//
//	-- args --      extra arguments, one a line
//	-- env --       extra environment, NAME=value a line
//	-- model --     the scripted model, one JSON reply a line, used in order (see [corpus.Reply])
//	-- host --      the conversation, one step a line: of [corpus.Operations], and of more
//	-- host.2 --    another process on the same files, and so on; args.2, env.2 go with it
//	-- work/NAME -- a file of the working directory
//
// The names $CWD, $HOME and $SESSION are set.

// wireCase is one conversation.
type wireCase struct {
	Name    string
	Replies []corpus.Reply
	Runs    []wireProcess
	Files   map[string]string // of the working directory
}

// wireProcess is one process of a case.
type wireProcess struct {
	Args, Env []string
	Steps     []wireStep
}

// wireStep is one line of a host section.
type wireStep struct{ Op, Arg string }

// loadAll reads all cases that match a glob.
func loadAll(t *testing.T, glob string) (list []*wireCase) {
	t.Helper()
	paths, err := filepath.Glob(glob)
	testkit.Need(t, err == nil && len(paths) != 0, "no cases match %s (%v)", glob, err)
	for _, p := range paths {
		c, err := parseCase(testkit.Must(txtar.ParseFile(p))(t))
		testkit.Works(t, p, err)
		c.Name = strings.TrimSuffix(filepath.Base(p), ".txtar")
		list = append(list, c)
	}
	return list
}

func parseCase(archive *txtar.Archive) (*wireCase, error) {
	c, sections := &wireCase{Files: map[string]string{}}, map[string]string{}
	for _, f := range archive.Files {
		if name, isWork := strings.CutPrefix(f.Name, "work/"); isWork {
			c.Files[name] = string(f.Data)
		} else {
			sections[f.Name] = string(f.Data)
		}
	}
	take := func(section string) string { defer delete(sections, section); return sections[section] }
	replies, err := parseReplies(take("model"))
	c.Replies = replies
	errs := []error{err}
	for number := ""; ; number = "." + strconv.Itoa(len(c.Runs)+1) {
		host := take("host" + number)
		if host == "" {
			break
		}
		steps, err := parseSteps(host)
		errs = append(errs, err)
		c.Runs = append(c.Runs, wireProcess{lines(take("args" + number)), lines(take("env" + number)), steps})
	}
	if len(c.Runs) == 0 || len(sections) > 0 {
		errs = append(errs, fmt.Errorf("no host section, or unknown sections: %v", slices.Collect(maps.Keys(sections))))
	}
	return c, errors.Join(errs...)
}

// lines returns those that are neither empty nor comments.
func lines(text string) (out []string) {
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out
}

func parseReplies(text string) (replies []corpus.Reply, err error) {
	for _, line := range lines(text) {
		var r corpus.Reply
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			return nil, fmt.Errorf("reply %d: %w", len(replies)+1, err)
		}
		replies = append(replies, r)
	}
	return replies, nil
}

func parseSteps(text string) (steps []wireStep, err error) {
	for _, line := range lines(text) {
		op, arg, _ := strings.Cut(line, " ")
		_, known := corpus.Operations[op]
		_, further := more(nil, "", nil)[op]
		switch {
		case !known && !further:
			return nil, fmt.Errorf("unknown step %q", op)
		case (op != "release" && op != "eof") != (arg != ""):
			return nil, fmt.Errorf("step %q: wrong number of arguments", op)
		case (op == "<" || op == "!") && !json.Valid([]byte(arg)):
			return nil, fmt.Errorf("the pattern is not JSON: %s", arg)
		}
		steps = append(steps, wireStep{op, arg})
	}
	return steps, nil
}

// runCase plays the case.
func runCase(t *testing.T, c *wireCase, p corpus.WireProgram) {
	t.Helper()
	cwd := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	for name, text := range c.Files {
		name = filepath.Join(cwd, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600))
	}
	m := corpus.StartModel(t, c.Replies...)
	known := corpus.Names{"CWD": cwd, "HOME": t.TempDir(), "SESSION": uuid.NewString()}
	for _, pr := range c.Runs {
		program := corpus.WireProgram{Path: p.Path, Env: slices.Concat(p.Env, pr.Env)}
		h := corpus.Drive(t, program, pr.Args, m.URL, known)
		h.More = more(t, cwd, m)
		for _, s := range append(pr.Steps, wireStep{Op: "end"}) {
			h.Do(s.Op, s.Arg)
		}
	}
}

// more are further steps of a host:
//
//	saw N REGEXP     the N-th model request (of the whole case) matches
//	requests N       the model was called N times
//	called N         wait until it was called N times
//	release          let the reply go on that waits with "hold"
//	stderr REGEXP    stderr matches (after exit)
//	file PATH REGEXP a file, by glob, relative to the working directory, matches
//	until PATH REGEXP wait until it does
//	touch NAME       make an empty file in the working directory
func more(t testing.TB, cwd string, model *corpus.Model) map[string]func(h *corpus.Host, arg string) error {
	matches := func(_ *corpus.Host, arg string) error { return fileMatches(cwd, arg) }
	return map[string]func(h *corpus.Host, arg string) error{
		"saw": func(_ *corpus.Host, arg string) error {
			n, re, _ := strings.Cut(arg, " ")
			bodies := model.Requests()
			i, err := strconv.Atoi(n)
			if err != nil || i < 1 || i > len(bodies) {
				return fmt.Errorf("there were %d requests", len(bodies))
			}
			return look(re, bodies[i-1])
		},
		"requests": func(_ *corpus.Host, arg string) error {
			if bodies := model.Requests(); strconv.Itoa(len(bodies)) != arg {
				return fmt.Errorf("there were %d", len(bodies))
			}
			return nil
		},
		"called": func(_ *corpus.Host, arg string) error {
			n, err := strconv.Atoi(arg)
			testkit.Await(t, "requests: "+arg, func() bool { return len(model.Requests()) >= n })
			return err
		},
		"release": func(*corpus.Host, string) error { model.Release(); return nil },
		"stderr":  func(h *corpus.Host, arg string) error { return look(arg, h.Stderr.String()) },
		"file":    matches,
		"until": func(h *corpus.Host, arg string) error { // another process writes it without a notification
			testkit.Await(t, arg, func() bool { return matches(h, arg) == nil })
			return nil
		},
		"touch": func(_ *corpus.Host, arg string) error { return os.WriteFile(filepath.Join(cwd, arg), nil, 0o644) },
	}
}

func fileMatches(cwd, arg string) error {
	glob, re, _ := strings.Cut(arg, " ")
	if !filepath.IsAbs(glob) {
		glob = filepath.Join(cwd, glob)
	}
	paths, err := filepath.Glob(glob)
	if err != nil || len(paths) != 1 {
		return errors.New("files: " + strings.Join(paths, " "))
	}
	raw, err := os.ReadFile(paths[0])
	if err != nil {
		return err
	}
	return look(re, string(raw))
}

// look fails unless the text matches the regular expression.
func look(expr, text string) error {
	re, err := regexp.Compile("(?s)" + expr)
	if err == nil && !re.MatchString(text) {
		err = fmt.Errorf("it is %.4000s", text)
	}
	return err
}

func TestParseSteps(t *testing.T) {
	steps, err := parseSteps("# comment\n\n> {bad json\n< {\"type\":\"result\"}\neof\n")
	testkit.Check(t, err == nil && len(steps) == 3 && steps[0].Arg == "{bad json" && steps[2].Op == "eof",
		"steps = %+v, %v", steps, err)
	for _, bad := range []string{"wait 5", "eof now", "exit", "< {bad"} {
		_, err := parseSteps(bad)
		testkit.Check(t, err != nil, "parseSteps(%q) accepts it", bad)
	}
}

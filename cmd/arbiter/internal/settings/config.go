package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/internal/yamldoc"
)

// ApplyConfig sets values that neither a flag nor the environment has set: from the workspace's
// .arbiter/config.yaml if it is trusted, and then from the user's file.
//
// It returns the place of each given value.
func ApplyConfig(c *cli.Context, cwd string, trusted bool) (origins, error) {
	var files []string
	workspaces := filepath.Join(cwd, ".arbiter", "config.yaml")
	if trusted {
		files = append(files, workspaces)
	}
	named := c.String("config")
	own := UserConfig(c.String("config"))
	if own != "" {
		files = append(files, own)
	}
	given := givenOrigins(c)
	giveTogether(given)
	for _, file := range files {
		src, err := command.ReadFile(file, command.MaxSource)
		if os.IsNotExist(err) && file != named {
			continue
		}
		if err != nil {
			return nil, command.Usagef("cannot read the configuration %s: %v", file, command.WithoutPath(err))
		}
		if err := applyFile(c, file, src, given, file != workspaces); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// UserConfig returns the path of the user's own configuration file, the one of --config if that is given. It may not
// exist; empty: it has no place.
func UserConfig(named string) string {
	if named != "" {
		return named
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "arbiter", "config.yaml")
}

// applyFile sets the keys of one file that no stronger source has set. Only a user's own file may have hosts.
func applyFile(c *cli.Context, file string, src []byte, given origins, own bool) error {
	doc, err := yamldoc.Parse(file, src)
	if err != nil {
		return command.Usagef("%v", err)
	}
	set := origins{}
	for _, values := range doc.Values() {
		for _, f := range values.Fields("lines of the form `key: value`") {
			if slices.Contains(hosts.Keys, f.Key) {
				if !own {
					return command.Usagef("%s:%d: %s: a workspace cannot name hosts: move this to your own configuration "+
						"(arbiter hosts shows where it is)", file, f.KeyLine, f.Key)
				}
				continue // read by readHosts
			}
			if f.Key == makesKey {
				if !own {
					return command.Usagef("%s:%d: %s: a workspace cannot name programs to run as agents: move this to your own "+
						"configuration", file, f.KeyLine, f.Key)
				}
				continue // read by readMakes
			}
			entries, err := configEntries(file, f, own)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if err := applyEntry(c, file, e, given, set); err != nil {
					return err
				}
			}
		}
		if err := doc.Err(); err != nil {
			return command.Usagef("%v", err)
		}
	}
	for name, where := range set {
		if given[name] == "" {
			given[name] = where
		}
	}
	giveTogether(given)
	return nil
}

// applyEntry sets one value of a file, unless a stronger source has set it.
func applyEntry(c *cli.Context, file string, e configEntry, given, set origins) error {
	where := fmt.Sprintf("%s:%d: %s", file, e.line, e.path)
	texts, err := e.texts()
	switch {
	case err != nil:
		return command.Usagef("%s: %v", where, err)
	case set[e.Name] != "":
		return command.Usagef("%s: given twice: this file names %s before", where, e.Name)
	}
	set[e.Name] = where
	if given[e.Name] != "" {
		return nil
	}
	for _, text := range texts {
		if err := c.Set(e.Name, text); err != nil {
			return command.Usagef("%s: %q is not %s", where, text, e.Kind.Article())
		}
	}
	return nil
}

// scalars reads a value as text: one text, or for a list one per item.
func scalars(v yamldoc.Value, k kind) ([]string, error) {
	values := []yamldoc.Value{v}
	if v.Kind() == yamldoc.List {
		if k != KindList {
			return nil, fmt.Errorf("a list is not %s", k.Article())
		}
		values = v.Items("a list")
	}
	var texts []string
	for _, item := range values {
		text, ok := item.Scalar()
		if !ok {
			return nil, fmt.Errorf("give a plain value, not %s", item.Kind())
		}
		texts = append(texts, text)
	}
	return texts, nil
}

func configKeys() []string {
	var keys []string
	for _, s := range Table {
		if !s.Flagged {
			keys = append(keys, s.Name)
		}
	}
	return keys
}

// ConfigSchema returns the JSON Schema of the configuration file, generated from the table of settings.
func ConfigSchema() ([]byte, error) {
	props := map[string]any{}
	for _, s := range Table {
		if s.Flagged {
			continue
		}
		doc := command.FlagDoc(s.Flag())
		p := map[string]any{"description": doc.About}
		if words := command.Choices(doc.Value); words != nil {
			p["enum"] = words
		}
		switch s.Kind {
		case KindList:
			p["type"], p["items"] = "array", map[string]any{"type": "string"}
		case KindDuration:
			p["type"], p["pattern"] = "string", `^[0-9.]+(ns|us|µs|ms|s|m|h)([0-9.]+(ns|us|µs|ms|s|m|h))*$`
		default:
			p["type"] = string(s.Kind)
		}
		if s.Value != nil {
			if s.Kind == KindDuration {
				p["default"] = fmt.Sprint(s.Value)
			} else {
				p["default"] = s.Value
			}
		}
		props[s.Name] = p
	}
	blockSchemas(props)
	hostSchemas(props)
	makeSchema(props)
	return json.MarshalIndent(map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "arbiter configuration",
		"description": ".arbiter/config.yaml in a trusted workspace, or config.yaml in the user's configuration " +
			"directory under arbiter. Flags and ARBITER_… environment variables come first.",
		"type": "object", "properties": props, "additionalProperties": false,
	}, "", "  ")
}

// origins has the place of each given setting's value, as error messages name it: --NAME, $VARIABLE, or FILE:LINE:
// KEY.
type origins map[string]string

// setFlags returns the flags for which [cli.Context.IsSet] is true. A flag of a command hides a flag of the program
// with the same name. IsSet compares one name with the names of all flags: calling it for each setting took a fifth
// of the time to the first frame.
func setFlags(c *cli.Context) map[string]bool {
	set := map[string]bool{}
	for _, ctx := range slices.Backward(c.Lineage()) {
		if ctx.Command == nil { // the root context, without flags
			continue
		}
		for _, f := range ctx.Command.Flags {
			set[f.Names()[0]] = false
		}
		for _, name := range ctx.LocalFlagNames() {
			set[name] = true
		}
	}
	return set
}

// givenOrigins returns the origins of values from the command line and the environment.
func givenOrigins(c *cli.Context) origins {
	o, set := origins{}, setFlags(c)
	for _, s := range Table {
		// An empty environment variable sets nothing.
		if !set[s.Name] || s.Kind == KindText && c.String(s.Name) == "" {
			continue
		}
		o[s.Name] = "--" + s.Name
		for _, variable := range EnvName(s) {
			if text := os.Getenv(variable); text != "" && s.holds(c, text) {
				o[s.Name] = "$" + variable
			}
		}
	}
	return o
}

// holds reports whether the value of a setting equals a text.
func (s Setting) holds(c *cli.Context, text string) bool {
	switch s.Kind {
	case kindInt:
		n, err := strconv.Atoi(text)
		return err == nil && n == c.Int(s.Name)
	case kindNumber:
		n, err := strconv.ParseFloat(text, 64)
		return err == nil && n == c.Float64(s.Name)
	case KindDuration:
		d, err := time.ParseDuration(text)
		return err == nil && d == c.Duration(s.Name)
	case KindBool:
		b, err := strconv.ParseBool(text)
		return err == nil && b == c.Bool(s.Name)
	}
	return c.String(s.Name) == text
}

// placed returns an error about a wrong value with the place of that value, instead of a flag that was not given.
func (o origins) placed(err error) error {
	var wrong *command.Error
	if !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Text, "--") {
		return err
	}
	name, problem, ok := strings.Cut(wrong.Text[2:], " ")
	at := o[strings.TrimRight(name, ":,")]
	if !ok || at == "" || at == "--"+name {
		return err
	}
	return &command.Error{Code: wrong.Code, Text: fmt.Sprintf("%s %s", at, problem), Cause: wrong.Cause}
}

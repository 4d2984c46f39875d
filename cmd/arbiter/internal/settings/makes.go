package settings

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/yamldoc"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// makesKey is the key of the configuration file with the makes of agents besides Claude.
const makesKey = "makes"

var (
	makeName = pattern(`^[a-z0-9][a-z0-9._-]{0,39}$`)
	envName  = pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
	secret   = pattern(`(?i)key|token|secret|passw|credential`)
)

func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// MakesOf returns the makes of the user's own configuration file.
func MakesOf(file string, src []byte) ([]runconfig.Make, error) {
	var o runconfig.Options
	if err := parseMakes(file, src, &o); err != nil {
		return nil, command.Usagef("%v", err)
	}
	return o.Makes, nil
}

// parseMakes reads the makes of a file, and which of them agents are, into the options of a run.
func parseMakes(file string, src []byte, o *runconfig.Options) error {
	doc, err := yamldoc.Parse(file, src)
	if err != nil {
		return err
	}
	var standard []yamldoc.Field
	for _, v := range doc.Values() {
		for _, f := range v.Fields("lines of the form `key: value`") {
			switch f.Key {
			case makesKey:
				for _, m := range f.Value.Fields("a mapping of names to makes") {
					o.Makes = append(o.Makes, readMake(m))
				}
			case agentPrograms:
				standard = f.Value.Fields("a mapping such as `default: claude`")
			}
		}
	}
	slices.SortFunc(o.Makes, func(a, b runconfig.Make) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range standard {
		name, _ := f.Scalar()
		if slices.Contains(claudeNames, strings.ToLower(name)) {
			continue
		}
		if f.Key == "arbiter" {
			o.ArbiterMake = name
		} else {
			o.DefaultMake = name
		}
		if o.MakeProblem(name) != "" {
			f.Errorf("there is no make %q: configure it under makes; there are %s. Another provider's model can decide: set "+
				"provider and model of the block decider", name, strings.Join(o.MakeNames(), ", "))
		}
	}
	return doc.Err()
}

func readMake(v yamldoc.Field) runconfig.Make {
	m := runconfig.Make{MaxTurns: runconfig.DefaultMakeTurns}
	m.Name = v.Key
	switch {
	case v.Key == runconfig.ClaudeMake:
		v.Errorf("claude is the make that is always there: give another name, and say with like what it is")
	case !makeName().MatchString(v.Key):
		v.Errorf("%q is not a name: use small letters, digits and . _ -", v.Key)
	}
	for _, f := range v.Fields("a mapping such as {command: [opencode, acp]}") {
		switch f.Key {
		case "command":
			m.Command = f.Value.Texts()
		case "env":
			m.Env = f.Value.Texts()
			for _, entry := range m.Env {
				name, _, set := strings.Cut(entry, "=")
				switch {
				case !envName().MatchString(name):
					f.Errorf("%q is not the name of a variable", name)
				case set && secret().MatchString(name):
					f.Errorf("write only the name %s: its value is taken from arbiter's environment, and kept nowhere", name)
				}
			}
		case "like":
			m.Like = f.Value.Text()
		case "accept_unasked":
			m.AcceptUnasked = f.Value.Bool()
		case "max_turns":
			m.MaxTurns = f.Value.Integer(1)
		case "input_usd":
			m.InputUSD = dollars(f)
		case "output_usd":
			m.OutputUSD = dollars(f)
		default:
			f.Errorf("unknown field %q; a make takes command, env, like, accept_unasked, max_turns, input_usd and output_usd",
				f.Key)
		}
	}
	if len(m.Command) == 0 {
		v.Errorf("command is missing: name the words that start the agent, such as [opencode, acp]")
	}
	return m
}

func dollars(f yamldoc.Field) float64 {
	text, _ := f.Scalar()
	usd, err := strconv.ParseFloat(text, 64)
	if err != nil || !(usd >= 0 && usd < 1e6) {
		f.Errorf("want US dollars for a million tokens, such as 2.5")
		return 0
	}
	return usd
}

// makeSchema adds the makes to the properties of the configuration's JSON Schema.
func makeSchema(props map[string]any) {
	about := func(kind, text string) map[string]any { return map[string]any{"type": kind, "description": text} }
	words := func(text string) map[string]any {
		return map[string]any{"type": "array", "items": map[string]any{"type": "string"}, "description": text}
	}
	props[makesKey] = map[string]any{
		"type":        "object",
		"description": "makes of agents besides Claude, by name; in your own configuration only",
		"additionalProperties": map[string]any{
			"type": "object", "required": []string{"command"}, "additionalProperties": false,
			"properties": map[string]any{
				"command": words("the words that start an agent that speaks the Agent Client Protocol, such as [opencode, acp]"),
				"env": words("variables that it gets besides those of each agent: NAME is taken from the environment, " +
					"NAME=VALUE is set"),
				"like": about("string", "the make that it behaves like, if it has another name here"),
				"accept_unasked": about("boolean", "true: it may run without a sandbox although it does not ask about each "+
					"command and edit, so that deny rules do not hold"),
				"max_turns": map[string]any{"type": "integer", "minimum": 1, "default": runconfig.DefaultMakeTurns,
					"description": "after how many messages it hands off while nobody knows how full its context is"},
				"input_usd":  about("number", "what a million tokens of input cost, where it reports no costs"),
				"output_usd": about("number", "what a million tokens of output cost, where it reports no costs"),
			},
		},
	}
}

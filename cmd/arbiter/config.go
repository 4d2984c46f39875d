package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/manual"
)

// applyConfig fills in what neither a flag nor the environment set: from the
// workspace's .arbiter/config.yaml if it is trusted, then from the user's file.
func applyConfig(c *cli.Context, cwd string, trusted bool) error {
	var files []string
	if trusted {
		files = append(files, filepath.Join(cwd, ".arbiter", "config.yaml"))
	}
	named := c.String("config")
	if named != "" {
		files = append(files, named)
	} else if dir, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(dir, "arbiter", "config.yaml"))
	}
	given := map[string]bool{}
	for _, s := range settings {
		// An environment variable that is set to nothing sets nothing.
		given[s.name] = c.IsSet(s.name) && (s.kind != kindText || c.String(s.name) != "")
	}
	for _, file := range files {
		src, err := readFile(file, maxSource)
		if os.IsNotExist(err) && file != named {
			continue
		}
		if err != nil {
			return usagef("cannot read the configuration %s: %v", file, withoutPath(err))
		}
		if err := applyFile(c, file, src, given); err != nil {
			return err
		}
	}
	return nil
}

// applyFile sets the keys of one file that no stronger source has given.
func applyFile(c *cli.Context, file string, src []byte, given map[string]bool) error {
	tree, err := parser.ParseBytes(src, 0)
	if err != nil {
		return usagef("%s", syntaxProblem(file, err))
	}
	set := map[string]bool{}
	for _, doc := range tree.Docs {
		if doc.Body == nil {
			continue
		}
		var pairs []*ast.MappingValueNode
		switch body := doc.Body.(type) {
		case *ast.MappingNode:
			pairs = body.Values
		case *ast.MappingValueNode:
			pairs = []*ast.MappingValueNode{body}
		default:
			return usagef("%s:%d: use lines of the form `key: value`", file, doc.Body.GetToken().Position.Line)
		}
		for _, pair := range pairs {
			key := pair.Key.String()
			where := fmt.Sprintf("%s:%d: %s", file, pair.Key.GetToken().Position.Line, key)
			i := slices.IndexFunc(settings, func(s setting) bool { return s.name == key && !s.flagged })
			if i < 0 {
				hint := "arbiter schema config lists the settings"
				if meant := manual.Meant(key, configKeys()); meant != "" {
					hint = meant
				}
				return usagef("%s:%d: unknown setting %q; %s", file, pair.Key.GetToken().Position.Line, key, hint)
			}
			values, err := scalars(pair.Value, settings[i].kind)
			if err != nil {
				return usagef("%s: %v", where, err)
			}
			if given[key] {
				continue
			}
			for _, v := range values {
				if err := c.Set(key, v); err != nil {
					return usagef("%s: %q is not %s", where, v, settings[i].kind.article())
				}
			}
			set[key] = true
		}
	}
	for key := range set {
		given[key] = true
	}
	return nil
}

var yamlPosition = regexp.MustCompile(`^\[(\d+):(\d+)\] `)

// syntaxProblem is what the YAML parser refuses, with its place as file:line:column.
func syntaxProblem(file string, err error) string {
	text := firstLine(err.Error())
	if m := yamlPosition.FindStringSubmatch(text); m != nil {
		return fmt.Sprintf("%s:%s:%s: %s", file, m[1], m[2], text[len(m[0]):])
	}
	return file + ": " + text
}

// scalars reads a value as text: one, or for a list each of its items.
func scalars(n ast.Node, k kind) ([]string, error) {
	if seq, ok := n.(*ast.SequenceNode); ok {
		if k != kindList {
			return nil, fmt.Errorf("a list is not %s", k.article())
		}
		var values []string
		for _, item := range seq.Values {
			v, err := scalar(item)
			if err != nil {
				return nil, err
			}
			values = append(values, v)
		}
		return values, nil
	}
	v, err := scalar(n)
	if err != nil {
		return nil, err
	}
	return []string{v}, nil
}

func scalar(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	}
	return "", fmt.Errorf("give a plain value, not a %s", strings.ToLower(n.Type().String()))
}

func configKeys() []string {
	var keys []string
	for _, s := range settings {
		if !s.flagged {
			keys = append(keys, s.name)
		}
	}
	return keys
}

// configSchema describes the configuration file, from the table of settings.
func configSchema() ([]byte, error) {
	props := map[string]any{}
	for _, s := range settings {
		if s.flagged {
			continue
		}
		told := manual.Tell(s.flag())
		p := map[string]any{"description": told.About}
		if words := manual.Choices(told.Value); words != nil {
			p["enum"] = words
		}
		switch s.kind {
		case kindList:
			p["type"], p["items"] = "array", map[string]any{"type": "string"}
		case kindDuration:
			p["type"], p["pattern"] = "string", `^[0-9.]+(ns|us|µs|ms|s|m|h)([0-9.]+(ns|us|µs|ms|s|m|h))*$`
		default:
			p["type"] = string(s.kind)
		}
		if s.value != nil {
			if s.kind == kindDuration {
				p["default"] = fmt.Sprint(s.value)
			} else {
				p["default"] = s.value
			}
		}
		props[s.name] = p
	}
	return json.MarshalIndent(map[string]any{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "arbiter configuration",
		"description": ".arbiter/config.yaml in a trusted workspace, or config.yaml in the user's configuration directory under arbiter. Flags and ARBITER_… environment variables come first.",
		"type":        "object", "properties": props, "additionalProperties": false,
	}, "", "  ")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

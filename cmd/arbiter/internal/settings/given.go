package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// Texts returns the values of a setting in the form of a flag.
func (s Setting) Texts(c *cli.Context) []string {
	if s.Kind == KindList {
		return slices.Clone(c.StringSlice(s.Name))
	}
	if v := c.Value(s.Name); v != nil {
		return []string{fmt.Sprint(v)}
	}
	return nil
}

// givenFlags returns the flags of a command line, for [Choices.Line]. Call it before a configuration file is
// applied.
func givenFlags(c *cli.Context) []string {
	var args []string
	origin := givenOrigins(c)
	for _, s := range Table {
		if !strings.HasPrefix(origin[s.Name], "--") || s.Flagged && s.Name != "config" && s.Name != "cwd" {
			continue
		}
		for _, text := range s.Texts(c) {
			args = append(args, "--"+s.Name+"="+text)
		}
	}
	return args
}

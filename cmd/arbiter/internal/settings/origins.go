package settings

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
)

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

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

// origins names for each setting that is given where its value stands, as errors name it: --NAME, $VARIABLE, or
// FILE:LINE: KEY.
type origins map[string]string

// setFlags are the flags for which [cli.Context.IsSet] is true: a flag of a command hides one of the same name of the
// program. IsSet compares one name with the names of all flags, so that a fifth of the time to the first frame went by
// when it was asked for each setting.
func setFlags(c *cli.Context) map[string]bool {
	set := map[string]bool{}
	for _, ctx := range slices.Backward(c.Lineage()) {
		if ctx.Command == nil { // the parent of all, without flags
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

// givenOrigins are those of the command line and the environment.
func givenOrigins(c *cli.Context) origins {
	o, set := origins{}, setFlags(c)
	for _, s := range Table {
		// An environment variable that is set to nothing sets nothing.
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

// holds reports whether a setting has the value of a text.
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

// placed returns the error of a wrong value with the place where the value stands, in place of the flag that nobody
// gave.
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

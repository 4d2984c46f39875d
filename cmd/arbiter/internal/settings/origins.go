package settings

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
)

// origins names for each setting that is given where its value stands, as errors name it: --NAME, $VARIABLE, or
// FILE:LINE: KEY.
type origins map[string]string

// givenOrigins are those of the command line and the environment.
func givenOrigins(c *cli.Context) origins {
	o := origins{}
	for _, s := range Table {
		// An environment variable that is set to nothing sets nothing.
		if !c.IsSet(s.Name) || s.Kind == KindText && c.String(s.Name) == "" {
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

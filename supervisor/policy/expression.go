package policy

import (
	"regexp"
	"sync"
)

// expression is a regular expression that is compiled when it is first used: each start of the program would
// pay for it otherwise.
type expression struct{ compiled func() *regexp.Regexp }

func expr(text string) *expression {
	return &expression{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

func (e *expression) MatchString(s string) bool            { return e.compiled().MatchString(s) }
func (e *expression) FindString(s string) string           { return e.compiled().FindString(s) }
func (e *expression) FindStringSubmatch(s string) []string { return e.compiled().FindStringSubmatch(s) }

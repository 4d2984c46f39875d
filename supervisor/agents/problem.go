package agents

import (
	"errors"
	"fmt"
	"slices"
)

// Problem is a problem of a file, or a remark about it. A file with a problem that is not a warning is not
// used.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`  // counted from 1; 0: the file as a whole
	Field   string `json:"field,omitempty"` // of the front matter
	Text    string `json:"text"`            // what is wrong, and what is expected
	Warning bool   `json:"warning,omitempty"`
}

// Error is the problem as file:line: field: text.
func (p Problem) Error() string {
	where := p.File
	if p.Line > 0 {
		where = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	if p.Field != "" {
		where += ": " + p.Field
	}
	return where + ": " + p.Text
}

// Broken reports whether any of the problems prevents its file from being used.
func Broken(list []Problem) bool {
	return slices.ContainsFunc(list, func(p Problem) bool { return !p.Warning })
}

// joined is the problems that are not warnings, as one error.
func joined(list []Problem) error {
	var errs []error
	for _, p := range list {
		if !p.Warning {
			errs = append(errs, p)
		}
	}
	return errors.Join(errs...)
}

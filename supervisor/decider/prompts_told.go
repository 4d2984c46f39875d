package decider

import (
	"errors"
	"reflect"
	"regexp"
	"strings"
	"sync"
)

// Errors of text/template that can be made clearer for a template's author.
var (
	noMember = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`can't evaluate field (\S+) in type \S*?(\w+\.\w+)$`)
	})
	noValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`nil pointer evaluating \S*?\w+\.\w+\.(\w+)$`)
	})
)

// explained turns an error of text/template into one for the author of a template: it begins with file and line, and
// lists the existing members.
func explained(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: ")
	if m := noMember().FindStringSubmatchIndex(text); m != nil {
		name := text[m[2]:m[3]]
		if names := members()[text[m[4]:m[5]]]; names != "" {
			return errors.New(text[:m[0]] + "there is no " + name + " here, but " + names)
		}
	}
	if m := noValue().FindStringSubmatchIndex(text); m != nil {
		return errors.New(text[:m[0]] + "there may be nothing to have a " + text[m[2]:m[3]] +
			": put it into {{with …}} … {{end}}")
	}
	return errors.New(text)
}

// members are the names that templates can use, by the Go type that contains them.
var members = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	for _, data := range []any{selectData{}, evaluateData{}, briefData{}, stateData{}} {
		collect(reflect.TypeOf(data), found)
	}
	return found
})

// collect adds the members of a type and of all types within it.
func collect(t reflect.Type, found map[string]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || found[t.String()] != "" {
		return
	}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() {
			names = append(names, f.Name)
		}
	}
	found[t.String()] = strings.Join(names, ", ")
	for _, f := range reflect.VisibleFields(t) {
		collect(f.Type, found)
	}
}

package corpus

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// names maps names to the values that patterns remembered.
type names map[string]string

// matches reports whether got has all of want. What "$name" matched is remembered
// only if everything did.
func (n names) matches(want, got any) bool {
	bound := names{}
	if !n.match(want, got, bound) {
		return false
	}
	for k, v := range bound {
		n[k] = v
	}
	return true
}

func (n names) match(want, got any, bound names) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return false
		}
		for k, v := range w {
			have, ok := g[k]
			if !ok || !n.match(v, have, bound) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(w) != len(g) {
			return false
		}
		for i := range w {
			if !n.match(w[i], g[i], bound) {
				return false
			}
		}
		return true
	case string:
		return n.matchText(w, got, bound)
	}
	return reflect.DeepEqual(want, got)
}

func (n names) matchText(want string, got any, bound names) bool {
	if len(want) > 1 && want[0] == '/' && want[len(want)-1] == '/' {
		s, ok := got.(string)
		if n, number := got.(float64); number {
			s, ok = strconv.FormatFloat(n, 'f', -1, 64), true
		}
		return ok && regexp.MustCompile("(?s)"+want[1:len(want)-1]).MatchString(s)
	}
	if name, ok := strings.CutPrefix(want, "$"); ok {
		text, isText := got.(string)
		if !isText {
			raw, err := json.Marshal(got)
			if err != nil {
				return false
			}
			text = string(raw)
		}
		for _, known := range []names{n, bound} {
			if v, ok := known[name]; ok {
				return v == text
			}
		}
		bound[name] = text
		return true
	}
	return want == got
}

var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$[A-Za-z_][A-Za-z_0-9]*`)
})

// expand replaces names by the remembered values; unknown names stay.
func (n names) expand(s string) string {
	return reference().ReplaceAllStringFunc(s, func(ref string) string {
		if v, ok := n[ref[1:]]; ok {
			return v
		}
		return ref
	})
}

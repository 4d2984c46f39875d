package plain

import (
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestModelOutputIsPlainText: every event with any text in all of its fields is reported without characters
// that a terminal acts on, or that hide or reorder.
func TestModelOutputIsPlainText(t *testing.T) {
	testkit.WithoutRace(t)
	for i, c := range corpus.ModelOutput(t, "../..") {
		asciiOnly := i%4 == 3
		synctest.Test(t, func(t *testing.T) {
			s := play(t, &Frontend{Begin: true, Verbose: true, ASCII: asciiOnly, Name: func(string) string {
				return c.Text
			}}, newFake())
			defer s.end()
			printed := 0
			for j, b := range contract.Events() {
				if c.Large() && (i+j)%9 != 0 {
					continue
				}
				body := corpus.Filled(reflect.TypeOf(b), c.Text).Interface().(contract.Body)
				s.host.sink(time.Now(), contract.Event{ID: c.Text, Body: body})
				synctest.Wait()
				text := s.output()
				printed += len(text)
				for _, r := range text {
					if alien(r) || asciiOnly && r > '~' {
						t.Fatalf("%s: %s: said %U in %.300q", c.Name, b.EventName(), r, text)
					}
				}
			}
			if printed < 40 {
				t.Errorf("%s: %d bytes were told", c.Name, printed)
			}
		})
	}
}

// alien reports whether a terminal acts on a character, or a reader cannot see it.
func alien(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r == '\u200c' || r == '\u200d': // if they join visible characters
		return false
	case strings.ContainsRune("\u2028\u2029\u2060\ufeff\u00ad\u115f\u3164", r):
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Cs) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

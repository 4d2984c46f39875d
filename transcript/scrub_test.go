package transcript_test

import (
	"fmt"
	"regexp"
	"strings"
)

// scrubber replaces what is specific to a machine, and long texts of the CLI. It keeps the form of a
// transcript: references between records stay valid.
type scrubber struct {
	paths *strings.Replacer
	names map[string]string
}

var (
	scrubIDs  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|toolu_[0-9A-Za-z]+|msg_[0-9A-Za-z]+|req_[0-9A-Za-z]+|\ba[0-9a-f]{16}\b`)
	scrubLong = regexp.MustCompile(`"(?:[^"\\]|\\.){400,}"`)
	scrubHere = regexp.MustCompile(`"(osVersion|platform|hostname|slug|commit|pr)":"[^"]*"`)
)

func newScrubber(home, cwd string) *scrubber {
	return &scrubber{paths: strings.NewReplacer(cwd, "/w", home, "/home", munged(cwd), "-work", munged(home), "-home"),
		names: map[string]string{}}
}

// munged returns the name of a directory in the CLI's paths.
func munged(dir string) string {
	return strings.NewReplacer("/", "-", ".", "-", "_", "-").Replace(dir)
}

func (s *scrubber) scrub(text string) string {
	text = s.paths.Replace(text)
	text = scrubHere.ReplaceAllString(text, `"$1":"x"`)
	text = scrubLong.ReplaceAllStringFunc(text, func(long string) string {
		return fmt.Sprintf(`"[%d bytes]"`, len(long)-2)
	})
	return scrubIDs.ReplaceAllStringFunc(text, func(id string) string {
		if s.names[id] == "" {
			prefix, _, found := strings.Cut(id, "_")
			switch {
			case found:
				s.names[id] = fmt.Sprintf("%s_%08d", prefix, len(s.names)+1)
			case strings.Contains(id, "-"):
				s.names[id] = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(s.names)+1)
			default:
				s.names[id] = fmt.Sprintf("a%016d", len(s.names)+1)
			}
		}
		return s.names[id]
	})
}

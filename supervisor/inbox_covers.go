package supervisor

import (
	"slices"
)

// Covered lists the ids of the open permission requests with which a rule was offered: to allow the rule answers
// them all.
func Covered(s *State, rule string) []string {
	if s == nil {
		return nil
	}
	var ids []string
	for _, r := range s.OpenRequests() {
		if slices.Contains(r.Suggestions, rule) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

package input

import (
	"cmp"
	"slices"
)

// maxNamed bounds the files that a LastChange names.
const maxNamed = 3

// LastChange is the last change of some files. It is zero if it is not known.
type LastChange struct {
	Agent string
	Files []string // that it changed last, the newest change first
}

// ChangeForeign is a file that a merge wrote into the directory that agents share: the next snapshot shows it, but
// none of these agents has changed it.
type ChangeForeign struct {
	Path   string
	Serial int // of the last Record before the merge was known
}

// LastChange returns the last change of the files for which fits returns true.
func (s *ChangeState) LastChange(fits func(ChangeFile) bool) LastChange {
	if s.Pending() || len(s.Files) >= changeMaxFiles { // there may be a later one
		return LastChange{}
	}
	files := slices.DeleteFunc(slices.Clone(s.Files), func(f ChangeFile) bool { return f.Changed == 0 || !fits(f) })
	slices.SortStableFunc(files, func(a, b ChangeFile) int { return cmp.Compare(b.Changed, a.Changed) })
	var last LastChange
	for _, f := range files {
		if f.LastBy != files[0].LastBy || f.LastBy == "" || len(last.Files) == maxNamed {
			break
		}
		last.Agent, last.Files = f.LastBy, append(last.Files, f.Path)
	}
	return last
}

// Merged records that the work of an agent with its own directory is now where the run delivers it. An empty
// agent is unknown. shared: the files were written into the shared directory.
func (s *ChangeState) Merged(agent string, files []string, shared bool) {
	s.Changed++
	for _, p := range files {
		s.edit(p, func(f *ChangeFile) { f.LastBy, f.Changed = agent, s.Changed })
		if shared && len(s.Foreign) < changeMaxFiles {
			s.Foreign = append(slices.Clip(s.Foreign), ChangeForeign{p, s.Serial})
		}
	}
}

// takeForeign returns which files of a snapshot of the shared directory a merge wrote. It forgets files that no
// later snapshot can show.
func (s *ChangeState) takeForeign(serial int, paths []string) map[string]bool {
	seen := map[string]bool{}
	for _, f := range s.Foreign {
		if slices.Contains(paths, f.Path) {
			seen[f.Path] = true
		}
	}
	s.Foreign = slices.DeleteFunc(slices.Clone(s.Foreign), func(f ChangeForeign) bool {
		return seen[f.Path] || f.Serial < serial
	})
	return seen
}

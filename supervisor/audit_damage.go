package supervisor

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// JournalDamage describes the damage of a journal that a crash does not explain.
func JournalDamage(r journal.Recovery) []string {
	list := []string{}
	for _, d := range r.Damage {
		if d.Torn || d.Mended {
			continue
		}
		list = append(list, sanitize.Line(fmt.Sprintf("%s at %d: %s", d.Segment, d.Offset, d.Reason), 300))
	}
	return list
}

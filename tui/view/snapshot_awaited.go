package view

import (
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
)

// awaited returns for whom the run waits, and since when.
func awaited(s *supervisor.State, now time.Time) (who string, human bool, since time.Duration) {
	if over := s.Ending != nil; over {
		return "", false, 0
	}
	if list := Inbox(s); len(list) > 0 && !s.Halted {
		return "you", true, list[0].Age(now)
	}
	if s.Halted {
		return "", false, 0
	}
	var busy []string
	var first time.Time
	for i := range s.Agents {
		a := s.Agents[i]
		if a.Status != supervisor.AgentBusy && a.Status != supervisor.AgentStarting && a.Status != supervisor.AgentDown &&
			a.Status != supervisor.AgentRestarting {
			continue
		}
		if a.Role == supervisor.RoleArbiter && a.Status == supervisor.AgentStarting && s.Task.Text == "" {
			continue
		}
		if b := a.Waiting(); b != nil && b.Trouble() != "" {
			continue
		}
		busy = append(busy, SlashName(s, a.ID))
		if first.IsZero() || a.Since.Before(first) {
			first = a.Since
		}
	}
	switch len(busy) {
	case 0:
		return "", false, 0
	case 1, 2:
		who = strings.Join(busy, " and ")
	default:
		who = fmt.Sprintf("%s and %d more", busy[0], len(busy)-1)
	}
	return who, false, max(now.Sub(first), 0)
}

// NextFrame returns how soon the next frame of an animation is due; 0: nothing moves.
func NextFrame(s *supervisor.State, still bool) time.Duration {
	if s == nil || s.Ending != nil && s.Ending.Said {
		return 0
	}
	if _, human, _ := awaited(s, time.Now()); human || still {
		return time.Second // displayed times advance
	}
	for i := range s.Agents {
		if s.Agents[i].Status == supervisor.AgentBusy && s.Agents[i].Waiting() == nil { // a countdown ticks once a second
			return MotionFrame
		}
	}
	return time.Second
}

// MotionFrame is the time between two frames of the quiet animation. A frame of 200 by 50 cells costs about
// 4 ms of CPU time: with two per second, figures included, a waiting screen stays below 1 % of a processor.
const MotionFrame = 500 * time.Millisecond

// countdown describes how soon the next attempt is.
func countdown(b *supervisor.AgentBackoff, now time.Time) string {
	left := b.Until.Sub(now)
	if left <= 0 {
		return "trying again"
	}
	return "again in " + PageClock(left+time.Second-time.Nanosecond) // never 0:00
}

// Stalled returns the wait that ends first, if no agent works and the run waits only for the API.
func Stalled(s *supervisor.State) *supervisor.AgentBackoff {
	if who, _, _ := awaited(s, time.Time{}); who != "" || s.Ending != nil || s.Halted {
		return nil
	}
	var first *supervisor.AgentBackoff
	for i := range s.Agents {
		b := s.Agents[i].Waiting()
		if b != nil && b.Trouble() != "" && (first == nil || b.Until.Before(first.Until)) {
			first = b
		}
	}
	return first
}

// Inbox lists what waits for a person, oldest first; it is empty once the run ends.
func Inbox(s *supervisor.State) []supervisor.InboxItem {
	if s == nil || s.Ending != nil {
		return nil
	}
	return supervisor.Awaited(supervisor.InboxOf(s))
}

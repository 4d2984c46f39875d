package machine

import "testing"

func TestEveryLiveStateCanBeLeftForGood(t *testing.T) {
	for _, s := range live {
		for trigger, end := range map[Trigger]State{Completed: Complete, LimitReached: Complete, GiveUp: Failed, Cancel: Cancelled} {
			if !Could(s, trigger, end) {
				t.Errorf("%s has no move by %s to %s", s, trigger, end)
			}
		}
	}
}

func TestFinalStatesMoveOnlyByResetAndResume(t *testing.T) {
	for _, m := range older {
		for _, from := range m.From {
			if !from.Live() && m.Trigger != Reset && m.Trigger != Resume {
				t.Errorf("%s leaves the final state %s", m.Trigger, from)
			}
		}
	}
}

func TestEveryStateIsReachable(t *testing.T) {
	seen := map[State]bool{Idle: true}
	for range older {
		for _, m := range older {
			for _, from := range m.From {
				if !seen[from] {
					continue
				}
				for _, to := range m.To {
					seen[to] = true
				}
			}
		}
	}
	for _, s := range append(live, Complete, Failed, Cancelled) {
		if !seen[s] {
			t.Errorf("%s is never reached", s)
		}
	}
}

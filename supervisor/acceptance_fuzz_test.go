package supervisor

import (
	"encoding/json"
	"slices"
	"strconv"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// FuzzState calls random methods in random order. In every case, the Arbiter has weakened nothing, every
// accepted criterion was proven on the tree, no copy is changed, and a decoded state continues like the encoded
// one.
func FuzzState(f *testing.F) {
	f.Add([]byte("h1a2b1f0f0jb1f1f0j"))
	f.Add([]byte("h3b2f0a0f1jx1b2f0f0f0jd1q"))
	f.Add([]byte("\x00\xff\x80hh99"))
	f.Fuzz(func(t *testing.T, plan []byte) {
		var s AcceptanceState
		for i := 0; i+1 < len(plan) && i < 200; i += 2 {
			before, image := s, encodedAcceptance(t, s)
			human := s.ofHuman()
			act(t, &s, plan[i], int(plan[i+1]))
			if encodedAcceptance(t, before) != image {
				t.Fatalf("%q wrote to the copy before", plan[i])
			}
			if plan[i] == 'a' && !slices.Equal(human, s.ofHuman()) {
				t.Fatalf("the Arbiter made %+v of %+v", s.ofHuman(), human)
			}
			var back AcceptanceState
			if err := json.Unmarshal([]byte(encodedAcceptance(t, s)), &back); err != nil || encodedAcceptance(t, back) != encodedAcceptance(t, s) {
				t.Fatalf("%v: %+v is %+v once decoded", err, s, back)
			}
			s = back
		}
	})
}

func encodedAcceptance(t *testing.T, s AcceptanceState) string {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// act calls one method. Errors are valid answers.
func act(t *testing.T, s *AcceptanceState, what byte, n int) {
	trees := []string{"", "one", "two"}
	switch what {
	case 'h':
		_ = s.HumanSets(given(n))
	case 'x':
		_ = s.HumanAdds(given(n + 1)[n%2])
	case 'd':
		_ = s.HumanDrops(n % 5)
	case 'a':
		var list []AcceptanceGiven
		for _, c := range s.Criteria {
			if n%7 != 0 || c.By == contract.Arbiter {
				list = append(list, AcceptanceGiven{Text: c.Text, Command: c.Command})
			}
		}
		_ = s.ArbiterSets(append(list, given(n)...))
	case 'b':
		s.Begin(trees[n%3])
	case 'f':
		failed := ""
		if n%11 == 0 {
			failed = "out of time"
		}
		s.Finish(bridge.CheckResult{Exit: n % 3, Output: string(rune(n)) + "\xff"}, failed)
	case 'j':
		var tree string
		if s.Round != nil {
			tree = s.Round.Tree
		}
		criteria := s.Criteria
		if o, ok := s.Judge(); ok && o.Verdict == AcceptanceAccepted {
			accepted(t, s, criteria, tree)
		} else if ok && (o.Text == "" || o.Evidence == "" ||
			o.Verdict == AcceptanceExhausted != (s.Rejections >= MaxRejections)) {
			t.Fatalf("%+v after %d rejections", o, s.Rejections)
		}
	case 'q':
		s.AskHow()
		s.Rejections = 0
	case 't':
		s.BeginTask()
	}
}

// accepted fails unless every criterion with a command passed on the tree.
func accepted(t *testing.T, s *AcceptanceState, criteria []Criterion, tree string) {
	for i, e := range s.Events() {
		want := AcceptancePassed
		if criteria[i].Command == "" {
			want = AcceptanceUnproven
		}
		if e.Status != string(want) || want == AcceptancePassed && e.Tree != tree || e.ExitCode > 0 {
			t.Fatalf("accepted on %q with %+v", tree, e)
		}
	}
}

func given(n int) []AcceptanceGiven {
	list := []AcceptanceGiven{{Text: "t" + strconv.Itoa(n%4)}, {Text: "t" + strconv.Itoa(n%5), Command: "c" + strconv.Itoa(n%3)}}
	if n%13 == 0 {
		return append(list, AcceptanceGiven{Command: "\xff\x00"})
	}
	return list
}

package rehearsal

import (
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestPauseTakenBack: an answer is given again if none of it was sent; not if the part has continued after
// it.
func TestPauseTakenBack(t *testing.T) {
	sc, err := Parse("s.yaml", []byte("files: {a/b.txt: text}\nactors:\n  - name: a\n    match: {role: side}\n    "+
		"steps:\n"+
		"      - {say: one, pause: 1h}\n      - {say: two}\n      - {say: three}\n"))
	testkit.OK(t, err)
	testkit.Same(t, "files", map[string]string{"a/b.txt": "text"}, sc.Files)
	s := newStage(sc, nil)
	ask := func() cue { // outside of the history, which would show what arrived
		return s.play(&call{session: "s", role: RoleSide, incoming: "go on"})
	}
	textOfCue := func(q cue) string { return q.reply.blocks[0].Text }
	first := ask()
	testkit.Need(t, textOfCue(first) == "one" && first.reply.pause != 0, "the first answer is %+v", first.reply)
	s.takeBack(first)
	again := ask()
	testkit.Same(t, "after it was taken back", "one", textOfCue(again))
	testkit.Same(t, "then", "two", textOfCue(ask()))
	s.takeBack(again)
	testkit.Same(t, "the part has gone on, and says", "three", textOfCue(ask()))
}

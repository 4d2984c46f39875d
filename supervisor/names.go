package supervisor

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// idFor derives an id from the run's own, so that folding the same facts again
// gives the same ids.
func idFor(run, what string) string {
	space, err := uuid.Parse(run)
	if err != nil {
		space = uuid.NewSHA1(uuid.NameSpaceOID, []byte(run))
	}
	return uuid.NewSHA1(space, []byte(what)).String()
}

func (st *step) newMessageID() string {
	st.MessageCount++
	return idFor(st.Options.Run, fmt.Sprintf("message/%d%s", st.MessageCount, st.MessageSalt))
}

func (st *step) sessionID(agent string, generation int) string {
	return idFor(st.Options.Run, fmt.Sprintf("session/%s/%d%s", agent, generation, st.MessageSalt))
}

// displayName is how a party is called in prose.
func (s *State) displayName(id string) string {
	switch id {
	case contract.Arbiter:
		return "the Arbiter"
	case contract.Human:
		return "the human"
	case contract.Supervisor:
		return "the supervisor"
	}
	if a, ok := s.Agent(id); ok {
		return a.Name
	}
	return id
}

// nothing stands for an empty text in what a model reads.
const nothing = "(nothing)"

package supervisor

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// Kinds of messages, the second word of an envelope's first line.
const (
	KindTask         = "task"         // the human's first word
	KindMessage      = "message"      // a word outside of any work
	KindAnswer       = "answer"       // to a question
	KindInterjection = "interjection" // a human's word while Orchestrators work
	KindBrief        = "brief"        // what an Orchestrator is summoned for
	KindInstruction  = "instruction"  // the Arbiter's word to one that did not ask
	KindRetry        = "retry"
	KindReport       = "report" // the Arbiter's word to the human while work goes on
	KindQuestion     = "question"
	KindContinue     = "continue"
	KindCorrection   = "correction"
	KindNotice       = "notice"
	KindRelief       = "relief"  // hand off: the context is at its end
	KindRenewal      = "renewal" // the same for the Arbiter
	KindComplete     = "complete"
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

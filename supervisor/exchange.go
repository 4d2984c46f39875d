package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// exchange counts a message between agents, and stops talk that no human hears.
func (st *step) exchange() {
	st.Conversation.Exchanges++
	limit := st.Options.MaxExchanges
	switch {
	case st.Conversation.ExchangeLimitHits == 0 && st.Conversation.Exchanges >= limit:
		st.Conversation.ExchangeLimitHits = 1
		st.tell(contract.Arbiter, conversation.KindNotice, words.Count(st.Conversation.Exchanges, "message")+
			" passed between you and the Orchestrators without a human. Judge whether the work truly advances. If it does not, COMPLETE with what there is, or ADDRESS_HUMAN.")
	case st.Conversation.ExchangeLimitHits == 1 && st.Conversation.Exchanges >= limit+limit/2+1:
		st.Conversation.ExchangeLimitHits = 2
		if !st.HumanPresent {
			st.limitReached("the agents exchanged " + words.Count(st.Conversation.Exchanges, "message") + " and no human is present")
			return
		}
		st.Conversation.Held = true
		st.ask("The agents have exchanged " + words.Count(st.Conversation.Exchanges, "message") + " without you. Speak, and they go on.")
	}
}

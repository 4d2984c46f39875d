package supervisor

import (
	"github.com/arbiter-cli/arbiter/supervisor/delivery"
	"github.com/arbiter-cli/arbiter/supervisor/process"
)

// What parts of the state that have packages of their own need in a step.

// mail returns what delivers messages in this step. It is up to date for one call only.
func (st *step) mail() *delivery.Context {
	return &delivery.Context{Standing: st.standing(), Rulings: &st.Rulings, Out: &st.out, Senders: st.Senders(),
		Closed: st.Ending != nil, QuestionOpen: st.Question.Open != nil}
}

// processes returns what starts, stops and watches processes in this step. It is up to date for one call only.
func (st *step) processes() *process.Context {
	return &process.Context{
		Context: st.mail(), Lifecycle: &st.Lifecycle, Permission: &st.Permission, Question: &st.Question,
		Renewal: &st.Renewal, Budget: &st.Budget, Halted: st.Halted, Ordered: st.ordered, Channel: st.channel,
		TrustOptions: st.TrustOptions(),
	}
}

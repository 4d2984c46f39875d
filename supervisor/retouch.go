package supervisor

import "github.com/arbiter-cli/arbiter/supervisor/contract"

// editMessage changes a word of the human's that was not sent yet.
func (st *step) editMessage(ref string, c contract.EditMessage) {
	st.reject(ref, "there is no message %q that waits", c.MessageID)
}

// withdrawMessage takes one back.
func (st *step) withdrawMessage(ref string, c contract.WithdrawMessage) {
	st.reject(ref, "there is no message %q that waits", c.MessageID)
}

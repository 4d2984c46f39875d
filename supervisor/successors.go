package supervisor

// cancelSuccession: one that was given up comes back, and nobody succeeds it.
func (st *step) cancelSuccession(id string) {
	for _, serial := range st.Handoff.CancelSuccession(id) {
		st.out.StopTimer(handoverKey(serial))
	}
}

package supervisor

// attach hands an agent's session to the human.
func (st *step) attach(ref, id string) { st.reject(ref, "%s cannot be attached to", id) }

// detach gives it back.
func (st *step) detach(ref, id string) { st.reject(ref, "%s is not attached", id) }

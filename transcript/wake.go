package transcript

// Waker says when to look. That it does is a hint and no more: it may come for
// nothing, and what happened before the look is found by the look.
type Waker interface {
	// Wake returns a channel that yields a value when it is worth a look. It is the
	// same channel each time, and never closed. One follower receives from it.
	Wake() <-chan struct{}
}

// Bell is a Waker that is rung by hand. Ringing an unanswered bell again changes
// nothing, so that however much happens there is one look to come.
type Bell chan struct{}

// NewBell returns a silent bell.
func NewBell() Bell { return make(Bell, 1) }

// Ring never blocks. Anybody may call it.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// Wake implements [Waker].
func (b Bell) Wake() <-chan struct{} { return b }

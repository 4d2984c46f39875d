package transcript

// Waker says when to look at a file. A wake is only a hint: it may come without a change, and a look finds
// everything that happened before it.
type Waker interface {
	// Wake returns a channel that yields a value when a look may be worthwhile. It is the same channel each
	// time, and is never closed. Only one follower receives from it.
	Wake() <-chan struct{}
}

// Bell is a Waker that is rung by calls. Ringing a bell again before it was received changes nothing, so that
// any number of rings leads to one look.
type Bell chan struct{}

// NewBell returns a silent bell.
func NewBell() Bell { return make(Bell, 1) }

// Ring never blocks. It is safe for concurrent use.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default:
	}
}

// Wake implements [Waker].
func (b Bell) Wake() <-chan struct{} { return b }

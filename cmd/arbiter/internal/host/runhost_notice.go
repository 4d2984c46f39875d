package host

import (
	"fmt"
	"sync"
)

// notice collects what the human should know before the run continues.
type notice struct {
	mu   sync.Mutex
	text string
}

func (n *notice) add(format string, args ...any) { n.append("; ", fmt.Sprintf(format, args...)) }

func (n *notice) append(separator, text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.text != "" {
		n.text += separator
	}
	n.text += text
}

// String returns everything that was added.
func (n *notice) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text
}

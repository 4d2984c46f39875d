package journal

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain plays a child where a test asks for one, and else looks for goroutines
// that outlive their test.
func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		os.Exit(playChild(role))
	}
	goleak.VerifyTestMain(m)
}

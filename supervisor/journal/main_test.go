package journal

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs a child's role if a test asks for one; otherwise it runs the tests, and looks for goroutines
// that outlive their test.
func TestMain(m *testing.M) {
	if role := os.Getenv(childRole); role != "" {
		os.Exit(playChild(role))
	}
	goleak.VerifyTestMain(m)
}

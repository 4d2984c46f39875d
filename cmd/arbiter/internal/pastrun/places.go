package pastrun

import (
	"os"

	"github.com/arbiter-cli/arbiter/bridge/childenv"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// ImagesDir is the directory in a run's own that holds the images of its messages.
const ImagesDir = "images"

// ClaudeConfig is where the agents of a run keep their sessions.
func ClaudeConfig(o runconfig.Options) string {
	var environ []string
	for _, name := range []string{"CLAUDE_CONFIG_DIR", "HOME"} {
		if value, ok := o.Env[name]; ok {
			environ = append(environ, name+"="+value)
		}
	}
	return childenv.ConfigDir(append(environ, os.Environ()...), o.CWD)
}

package host

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// windowsName is the file of the state directory with what models have refused as too long: how many tokens each takes
// at most. It may be removed: later runs learn the limits again.
const windowsName = "windows.json"

// windows is that file.
type windows struct {
	V       int            `json:"v"`
	Windows map[string]int `json:"windows"` // by the name of the model
}

// readWindows reads what earlier runs have learned about models.
func readWindows(d *statedir.Dir) (windows, error) {
	w := windows{V: 1}
	_, problem, err := d.ReadJSON(windowsName, 1<<20, w.V, &w)
	if problem != "" {
		err = fmt.Errorf("%s cannot be used: %s; remove it", d.Path(windowsName), problem)
	}
	return w, err
}

// keepWindow keeps what a run has learned for later runs.
func keepWindow(stateDir, model string, tokens int) error {
	d, err := statedir.Open(stateDir)
	if err != nil {
		return err
	}
	defer d.Close()
	unlock, err := d.Lock(windowsName+".lock", 5*time.Second)
	if err != nil {
		return err
	}
	defer unlock()
	w, err := readWindows(d)
	if err != nil {
		return err
	}
	if w.Windows == nil {
		w.Windows = map[string]int{}
	}
	w.Windows[model] = tokens
	raw, err := json.Marshal(w)
	if err != nil {
		return err
	}
	return d.Replace(windowsName, raw)
}

// withWindows adds to the options of a run what earlier runs have learned, except about models for which the human has
// given a limit.
func withWindows(o *runconfig.Options, stateDir string) error {
	d, err := statedir.Open(stateDir)
	if err != nil {
		return err
	}
	defer d.Close()
	w, err := readWindows(d)
	if err != nil || len(w.Windows) == 0 {
		return err
	}
	caps := maps.Clone(o.ContextTokensFor)
	if caps == nil {
		caps = map[string]int{}
	}
	for model, tokens := range w.Windows {
		given := false
		for prefix := range o.ContextTokensFor {
			given = given || strings.HasPrefix(model, prefix)
		}
		if !given && tokens > 0 {
			caps[model] = tokens
		}
	}
	o.ContextTokensFor = caps
	return nil
}

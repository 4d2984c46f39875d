package settings

import (
	"reflect"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestEverySettingIsInOneGroup: a setting is either an option of the run, or concerns only this start of the
// program. An option that is given again at a resume replaces the old value.
func TestEverySettingIsInOneGroup(t *testing.T) {
	start := []string{ // of this start, of the screen, or handled separately: see Over and ResumeSandbox
		"json", "task", "task-from", "resume", "session", "cwd", "claude", "i-accept-the-risk", "sandbox", "sandbox-write",
		"sandbox-hide", "network", "allow-host", "trust", "pid-namespace", "share-workspace",
		"plain", "theme", "ascii", "ritual", "sound",
		"reduced-motion",
		"no-mouse", "notify", "on-hangup",
		"hosts", "resume-or-begin", "detach", "no-input", "rehearse", "scenario", "stand-in", "state-dir", "config", "debug",
		"max-journal",
	}
	for _, s := range Table {
		if at, isOption := optionOf[s.Name], slices.Contains(start, s.Name); (at != nil) == isOption {
			t.Errorf("%s: is it an option of the run (options.go), or of this start alone?", s.Name)
		}
	}
	for name, at := range optionOf {
		if !slices.ContainsFunc(Table, func(s Setting) bool { return s.Name == name }) {
			t.Errorf("there is no setting %s", name)
		}
		var old, now runconfig.Options
		v := reflect.ValueOf(at(&now)).Elem()
		switch v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(7)
		case reflect.Float64:
			v.SetFloat(7)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
		default:
			t.Fatalf("%s is a %s", name, v.Kind())
		}
		want := old
		if takeOver(&old, &now, map[string]bool{}); !reflect.DeepEqual(old, want) {
			t.Errorf("%s is taken over, and was not named", name)
		}
		if takeOver(&old, &now, map[string]bool{name: true}); !reflect.DeepEqual(old, now) {
			t.Errorf("%s is not taken over", name)
		}
	}
}

package settings

import (
	"slices"
	"strings"
	"testing"
)

func TestUnknownVariables(t *testing.T) {
	environ := []string{"ARBITER_MODEL=x", "ARBITER_RUN=r", "ARBITER_TEST_PART=x", "ARBITER_EMPTY=", "HOME=/h",
		"ARBITER_MODLE=y", "ARBITER_MAXCOST=5", "ARBITER_=1", "ARBITERED=1"}
	if got := UnknownVariables(environ); !slices.Equal(got, []string{"ARBITER_", "ARBITER_MAXCOST", "ARBITER_MODLE"}) {
		t.Errorf("unknown: %q", got)
	}
	for entry, want := range map[string]string{
		"ARBITER_MAXCOST=5":                "$ARBITER_MAXCOST: no setting has this name; did you mean ARBITER_MAX_COST?",
		"ARBITER_NOTHING_LIKE_A_SETTING=1": `no setting has this name; correct it, or unset it`,
		"ARBITER_BUDGETS=1":                "$ARBITER_BUDGETS: no setting",
		"ARBITER_MAX_COST=5":               "",
	} {
		err := CheckVariables([]string{entry})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", entry, err, want)
		}
	}
}

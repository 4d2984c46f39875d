package settings

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/sanitize"
)

// TestSecretsOfTheEnvironment: the record of --env has the names of secrets but not the values. Processes get the
// values nevertheless, and a later process reports which ones it does not have.
func TestSecretsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	given := map[string]string{"DEPLOY_TOKEN": "tapestry-of-4711-looms", "PLAIN": "x",
		"KEY_OF_A": "sk-ant-" + strings.Repeat("a1", 20)}
	kept := WithoutSecrets(given)
	if len(kept) != 3 || kept["PLAIN"] != "x" || !sanitize.IsMark(kept["DEPLOY_TOKEN"]) ||
		!sanitize.IsMark(kept["KEY_OF_A"]) || given["DEPLOY_TOKEN"] != "tapestry-of-4711-looms" {
		t.Errorf("kept %v of %v", kept, given)
	}
	if got := RevealedSecrets(kept, given); fmt.Sprint(got) != fmt.Sprint(given) {
		t.Errorf("processes get %v", got)
	}
	if got := RevealedSecrets(kept, nil); fmt.Sprint(got) != "map[PLAIN:x]" {
		t.Errorf("without them, processes get %v", got)
	}
	if left, names := ForgottenSecrets(kept); fmt.Sprint(left, names) != "map[PLAIN:x] [DEPLOY_TOKEN KEY_OF_A]" {
		t.Errorf("later %v, %v", left, names)
	}
	if left, names := ForgottenSecrets(map[string]string{"A": "b"}); len(left) != 1 || names != nil {
		t.Errorf("later %v, %v", left, names)
	}
	mask := SecretMasker([]map[string]string{given})
	if got := mask("it is " + "tapestry-of-4711-looms" + "."); got != "it is *redacted:22*." || mask(got) != got {
		t.Errorf("masked: %s", got)
	}
}

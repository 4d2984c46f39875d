package rehearsal

import (
	"net/http"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// FuzzReadCall: every posted body is either understood or refused.
func FuzzReadCall(f *testing.F) {
	f.Add([]byte(`{"model":"m","messages":[{"role":"user","content":"x"}]}`))
	f.Add([]byte(`{"model":"m","system":null,"tools":[{"name":"Bash"}],"messages":[{"role":"user","content":[{"type":"tool_result","content":null}]},{"role":"assistant","content":[]}]}`))
	f.Add([]byte(`{"model":"m","metadata":{"user_id":"{\"session_id\":3}"},"messages":[{"content":[{"type":"document","content":3}]}],"output_config":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := readCall("/v1/messages", http.Header{}, body)
		if err != nil {
			return
		}
		testkit.Check(t, c.asideAnswer() != "" && c.role != "" && c.role != RoleAny, "call %+v", c)
	})
}

func TestIsFiller(t *testing.T) {
	c, err := readCall("/v1/messages", http.Header{}, []byte(`{"model":"m","messages":[{"role":"user","content":"one"},
{"role":"assistant","content":[{"type":"text","text":"No response requested."}]},{"role":"user","content":"two"}]}`))
	testkit.OK(t, err)
	testkit.Check(t, len(c.history) == 0 && c.incoming == "one\ntwo" && c.firstText == "one",
		"history %v, incoming %q, first %q", c.history, c.incoming, c.firstText)
}

package decider

import (
	"encoding/json"
	"fmt"
	"strings"
)

const schemaFormat = `{
 "type": "object",
 "properties": {
  "decision": {"type": "string", "enum": ["%s"], "description": "What happens next."},
  "mode": {"type": "string", "description": "The name of the agent that works next, one of those listed; with SELECT_MODE."},
  "reason": {"type": "string", "description": "Why, in one or two sentences that name the facts."},
  "message": {"type": "string", "description": "What the agent is told: its brief, or what to do differently."},
  "summary": {"type": "string", "description": "What was reached; with COMPLETE."}
 },
 "required": ["decision", "reason"],
 "additionalProperties": false
}`

// schema is the JSON Schema of the answer at a point; nil if nothing is decided there. It is one flat object:
// the API refuses oneOf, anyOf and allOf at the top. parseDecision checks what depends on another field.
func schema(p DecisionPoint) json.RawMessage {
	may := kinds(p)
	if may == nil {
		return nil
	}
	return json.RawMessage(fmt.Sprintf(schemaFormat, strings.Join(may, `", "`)))
}

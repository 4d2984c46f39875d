package runconfig

// Provider is the model API that a stateless or hybrid decider asks. The zero Provider is Claude Code.
type Provider struct {
	Name      string `json:",omitempty"` // claude (or empty), openai, anthropic
	BaseURL   string `json:",omitempty"` // empty: the provider's own
	KeyEnv    string `json:",omitempty"` // the variable that contains the key; its value is never recorded
	MaxTokens int    `json:",omitempty"` // of an answer; 0: the default
	// Temperature of the model; nil: the model's own.
	Temperature *float64 `json:",omitempty"`
}

// ProviderClaude runs Claude Code once per question. The names of other providers are those of package
// modelapi.
const ProviderClaude = "claude"

// OverHTTP reports whether it is asked over HTTP, not through Claude Code.
func (p Provider) OverHTTP() bool { return p.Name != "" && p.Name != ProviderClaude }

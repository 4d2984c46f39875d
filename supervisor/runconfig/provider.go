package runconfig

// Provider says whom a stateless or hybrid decider asks. The zero Provider is Claude Code.
type Provider struct {
	Name      string `json:",omitempty"` // claude (or empty), openai, anthropic
	BaseURL   string `json:",omitempty"` // empty: the provider's own
	KeyEnv    string `json:",omitempty"` // the variable that holds the key; its value is never recorded
	MaxTokens int    `json:",omitempty"` // of an answer; 0: the default
	// Temperature of the model; nil: the model's own.
	Temperature *float64 `json:",omitempty"`
}

// ProviderClaude asks by a one-shot of Claude Code. The names of others are those of package modelapi.
const ProviderClaude = "claude"

// OverHTTP reports whether it is asked over HTTP, and not by Claude Code.
func (p Provider) OverHTTP() bool { return p.Name != "" && p.Name != ProviderClaude }

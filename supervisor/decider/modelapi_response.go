package decider

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// chatResponse is the part of a chat.completion that is read.
type chatResponse struct {
	Model   string `json:"model"`
	Choices []struct {
		FinishReason string `json:"finish_reason"`
		Message      struct {
			Content text   `json:"content"`
			Refusal string `json:"refusal"`
		} `json:"message"`
	} `json:"choices"`
	Usage struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"` // some gateways answer 200 with an error
}

// messagesResponse is the part of a message that is read.
type messagesResponse struct {
	Model      string          `json:"model"`
	StopReason string          `json:"stop_reason"`
	Content    text            `json:"content"`
	Error      json.RawMessage `json:"error"`
	Usage      struct {
		Input         int `json:"input_tokens"`
		Output        int `json:"output_tokens"`
		CacheRead     int `json:"cache_read_input_tokens"`
		CacheCreation int `json:"cache_creation_input_tokens"`
	} `json:"usage"`
}

// text is a text, or a list of parts; only those of type text count.
type text string

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(raw []byte) error {
	if len(raw) == 0 || raw[0] != '[' {
		var s *string
		if err := json.Unmarshal(raw, &s); err != nil {
			return err
		}
		if s != nil {
			*t = text(*s)
		}
		return nil
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	var b strings.Builder
	for _, p := range parts {
		if p.Type == "text" {
			b.WriteString(p.Text)
		}
	}
	*t = text(b.String())
	return nil
}

// read turns the body of a response into an answer.
func (c *APIClient) read(body []byte, header http.Header) (Answer, error) {
	var a Answer
	var stop, refusal string
	var failure json.RawMessage
	var err error
	if c.config.Provider == OpenAI {
		var r chatResponse
		if err = json.Unmarshal(body, &r); err == nil {
			failure, a.Model = r.Error, r.Model
			a.Usage = Usage{Input: r.Usage.Prompt - r.Usage.Details.Cached, Output: r.Usage.Completion,
				CacheRead: r.Usage.Details.Cached}
			if len(r.Choices) > 0 {
				first := r.Choices[0]
				a.Text, stop, refusal = string(first.Message.Content), first.FinishReason, first.Message.Refusal
			}
		}
	} else {
		var r messagesResponse
		if err = json.Unmarshal(body, &r); err == nil {
			failure, a.Model, stop, a.Text = r.Error, r.Model, r.StopReason, string(r.Content)
			a.Usage = Usage{Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead,
				CacheCreation: r.Usage.CacheCreation}
		}
	}
	a.Usage = nonNegative(a.Usage)
	a.Text, a.Model = c.config.Key.mask(a.Text), c.config.Key.mask(clipAPI(a.Model, 200))
	if a.Model == "" {
		a.Model = c.config.Model
	}
	switch {
	case err != nil:
		return Answer{}, c.failed(&APIError{status: http.StatusOK, kind: serverKind,
			what: "the answer is not what this API answers" + kindOf(header, body),
			hint: "check --decider-base-url and --decider-provider"})
	case len(failure) > 0 && string(failure) != "null":
		return a, c.failed(&APIError{status: http.StatusOK, kind: serverKind, what: c.errorText(body)})
	case refusal != "":
		return a, c.failed(&APIError{status: http.StatusOK, kind: refusedKind,
			what: "the model refused: " + c.shown(refusal)})
	case stop == "refusal" || stop == "content_filter":
		return a, c.failed(&APIError{status: http.StatusOK, kind: refusedKind, what: "the model refused to answer"})
	case a.Text == "" && stop == "" && a.Usage == (Usage{}):
		return Answer{}, c.failed(&APIError{status: http.StatusOK, kind: serverKind,
			what: "the answer contains no text" + kindOf(header, body),
			hint: "check --decider-base-url and --decider-provider"})
	case stop == "length" || stop == "max_tokens":
		limit := c.config.MaxTokens
		if limit <= 0 {
			limit = DefaultMaxTokens
		}
		a.Problem = fmt.Sprintf("it was cut off at the limit of %d tokens (--decider-max-tokens): be brief.", limit)
	}
	return a, nil
}

func nonNegative(u Usage) Usage {
	u.Input, u.Output = max(u.Input, 0), max(u.Output, 0)
	u.CacheRead, u.CacheCreation = max(u.CacheRead, 0), max(u.CacheCreation, 0)
	return u
}

// kindOf describes an unexpected body.
func kindOf(header http.Header, body []byte) string {
	if len(body) == 0 {
		return ": it is empty"
	}
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil || kind == "application/json" {
		return ""
	}
	return ": it is " + clipAPI(kind, 60)
}

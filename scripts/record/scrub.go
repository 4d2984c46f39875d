package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// ids are renamed in the order in which they appear, so that references between them stay valid.
var ids = regexp.MustCompile(
	`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|toolu_[0-9A-Za-z]+|msg_[0-9A-Za-z]+|req_[0-9A-Za-z]+`)

// fixed are figures and paths that do not concern the protocol.
var fixed = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "2026-01-01T00:00:00.000Z"},
	{regexp.MustCompile(`/[^" ]*arbiter-rehearsal-\d+`), "/rehearsal"},
	{regexp.MustCompile(`-[-a-zA-Z0-9]*arbiter-rehearsal-\d+`), "-rehearsal"},
	{regexp.MustCompile(
		`("(?:duration_ms|duration_api_ms|ttft_ms|total_cost_usd|costUSD|pid|cost_usd|time_to_request_ms|[a-z_]*_ms)"):[0-9.e-]+`), "$1:0"},
	{regexp.MustCompile(`"messaging_socket_path":"[^"]*"`), `"messaging_socket_path":"/socket"`},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:1"},
	{regexp.MustCompile(`⟦[a-z2-7]{16} `), "⟦delimiter "},
}

func scrub(text, dir string) string {
	text = strings.ReplaceAll(text, dir, "/record")
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if strings.Contains(line, `"type":"control_response"`) && len(line) > 2000 {
			lines[i] = trimAnswer(line)
		}
	}
	text = strings.Join(lines, "")
	for _, f := range fixed {
		text = f.pattern.ReplaceAllString(text, f.with)
	}
	names := map[string]string{}
	return ids.ReplaceAllStringFunc(text, func(id string) string {
		if names[id] == "" {
			prefix, _, found := strings.Cut(id, "_")
			if found {
				names[id] = fmt.Sprintf("%s_%08d", prefix, len(names)+1)
			} else {
				names[id] = fmt.Sprintf("00000000-0000-4000-8000-%012d", len(names)+1)
			}
		}
		return names[id]
	})
}

// trimAnswer keeps of a long answer (to initialize, to get_context_usage) what a
// driver may look at: its lists are the CLI's own prose about commands, agents,
// models and categories.
func trimAnswer(line string) string {
	mark, raw, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	var frame struct {
		Type     string `json:"type"`
		Response struct {
			Subtype   string         `json:"subtype"`
			RequestID string         `json:"request_id"`
			Response  map[string]any `json:"response"`
		} `json:"response"`
	}
	if json.Unmarshal([]byte(raw), &frame) != nil || frame.Response.Response == nil {
		return line
	}
	for name, value := range frame.Response.Response {
		switch value.(type) {
		case []any:
			if name != "capabilities" {
				frame.Response.Response[name] = []any{}
			}
		case map[string]any:
			if name != "mcp_response" && name != "apiUsage" {
				frame.Response.Response[name] = map[string]any{}
			}
		}
	}
	trimmed, err := json.Marshal(frame)
	if err != nil {
		return line
	}
	return mark + " " + string(trimmed) + "\n"
}

package bridge

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestElicitationContent: a human's words become the fields that an MCP server asks for, or an error that names them.
func TestElicitationContent(t *testing.T) {
	const two = `{"type":"object","properties":{"region":{"type":"string","enum":["eu","us"]},` +
		`"nodes":{"type":"integer","default":3}},"required":["region"]}`
	one := func(kind string) string {
		return `{"type":"object","properties":{"it":{"type":"` + kind + `"}},"required":["it"]}`
	}
	for _, c := range []struct{ schema, said, want, wrong string }{
		{"", "", `{}`, ""},
		{"", "well", "", "consent alone"},
		{one("string"), "12", `{"it":"12"}`, ""},
		{one("string"), `{"it":"a"}`, `{"it":"a"}`, ""},
		{one("integer"), "12", `{"it":12}`, ""},
		{one("boolean"), "Yes", `{"it":true}`, ""},
		{one("boolean"), "perhaps", "", "it (boolean)"},
		{one("string"), "", "", "it (string)"},
		{two, `{"region":"eu"}`, `{"nodes":3,"region":"eu"}`, ""},
		{two, `{"region":"mars"}`, "", "a JSON object with nodes (integer, optional), region (string, one of [eu us])"},
		{two, "eu", "", "is not a JSON object"},
		{two, `{"region"`, "", "region"},
		{`{"type":`, "x", "", "deny the request"},
	} {
		got, err := Elicitation{Schema: json.RawMessage(c.schema)}.Content(c.said)
		if string(got) != c.want || (err != nil) != (c.wrong != "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s, %q: %s, %v; want %s, %q", c.schema, c.said, got, err, c.want, c.wrong)
		}
	}
}

package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// PricesOf is the month of the list prices in the table of models.
const PricesOf = "2026-10"

// ModelTitle is the title of a list of models.
const ModelTitle = "Model: $/M tokens, prices of " + PricesOf

// ModelInfo is a model that can be chosen. Unknown values are zero, and shown as unknown.
type ModelInfo struct {
	Name     string
	In, Out  float64 // list price in US dollars of a million tokens, as of PricesOf
	From     bool    // In and Out are those of short prompts; long ones cost more
	Window   int     // tokens
	Reported bool    // by Claude Code in this run: window and cost
	CostUSD  float64 // in this run
	Chosen   bool    // an agent of the run has it
}

// listed are models with public list prices, and the names that Claude Code resolves itself. Other names
// work too, but nothing is known of them. The prices are from the page of each model in the documentation
// of the Claude API, platform.claude.com/docs/en/models/NAME/overview, read in November 2026; those of 4.5
// models are older.
var listed = []ModelInfo{
	{Name: "opus"}, {Name: "sonnet"}, {Name: "haiku"},
	{Name: "claude-fable-5-1", In: 10, Out: 50}, {Name: "claude-opus-5-5", In: 4, Out: 20},
	{Name: "claude-sonnet-5-5", In: 2, Out: 10}, {Name: "claude-haiku-5-5", In: 0.1, Out: 0.5, From: true},
	{Name: "claude-opus-5", In: 5, Out: 25}, {Name: "claude-sonnet-5", In: 2, Out: 10},
	{Name: "claude-opus-4-5", In: 5, Out: 25}, {Name: "claude-sonnet-4-5", In: 3, Out: 15},
	{Name: "claude-haiku-4-5", In: 1, Out: 5},
}

// SnapshotModels lists the models that can be chosen: those of the run first, with what Claude Code reported about
// them. used is what each has cost so far.
func SnapshotModels(s *supervisor.State, used []contract.ModelCost) []ModelInfo {
	var list []ModelInfo
	at := func(name string) *ModelInfo {
		i := slices.IndexFunc(list, func(m ModelInfo) bool { return m.Name == name })
		if i < 0 {
			i = len(list)
			m := ModelInfo{Name: name}
			for _, known := range listed {
				if known.Name == name || known.In > 0 && strings.HasPrefix(name, known.Name+"-20") { // with its date
					m.In, m.Out, m.From = known.In, known.Out, known.From
				}
			}
			list = append(list, m)
		}
		return &list[i]
	}
	for _, u := range used {
		m := at(SlashWord(u.Model))
		m.Reported, m.Window, m.CostUSD = true, max(m.Window, u.Window), m.CostUSD+u.CostUSD
	}
	if s != nil {
		for _, a := range s.Agents {
			if name := SlashWord(SnapshotModel(s, a)); name != "" && a.Alive() {
				at(name).Chosen = true
			}
		}
	}
	for _, known := range listed {
		at(known.Name)
	}
	return list
}

// About describes a model in a line: price, window, and what it cost in this run.
func (m ModelInfo) About() string {
	var parts []string
	price := "price unknown"
	if m.In > 0 {
		price = fmt.Sprintf("$%s in, $%s out", dollars(m.In), dollars(m.Out))
		if m.From {
			price = "from " + price
		}
	}
	parts = append(parts, price)
	if m.Window > 0 {
		parts = append(parts, windowText(m.Window)+" window")
	} else {
		parts = append(parts, "window unknown")
	}
	if m.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.2f here", m.CostUSD))
	}
	if m.Chosen {
		parts = append(parts, "in use")
	}
	return strings.Join(parts, "; ")
}

func dollars(usd float64) string { return strings.TrimSuffix(fmt.Sprintf("%.2f", usd), ".00") }

// windowText abbreviates a number of tokens: 200k, 1M.
func windowText(tokens int) string {
	if tokens >= 1_000_000 && tokens%100_000 == 0 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(tokens)/1e6), ".0") + "M"
	}
	return fmt.Sprintf("%dk", tokens/1000)
}

// PriceNote names the sources of the figures of [SnapshotModels].
const PriceNote = "List prices of a million tokens, " + PricesOf +
	"; windows and costs as Claude Code reported them in this run."

// ModelsText lists the models in words.
func ModelsText(s *supervisor.State, used []contract.ModelCost) string {
	var b strings.Builder
	for _, m := range SnapshotModels(s, used) {
		fmt.Fprintf(&b, "%s: %s\n", m.Name, m.About())
	}
	return b.String() + PriceNote + " /model NAME changes the model of all agents, /model NAME AGENT of one; any " +
		"other name that Claude Code knows works, too."
}

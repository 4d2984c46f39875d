package tui

import (
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// models returns the models that can be chosen, with what is known about them.
func (cs *commands) models() []view.ModelInfo {
	return view.SnapshotModels(cs.d.session.state, cs.d.f.activity.Models())
}

func (cs *commands) modelCandidates() []view.Candidate {
	var list []view.Candidate
	for _, m := range cs.models() {
		list = append(list, view.Candidate{Text: m.Name, Note: m.About()})
	}
	return list
}

// chooseModel opens the list of models for an agent; an empty id stands for all.
func (cs *commands) chooseModel(id string) {
	if cs.d.session.run == nil || cs.d.session.over() {
		cs.d.flash("There is no run. The setting of the next one: /settings model NAME.")
		return
	}
	var items []choice
	for _, m := range cs.models() {
		items = append(items, choice{text: m.Name, note: m.About(), value: m.Name})
	}
	cs.d.choose(view.ModelTitle, "", items, func(v any) {
		cs.d.session.send(contract.Configure{Model: v.(string), ID: id})
	})
}

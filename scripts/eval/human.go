package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/arbiter-cli/arbiter/internal/yamldoc"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// human is the scripted human of a task: human.yaml maps patterns to answers.
type human struct {
	answers []answer
	silent  bool
}

type answer struct {
	to   *regexp.Regexp
	text string
}

func loadHuman(dir string) (h human, err error) {
	path := filepath.Join(dir, "human.yaml")
	src, err := os.ReadFile(path)
	if err != nil {
		return h, err
	}
	doc, err := yamldoc.Parse(path, src)
	if err != nil {
		return h, err
	}
	for _, v := range doc.Values() {
		for _, f := range v.Fields("patterns of questions, and their answers") {
			to, err := regexp.Compile(f.Key)
			if err != nil {
				return h, fmt.Errorf("%s: %w", path, err)
			}
			h.answers = append(h.answers, answer{to, f.Text()})
		}
	}
	return h, doc.Err()
}

// says answers a question.
func (h human) says(question string) string {
	for _, a := range h.answers {
		if a.to.MatchString(question) {
			return a.text
		}
	}
	return "Decide yourself."
}

// patience is how often the human is asked the same before it cancels the run.
const patience = 3

// reacts returns what the human does about an event; nil: nothing. It allows nothing that the rules of the run do not,
// and spends no more than the limit. asked counts its questions.
func (h human) reacts(e contract.Body, asked map[string]int) contract.CommandBody {
	if h.silent {
		return nil
	}
	switch b := e.(type) {
	case contract.PermissionRequest:
		return contract.Permit{Request: b.Request, Behavior: "deny", Message: "Do it without."}
	case contract.Question:
		switch asked[b.Text]++; {
		case slices.Contains(b.Options, "finish"):
			return contract.Choose{Option: "finish"}
		case len(b.Options) > 0 || asked[b.Text] >= patience:
			return contract.Cancel{}
		}
		return contract.Say{Text: h.says(b.Text)}
	}
	return nil
}

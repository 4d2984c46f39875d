package decider

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// How often a model is asked again, and how long to wait before.
const (
	maxCorrections = 2 // for one decision, after answers that cannot be used
	maxRetries     = 2 // of one question, after transient errors
	firstBackoff   = time.Second
	backoffFactor  = 4
	maxPause       = time.Minute // a longer wait that a server requests is not waited for
)

// Prompts renders the inputs for a model that has no other context.
type Prompts interface {
	Prompt(in Input) (system, prompt string, err error)
}

// Model asks a model. It answers an unusable answer with a correction, twice; then that is an
// error. If an Asker's error says Transient(), it retries after a wait, as long as the error's
// RetryAfter() says, up to a minute. With an error it also returns a Decision without a decision: what was
// asked and what it has cost.
type Model struct {
	Ask     Asker
	Prompts Prompts
	// BuiltIn are the prompts used where Prompts fail, with a warning; may be nil.
	BuiltIn Prompts
	// Timeout is for one answer; 0: none. After a timeout the model is not asked again: the time for the
	// decision is used up.
	Timeout time.Duration
}

func (m Model) Decide(ctx context.Context, in Input) (Decision, error) {
	asked := Decision{Source: ByModel}
	system, prompt, err := m.render(in, &asked)
	if err != nil {
		return asked, fmt.Errorf("decider: rendering the prompt: %w", err)
	}
	asked.System, asked.Prompt = system, prompt
	for correction := 0; ; correction++ {
		q := Question{System: system, Prompt: asked.Prompt, Schema: schema(in.Point())}
		answer, err := m.ask(ctx, q, &asked)
		if err != nil {
			return asked, err
		}
		asked.Answer, asked.Model = answer.Text, answer.Model
		asked.Warnings = append(asked.Warnings, answer.Notes...)
		d, err := parseDecision(answer.Text, in.Point(), in.agents())
		if err == nil {
			d.Source, d.System, d.Prompt, d.Answer = ByModel, asked.System, asked.Prompt, asked.Answer
			d.Warnings, d.Attempts, d.Usage, d.Model = asked.Warnings, asked.Attempts, asked.Usage, asked.Model
			return d, nil
		}
		var wrong *AnswerError
		if errors.As(err, &wrong) && answer.Problem != "" {
			wrong.Problem = answer.Problem + " " + wrong.Problem
		}
		if wrong == nil || correction == maxCorrections {
			return asked, fmt.Errorf("decider: none of %d answers could be used; the last one: %w", correction+1, err)
		}
		asked.Warnings = append(asked.Warnings,
			fmt.Sprintf("answer %d could not be used: %s", correction+1, wrong.Problem))
		asked.Prompt = corrected(prompt, answer.Text, wrong.Problem)
	}
}

func (m Model) render(in Input, record *Decision) (system, prompt string, err error) {
	if m.Prompts == nil {
		return "", "", errors.New("there are no templates")
	}
	system, prompt, err = m.Prompts.Prompt(in)
	if err == nil || m.BuiltIn == nil {
		return system, prompt, err
	}
	record.Warnings = append(record.Warnings, fmt.Sprintf("the built-in prompt was used: %v", err))
	return m.BuiltIn.Prompt(in)
}

// corrected is the prompt again, with the correction: the model has no other context.
func corrected(prompt, answer, problem string) string {
	return fmt.Sprintf("%s\n\nYou have answered this before, and the answer cannot be used: %s\n\n"+
		"The answer was, quoted: %q\n\nDecide again, and answer with one JSON object that is right.\n",
		prompt, problem, clip(answer, maxReason))
}

// ask repeats a question until there is an answer, and records attempts, cost and errors.
func (m Model) ask(ctx context.Context, q Question, record *Decision) (Answer, error) {
	wait := firstBackoff
	for retry := 0; ; retry++ {
		record.Attempts++
		answer, err := m.once(ctx, q)
		record.Usage.add(answer.Usage)
		if err == nil {
			return answer, nil
		}
		if retry == maxRetries || !transient(err) {
			return Answer{}, fmt.Errorf("decider: asking the model: %w", err)
		}
		pause := max(wait, retryAfter(err))
		if pause > maxPause {
			return Answer{}, fmt.Errorf("decider: asking the model: %w (it may be asked again after %v, and no "+
				"more than %v is waited)", err, pause.Round(time.Second), maxPause)
		}
		record.Warnings = append(record.Warnings, fmt.Sprintf("the model was asked again after %v: %v", pause, err))
		if err := sleep(ctx, pause); err != nil {
			return Answer{}, fmt.Errorf("decider: waiting to ask the model again: %w", err)
		}
		wait *= backoffFactor
	}
}

func (m Model) once(ctx context.Context, q Question) (Answer, error) {
	if m.Ask == nil {
		return Answer{}, errors.New("there is none")
	}
	if err := ctx.Err(); err != nil {
		return Answer{}, err
	}
	if m.Timeout <= 0 {
		return m.Ask.Ask(ctx, q)
	}
	limited, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	answer, err := m.Ask.Ask(limited, q)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return answer, &slowError{m.Timeout, err}
	}
	return answer, err
}

// slowError is an attempt that timed out. It is not transient, even if it wraps a transient error.
type slowError struct {
	after time.Duration
	err   error
}

func (e *slowError) Error() string   { return fmt.Sprintf("no answer within %v: %v", e.after, e.err) }
func (e *slowError) Unwrap() error   { return e.err }
func (e *slowError) Transient() bool { return false }

// transient reports whether an error says that it is transient.
func transient(err error) bool {
	var t interface{ Transient() bool }
	return errors.As(err, &t) && t.Transient()
}

// retryAfter is how long the server wants the client to wait; 0: it does not say.
func retryAfter(err error) time.Duration {
	var later interface{ RetryAfter() time.Duration }
	if errors.As(err, &later) {
		return later.RetryAfter()
	}
	return 0
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (u *Usage) add(more Usage) {
	u.Input += more.Input
	u.Output += more.Output
	u.CacheRead += more.CacheRead
	u.CacheCreation += more.CacheCreation
	u.CostUSD += more.CostUSD
}

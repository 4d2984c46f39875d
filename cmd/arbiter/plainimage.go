package main

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// plainImage keeps an image file for the next message.
func plainImage(p plainHost, _ *clients.ScreenSession, _ *supervisor.State, c view.EditorCommand) string {
	path, size, err := p.Image(c.Arg(0))
	if err != nil {
		return sanitize.Line(view.Sentence(err.Error()), 500)
	}
	*p.images = append(*p.images, path)
	return sanitize.Line(fmt.Sprintf("Image %d, %s, %s, goes with your next message.", len(*p.images), path, size), 500)
}

// withImages adds the kept images to a message. It does not change other commands.
func (p plainHost) withImages(b contract.CommandBody) contract.CommandBody {
	if say, ok := b.(contract.Say); ok {
		say.Images = p.takeImages()
		return say
	}
	return b
}

// takeImages returns the kept images and forgets them: they go with one message.
func (p plainHost) takeImages() []string {
	taken := *p.images
	*p.images = nil
	return taken
}

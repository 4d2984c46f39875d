package runloop

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
)

// Images keeps the images of messages. Its methods are safe for concurrent use. *images.Store implements it.
type Images interface {
	// Keep reads image files, and returns when copies of them are on disk. Errors are for people.
	Keep(paths []string) ([]contract.Image, error)
	// Load returns the contents of an image that was kept.
	Load(contract.Image) ([]byte, error)
}

// Images sets where the images of messages are kept. Call it before [Loop.Run].
func (l *Loop) Images(i Images) { l.images = i }

// keepImages keeps the images of a message before the message is recorded. A message whose images cannot be
// sent is rejected.
func (l *Loop) keepImages(say contract.Say) contract.CommandBody {
	if l.images == nil {
		return contract.Malformed{Problem: "this run takes no images"}
	}
	kept, err := l.images.Keep(say.Images)
	if err != nil {
		return contract.Malformed{Problem: err.Error()}
	}
	say.Kept = kept
	return say
}

// withImages loads the images of a message that is sent. If an image is lost, the text says so: the message
// itself must arrive.
func (l *Loop) withImages(e effect.Send) bridge.MessageParams {
	p := e.Params
	for n, image := range e.Images {
		data, err := l.images.Load(image)
		if err != nil {
			l.log.Error("an image of a message is lost", "message", p.MessageID, "image", image.Path, "error", err)
			p.Content += fmt.Sprintf("\n[Image %d is lost: the supervisor could not read its copy.]", n+1)
			continue
		}
		p.Images = append(p.Images, bridge.Image{MediaType: image.MediaType, Data: data})
	}
	return p
}

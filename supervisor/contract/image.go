package contract

import (
	"fmt"
	"strings"
)

// MaxImages is how many images a message takes.
const MaxImages = 10

// Image is an image of a message, as it was when the message was accepted. Its contents are kept in the run's
// directory, under their hash.
type Image struct {
	Path      string `json:"path"` // of the file that it was read from
	SHA256    string `json:"sha256"`
	MediaType string `json:"media_type"` // image/png, image/jpeg, image/gif or image/webp
	Bytes     int    `json:"bytes"`
	Width     int    `json:"width"` // in pixels
	Height    int    `json:"height"`
}

// Size describes an image in short: `640×480 png`.
func (i Image) Size() string {
	return fmt.Sprintf("%d×%d %s", i.Width, i.Height, strings.TrimPrefix(i.MediaType, "image/"))
}

package runstore

// This file keeps the images that a human sends to agents. An image is checked and copied into the run's
// directory when its message is accepted, under the hash of its contents, so that the message is the same
// after a crash, even if the original file has changed or is gone.
//
// A [ImageStore] is safe for concurrent use. It starts no goroutine.

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // formats that models read
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"syscall"

	_ "golang.org/x/image/webp"

	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Bounds of images.
const (
	// MaxBytes is how large a file may be: the API accepts 5 MiB of an image in base64, which are 3.75 MiB of a
	// file.
	MaxBytes = 5 << 20 / 4 * 3
	// MaxTotal bounds the files of one message: a request to the API may have 32 MB, including all images of
	// the conversation.
	MaxTotal = 12 << 20
	// MaxSide is the longest side that the API accepts, in pixels.
	MaxSide = 8000
)

// ReadImages reads an image file, and returns what it is and its contents. A relative path is relative to the directory
// of this process. Errors are for people.
func ReadImages(path string) (contract.Image, []byte, error) {
	fail := func(format string, a ...any) (contract.Image, []byte, error) {
		return contract.Image{}, nil, fmt.Errorf("image %s: "+format, append([]any{path}, a...)...)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe without a writer
	if err != nil {
		var why *os.PathError
		if errors.As(err, &why) {
			err = why.Err
		}
		return fail("it cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return fail("it cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return fail("it is not a file")
	case info.Size() > MaxBytes:
		return fail("it is too large: %s, and at most %s can be sent; make it smaller", words.Bytes(int(info.Size())),
			words.Bytes(MaxBytes))
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil || len(data) > MaxBytes {
		return fail("it changed while it was read; send it again")
	}
	is, format, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return fail("it is not an image that can be sent: PNG, JPEG, GIF or WebP")
	case max(is.Width, is.Height) > MaxSide:
		return fail("it is too large: %d×%d pixels, and at most %d×%[4]d can be sent; make it smaller", is.Width,
			is.Height, MaxSide)
	}
	sum := sha256.Sum256(data)
	return contract.Image{Path: path, SHA256: hex.EncodeToString(sum[:]), MediaType: "image/" + format,
		Bytes: len(data), Width: is.Width, Height: is.Height}, data, nil
}

// ImageStore holds the images of a run, in a directory of its own. The directory is created with the first image.
type ImageStore struct{ path, base string }

// NewStore returns the store in a directory. Relative paths of image files are relative to base.
func NewStore(path, base string) *ImageStore { return &ImageStore{path, base} }

// Keep reads image files into the store, and returns when they are on disk. On an error it returns none of
// them.
func (s *ImageStore) Keep(paths []string) ([]contract.Image, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if len(paths) > contract.MaxImages {
		return nil, fmt.Errorf("%d images are too many: a message takes %d", len(paths), contract.MaxImages)
	}
	dir, err := statedir.Open(s.path)
	if err != nil {
		return nil, fmt.Errorf("keep images: %w", err)
	}
	defer dir.Close()
	var kept []contract.Image
	total := 0
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.base, path)
		}
		is, data, err := ReadImages(path)
		if err != nil {
			return nil, err
		}
		if total += len(data); total > MaxTotal {
			return nil, fmt.Errorf("image %s: the images of one message have more than %s together; send them in "+
				"several", path, words.Bytes(MaxTotal))
		}
		if err := dir.Replace(is.SHA256, data); err != nil {
			return nil, fmt.Errorf("keep image %s: %w", path, err)
		}
		kept = append(kept, is)
	}
	return kept, nil
}

// Load returns the contents of a kept image, and checks that they are unchanged.
func (s *ImageStore) Load(is contract.Image) ([]byte, error) {
	dir, err := statedir.Open(s.path)
	if err != nil {
		return nil, fmt.Errorf("load an image: %w", err)
	}
	defer dir.Close()
	data, err := dir.Read(is.SHA256, MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("load an image: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != is.SHA256 {
		return nil, fmt.Errorf("load an image: %s does not have the content that was stored", dir.Path(is.SHA256))
	}
	return data, nil
}

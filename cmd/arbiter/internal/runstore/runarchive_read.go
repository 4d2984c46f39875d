package runstore

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
)

// ArchiveReader reads an archive from beginning to end.
type ArchiveReader struct {
	Manifest ArchiveManifest

	zip *gzip.Reader
	tar *tar.Reader
}

// NewReader opens an archive and reads its manifest.
func NewReader(in io.Reader) (*ArchiveReader, error) {
	zip, err := gzip.NewReader(in)
	if err != nil {
		return nil, damaged(err)
	}
	r := &ArchiveReader{zip: zip, tar: tar.NewReader(zip)}
	h, err := r.tar.Next()
	if err != nil {
		return nil, damaged(err)
	}
	if h.Name != manifestName || h.Typeflag != tar.TypeReg || h.Size > maxManifest {
		return nil, wrong("it does not begin with a manifest")
	}
	b, err := io.ReadAll(io.LimitReader(r.tar, maxManifest))
	if err != nil {
		return nil, damaged(err)
	}
	r.Manifest, err = decodeManifest(b)
	return r, err
}

// damaged converts an error of reading an archive.
func damaged(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return wrong("it is cut off")
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, tar.ErrHeader):
		return wrong("it is damaged, or not an archive of arbiter sessions export (%v)", err)
	}
	return err
}

// Each calls take for each file of the manifest, in order. content has exactly the length in the manifest, or
// returns an error. The hash is checked after take has returned, so do not trust any content before Each returns
// nil.
func (r *ArchiveReader) Each(take func(f ArchiveFile, content io.Reader) error) error {
	for _, want := range r.Manifest.Files {
		h, err := r.tar.Next()
		if err != nil {
			return damaged(err)
		}
		if h.Name != want.Path || h.Typeflag != tar.TypeReg || h.Size != want.Bytes {
			return wrong("it has %.120q where its manifest has %s", h.Name, want.Path)
		}
		content := &hashed{in: io.LimitReader(r.tar, want.Bytes), sum: sha256.New()}
		if err := take(want, content); err != nil {
			if content.failed != nil {
				return damaged(content.failed)
			}
			return err
		}
		if content.n != want.Bytes {
			return wrong("%s is cut off", want.Path)
		}
		if hex.EncodeToString(content.sum.Sum(nil)) != want.SHA256 {
			return wrong("%s is not as it was exported: its SHA-256 differs", want.Path)
		}
	}
	return r.end()
}

// end checks that nothing follows the last file.
func (r *ArchiveReader) end() error {
	switch _, err := r.tar.Next(); {
	case err == nil:
		return wrong("it has more files than its manifest")
	case !errors.Is(err, io.EOF):
		return damaged(err)
	}
	// Gzip checks its checksum after the last compressed byte.
	rest, err := io.Copy(io.Discard, io.LimitReader(r.zip, 1))
	switch {
	case err != nil:
		return damaged(err)
	case rest > 0:
		return wrong("there is more data after its end")
	}
	return nil
}

// hashed reads content, and keeps its hash and read error.
type hashed struct {
	in     io.Reader
	sum    hash.Hash
	n      int64
	failed error
}

func (h *hashed) Read(p []byte) (int, error) {
	n, err := h.in.Read(p)
	h.sum.Write(p[:n]) // never fails
	h.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		h.failed = err
	}
	return n, err
}

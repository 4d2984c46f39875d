package runstore

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ArchiveSource is a file for an archive. It is opened twice: for its hash, and for its content.
type ArchiveSource struct {
	Path string // in the archive
	Open func() (content io.ReadCloser, bytes int64, err error)
}

// WriteArchive writes an archive. The files must not change during the call. It sets m.Files.
func WriteArchive(w io.Writer, m ArchiveManifest, files []ArchiveSource) error {
	m.V, m.Files = ArchiveVersion, nil
	for _, f := range files {
		content, n, err := f.Open()
		if err != nil {
			return err
		}
		sum := sha256.New()
		got, err := io.Copy(sum, content)
		if err = errors.Join(err, content.Close()); err != nil {
			return err
		}
		if got != n {
			return fmt.Errorf("%s changed while it was read", f.Path)
		}
		m.Files = append(m.Files, ArchiveFile{f.Path, n, hex.EncodeToString(sum.Sum(nil))})
	}
	if err := m.check(); err != nil {
		return err
	}
	head, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	head = append(head, '\n')
	if len(head) > maxManifest {
		return wrong("its manifest would be too large")
	}
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	if err := out.WriteHeader(entry(manifestName, int64(len(head)))); err != nil {
		return err
	}
	if _, err := out.Write(head); err != nil {
		return err
	}
	for i, f := range files {
		if err := add(out, f, m.Files[i]); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return zip.Close()
}

// add writes a file with a known hash.
func add(out *tar.Writer, f ArchiveSource, want ArchiveFile) error {
	content, _, err := f.Open()
	if err != nil {
		return err
	}
	defer content.Close()
	if err := out.WriteHeader(entry(want.Path, want.Bytes)); err != nil {
		return err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(out, sum), io.LimitReader(content, want.Bytes))
	if err != nil {
		return err
	}
	if n != want.Bytes || hex.EncodeToString(sum.Sum(nil)) != want.SHA256 {
		return fmt.Errorf("%s changed while it was read", want.Path)
	}
	return nil
}

// entry returns a header without anything that differs between machines.
func entry(name string, n int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: n, Mode: 0o600, Format: tar.FormatPAX}
}

package runstore

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

// ArchiveVersion is the version of the format.
const ArchiveVersion = 1

// Limits when reading. A journal has 256 MiB at most.
const (
	maxManifest = 8 << 20
	maxFiles    = 20_000
	maxFile     = 1 << 30
	maxBytes    = 4 << 30
)

const manifestName = "manifest.json"

// Directories of an archive.
const (
	RunDir      = "run"
	ProjectsDir = "projects"
)

// ArchiveBundle is the Git bundle with the files of the run.
const ArchiveBundle = "repository.bundle"

// HasBundle reports whether the archive has a Git bundle.
func (m ArchiveManifest) HasBundle() bool {
	return slices.ContainsFunc(m.Files, func(f ArchiveFile) bool { return f.Path == ArchiveBundle })
}

// ArchiveManifest lists the content of an archive.
type ArchiveManifest struct {
	V         int           `json:"v"`
	Arbiter   string        `json:"arbiter"`        // version of the program that wrote it
	State     int           `json:"state"`          // version of the state in the journal
	Run       string        `json:"run"`            // id
	Workspace string        `json:"workspace"`      // where the run worked
	Base      string        `json:"base,omitempty"` // commit that the bundle builds on
	Files     []ArchiveFile `json:"files"`
}

// ArchiveFile is a file of an archive.
type ArchiveFile struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ArchiveError says what is wrong with an archive, as a clause.
type ArchiveError struct{ Reason string }

func (e *ArchiveError) Error() string { return e.Reason }

func wrong(format string, args ...any) error { return &ArchiveError{fmt.Sprintf(format, args...)} }

const (
	uuid           = `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`
	besideDir      = `(?:subagents|tool-results)`
	archiveProject = `[A-Za-z0-9-]{1,255}`
	fileName       = `[A-Za-z0-9_-][A-Za-z0-9._-]{0,254}`
)

// Patterns of names. They are compiled when they are first used, because that takes a millisecond.
var (
	runID = form(uuid)
	known = form(`(?:` + regexp.QuoteMeta(ArchiveBundle) + `|` +
		RunDir + `/(?:meta\.json|events\.ndjson|journal-[0-9]{6,9}|images/[0-9a-f]{64})|` +
		ProjectsDir + `/` + archiveProject + `/` + uuid + `(?:\.jsonl|/` + besideDir + `/` + fileName + `))`)
	projectName = form(archiveProject)
	plainName   = form(fileName)
)

func form(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + expr + `$`) })
}

// decodeManifest decodes a manifest and checks everything that can be checked without the files.
func decodeManifest(b []byte) (ArchiveManifest, error) {
	var head struct{ V int }
	var m ArchiveManifest
	if err := json.Unmarshal(b, &head); err != nil {
		return m, wrong("its manifest cannot be read: %v", err)
	}
	if head.V != ArchiveVersion {
		return m, wrong("it has format %d, and this arbiter reads format %d", head.V, ArchiveVersion)
	}
	if err := statedir.DecodeStrict(b, &m); err != nil {
		return m, wrong("its manifest cannot be read: %v", err)
	}
	return m, m.check()
}

// check checks a manifest against the format.
func (m ArchiveManifest) check() error {
	if !runID().MatchString(m.Run) {
		return wrong("its manifest names no run: %.80q", m.Run)
	}
	if len(m.Files) > maxFiles {
		return wrong("it has more than %d files", maxFiles)
	}
	seen, total := map[string]bool{}, int64(0)
	for _, f := range m.Files {
		_, hash := hex.DecodeString(f.SHA256)
		folded := strings.ToLower(f.Path) // for case-insensitive file systems
		switch {
		case !known().MatchString(f.Path):
			return wrong("it has an unknown file: %.120q", f.Path)
		case seen[folded]:
			return wrong("it has %s twice", f.Path)
		case f.Bytes < 0 || f.Bytes > maxFile:
			return wrong("%s has %d bytes, and at most %d are read", f.Path, f.Bytes, int64(maxFile))
		case hash != nil || len(f.SHA256) != 64:
			return wrong("%s has no SHA-256", f.Path)
		}
		seen[folded] = true
		total += f.Bytes
	}
	if total > maxBytes {
		return wrong("it has %d bytes, and at most %d are read", total, int64(maxBytes))
	}
	for _, name := range []string{"meta.json", "events.ndjson"} {
		if !seen[RunDir+"/"+name] {
			return wrong("it has no %s", name)
		}
	}
	return nil
}

package subcommands

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Lines at the end of a commit's message.
const (
	trailerRun  = "Arbiter-Run: "
	trailerTree = "Arbiter-Tree: "
	trailerNote = "Arbiter-Receipts: sha256:"
	trailerWork = "Arbiter-Work: "
)

// MaxNote bounds a note, in bytes, and MaxReceipts the receipts in it.
const (
	MaxNote     = 1 << 20
	MaxReceipts = 200
)

// Note binds what a run proved to the commit that landed its work, so that it can be proved again.
//
// The commit names the run, its own tree and the digest of the note in the last paragraph of its message. The note, in
// refs/notes/arbiter, has a receipt for each command that passed on a checkout of that tree. So a commit with another
// tree, or a note with another byte, do not belong together ([Match]). Somebody who makes a commit of their own can
// make a note for it: then what the commands do counts, when they are run again ([Bench]).
type Note struct {
	Version  int       `json:"v"`
	Run      string    `json:"run"`
	Tree     string    `json:"tree"`
	Work     string    `json:"work"`          // the run's commit
	Dir      string    `json:"dir,omitempty"` // below the top of the tree, in which the commands run
	Receipts []Receipt `json:"receipts"`
	Unproven []Claim   `json:"unproven,omitempty"`
}

// Receipt says what a command did on the tree of the commit.
type Receipt struct {
	Claim
	Exit   int     `json:"exit_code"`
	SHA256 string  `json:"sha256"` // of the output of stdout and stderr, in hexadecimal
	Output Compare `json:"output"`
	Steady string  `json:"sha256_without_times,omitempty"`
	Tree   string  `json:"tree"`
	Digest string  `json:"digest"` // of the members above: it says which receipt of a note was changed
}

// Claim is a criterion, or a check of a hand-off document.
type Claim struct {
	Kind    string `json:"kind"` // criterion or check
	Text    string `json:"text,omitempty"`
	Command string `json:"command,omitempty"`
	Why     string `json:"why,omitempty"` // nothing proves it
}

// Kinds of claims.
const (
	Criterion = "criterion"
	Check     = "check"
)

// Compare says what of an output must be the same when a command is run again.
type Compare string

// What is compared, besides the exit code.
const (
	Same   Compare = "same"   // each byte
	Timed  Compare = "timed"  // each byte besides times
	Varies Compare = "varies" // nothing: two runs at landing had different outputs
)

// Stamp is what a commit says about itself.
type Stamp struct{ Run, Tree, Note, Work string }

// Message returns a commit's message with a stamp.
func (s Stamp) Message(text string) string {
	text = strings.TrimSpace(text) + "\n\n" + trailerRun + s.Run + "\n" + trailerTree + s.Tree + "\n"
	if s.Note != "" {
		text += trailerNote + s.Note + "\n"
	}
	return text + trailerWork + s.Work
}

// ReadStamp reads the last paragraph of a message. ok is false if the commit is no landing.
func ReadStamp(message string) (s Stamp, ok bool) {
	message = strings.TrimRight(message, "\n")
	for line := range strings.Lines(message[strings.LastIndex(message, "\n\n")+1:]) {
		for prefix, to := range map[string]*string{trailerRun: &s.Run, trailerTree: &s.Tree, trailerNote: &s.Note,
			trailerWork: &s.Work} {
			if value, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix); found {
				if *to != "" {
					return Stamp{}, false
				}
				*to = value
			}
		}
	}
	return s, s.Run != "" && s.Tree != ""
}

// Encode returns the bytes of a note and their digest. It sets the digests of the receipts.
func (n *Note) Encode() (text []byte, digest string, err error) {
	n.Version = 1
	for i := range n.Receipts {
		if n.Receipts[i].Digest, err = n.Receipts[i].digest(); err != nil {
			return nil, "", err
		}
	}
	line, err := jsonl.Marshal(n)
	if err != nil {
		return nil, "", err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, line, "", " "); err != nil {
		return nil, "", err
	}
	out.WriteByte('\n')
	return out.Bytes(), Digest(out.Bytes()), nil
}

func (r Receipt) digest() (string, error) {
	r.Digest = ""
	line, err := jsonl.Marshal(r)
	return Digest(line), err
}

// Digest returns the SHA-256 of a text in hexadecimal.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Mismatch says what does not belong together. What is commit, tree, note, command, exit code or output.
type Mismatch struct{ What, Text string }

func (m *Mismatch) Error() string { return m.What + ": " + m.Text }

func mismatch(what, format string, args ...any) error {
	return &Mismatch{what, fmt.Sprintf(format, args...)}
}

// Match returns the note of a commit if it belongs to the commit with this message and tree. Error: [*Mismatch].
func Match(message, tree string, note []byte) (Note, error) {
	stamp, ok := ReadStamp(message)
	switch {
	case !ok:
		return Note{}, mismatch("commit", "its message has no %s and %s in its last paragraph: arbiter land did not make "+
			"it, or the message was changed", strings.TrimSpace(trailerRun), strings.TrimSpace(trailerTree))
	case stamp.Tree != tree:
		return Note{}, mismatch("tree", "the files are those of tree %s, and the commit was landed with tree %s", tree,
			stamp.Tree)
	case stamp.Note == "":
		return Note{}, mismatch("commit", "it was landed without receipts")
	case note == nil:
		return Note{}, mismatch("note", "there is none: fetch it with git fetch origin "+
			"refs/notes/arbiter:refs/notes/arbiter")
	case Digest(note) != stamp.Note:
		return Note{}, mismatch("note", "its SHA-256 is %s, and the commit names %.80s%s", Digest(note), stamp.Note,
			changed(note))
	}
	var n Note
	if err := json.Unmarshal(note, &n); err != nil {
		return Note{}, mismatch("note", "it cannot be read: %v", err)
	}
	switch {
	case n.Version != 1:
		return Note{}, mismatch("note", "it has version %d, and this arbiter reads version 1", n.Version)
	case n.Run != stamp.Run || n.Work != stamp.Work:
		return Note{}, mismatch("commit", "it names run %.50q and work %.64q, and the note %.50q and %.64q", stamp.Run,
			stamp.Work, n.Run, n.Work)
	case n.Tree != tree:
		return Note{}, mismatch("tree", "the note is about tree %.64q, and the commit has %s", n.Tree, tree)
	case len(n.Receipts) > MaxReceipts:
		return Note{}, mismatch("note", "it has %d receipts, and at most %d are allowed", len(n.Receipts), MaxReceipts)
	}
	for i, r := range n.Receipts {
		if digest, err := r.digest(); err != nil || digest != r.Digest || r.Tree != tree {
			return Note{}, mismatch("note", "receipt %d does not fit itself or the tree", i+1)
		}
	}
	return n, nil
}

// changed names the receipts of a note that were changed.
func changed(note []byte) string {
	var n Note
	if json.Unmarshal(note, &n) != nil {
		return ""
	}
	for i, r := range n.Receipts {
		if digest, err := r.digest(); err == nil && digest != r.Digest {
			return fmt.Sprintf("; receipt %d was changed: its command, exit code, output or tree", i+1)
		}
	}
	return ""
}

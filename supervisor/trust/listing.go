package trust

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

const (
	KindSettings    = "settings"     // a whole settings file
	KindHook        = "hook"         // a command that runs without asking
	KindHelper      = "helper"       // a command that settings name for keys, headers, the status line
	KindEnv         = "env"          // a variable of the agents' environment
	KindPermission  = "permissions"  // rules, modes and directories
	KindMCP         = "mcp"          // a server, or which of them are allowed
	KindPlugin      = "plugin"       // plugins and where they come from
	KindSetting     = "setting"      // another key
	KindUnknown     = "unknown"      // a key that this version does not know
	KindAgent       = "agent"        // of Claude Code, or of arbiter
	KindSkill       = "skill"        // a file of a skill
	KindCommand     = "command"      // a slash command
	KindStyle       = "output style" // which replaces a system prompt
	KindWorkflow    = "workflow"     // a script, or a schedule
	KindConfig      = "config"       // of Arbiter
	KindPrompt      = "prompt"       // template of Arbiter
	KindScript      = "script"       // a file that a command names
	KindLink        = "link"         // a file that is a symbolic link
	KindGit         = "git"          // where a worktree says that its repository is
	KindUnreadable  = "unreadable"   // what could not be read
	KindInstruction = "instructions" // text for a model; not part of the hash
)

// Item is one thing that a workspace contains. Name and What are as found: frontends sanitize them.
type Item struct {
	Kind   string `json:"kind"`
	File   string `json:"file"`           // relative to the workspace's root, or absolute
	Name   string `json:"name,omitempty"` // in the file
	What   string `json:"what"`           // short, for a person
	SHA256 string `json:"sha256"`         // hex, of everything in it that counts
}

// Counts reports whether the item is part of the hash.
func (i Item) Counts() bool { return i.Kind != KindInstruction }

// Listing is everything in a workspace, in order, and its hash.
type Listing struct {
	CWD   string `json:"cwd"`  // without links
	Root  string `json:"root"` // of the repository, or CWD
	Items []Item `json:"items"`
	Hash  string `json:"hash"` // hex; only of the items that count
}

// Empty reports whether there is nothing that needs trust.
func (l Listing) Empty() bool { return !slices.ContainsFunc(l.Items, Item.Counts) }

// finish sorts the items and sets the hash.
func (l *Listing) finish() {
	slices.SortFunc(l.Items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.SHA256, b.SHA256), cmp.Compare(a.What, b.What))
	})
	l.Items = slices.Compact(l.Items)
	l.Hash = hashOf(l.Items)
}

// Listed returns the listing of a workspace on another host, from the items that were found there. The hash is
// computed here, not by the host.
func Listed(cwd, root string, items []Item) Listing {
	l := Listing{CWD: cwd, Root: root, Items: slices.Clone(items)}
	l.finish()
	return l
}

// News returns the items that count in an agent's own directory, a worktree or a clone, and differ from the
// trusted workspace: another agent has changed them. Items may be missing in the directory. shared is the path
// below which items are the trusted workspace's own; empty for a directory on another host.
func News(trusted, own Listing, shared string) []Change {
	if shared != "" {
		own.Items = slices.DeleteFunc(slices.Clone(own.Items), func(i Item) bool {
			return strings.HasPrefix(i.File, shared)
		})
	}
	return slices.DeleteFunc(Diff(trusted, own), func(c Change) bool {
		return c.How == Removed || c.Item.Kind == KindGit // every worktree has it
	})
}

// hashOf hashes length-prefixed fields, so that no item can be mistaken for two.
func hashOf(items []Item) string {
	h := sha256.New()
	for _, i := range items {
		if i.Counts() {
			fmt.Fprintf(h, "%d:%s %d:%s %d:%s %s\n", len(i.Kind), i.Kind, len(i.File), i.File, len(i.Name), i.Name,
				i.SHA256)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// How an item differs.
const (
	Added   = "new"
	Changed = "changed"
	Removed = "gone"
)

// Change is one difference between two listings.
type Change struct {
	How  string `json:"how"` // Added, Changed, Removed
	Item Item   `json:"item"`
}

// Diff lists the items that count and are in only one of the listings, or differ. A whole file is left out if
// something in it is listed.
func Diff(old, now Listing) []Change {
	type key struct{ kind, file, name string }
	index := func(l Listing) map[key]Item {
		m := map[key]Item{}
		for _, i := range l.Items {
			if i.Counts() {
				m[key{i.Kind, i.File, i.Name}] = i
			}
		}
		return m
	}
	before, after := index(old), index(now)
	var list []Change
	for k, i := range after {
		if was, ok := before[k]; !ok {
			list = append(list, Change{Added, i})
		} else if was.SHA256 != i.SHA256 {
			list = append(list, Change{Changed, i})
		}
	}
	for k, i := range before {
		if _, ok := after[k]; !ok {
			list = append(list, Change{Removed, i})
		}
	}
	detailed := map[string]bool{} // files of which more is listed than that their settings differ
	for _, c := range list {
		detailed[c.Item.File] = detailed[c.Item.File] || c.Item.Kind != KindSettings
	}
	list = slices.DeleteFunc(list, func(c Change) bool { return c.Item.Kind == KindSettings && detailed[c.Item.File] })
	slices.SortFunc(list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Item.File, b.Item.File), cmp.Compare(a.Item.Kind, b.Item.Kind),
			cmp.Compare(a.Item.Name, b.Item.Name))
	})
	return list
}

// Summary is a list of changes in one line: the first few, and how many more.
func Summary(changes []Change, most int) string {
	text := ""
	for n, c := range changes {
		if n == most {
			return text + fmt.Sprintf(", and %d more", len(changes)-most)
		}
		if n > 0 {
			text += ", "
		}
		text += c.How + ": " + c.Item.Kind + " " + c.Item.Label()
	}
	return text
}

// Label names an item in a line.
func (i Item) Label() string {
	if i.Name == "" {
		return i.File
	}
	return i.Name + " (" + i.File + ")"
}

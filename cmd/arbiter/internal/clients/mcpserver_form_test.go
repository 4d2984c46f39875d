package clients

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestALongRequestIsNotAllowedInAForm: a request that is not shown completely can only be denied.
func TestALongRequestIsNotAllowedInAForm(t *testing.T) {
	request := contract.PermissionRequest{Suggestions: []string{"Bash(x)"}}
	f := permissionForm("", strings.Repeat("x", maxForm+1), request, "")
	if len(f.message) > maxForm+300 || !strings.Contains(f.message, "cut here") {
		t.Errorf("the message has %d bytes", len(f.message))
	}
	for _, o := range f.options {
		if permit, ok := o.command.(contract.Permit); ok && permit.Behavior != "deny" {
			t.Errorf("it can be answered with %q", o.label)
		}
	}
	if f.command(accepts("Decide in a terminal", "")) != nil {
		t.Error("a decision in a terminal is none here")
	}
}

// TestRulesAreOfferedToTheLetter: a rule that would be displayed differently is not offered.
func TestRulesAreOfferedToTheLetter(t *testing.T) {
	rules := []string{"Bash(a\u202eb)", "Bash(ok)", "Bash(no)"}
	f := permissionForm("", "x", contract.PermissionRequest{Suggestions: rules}, "")
	var labels []string
	for _, o := range f.options {
		labels = append(labels, o.label)
	}
	want := "Allow once|Allow this for the whole run|Always allow here: Bash(ok) (exactly this line)|Deny"
	if got := strings.Join(labels, "|"); got != want {
		t.Errorf("offered: %s, want %s", got, want)
	}
	for _, res := range []string{"", "allow once", "Always allow here: Bash(no)"} {
		if c := f.command(accepts(res, "")); c != nil {
			t.Errorf("%q means %+v", res, c)
		}
	}
}

// TestFormShowsThatThereIsMore: a client may show only the first lines of a form.
func TestFormShowsThatThereIsMore(t *testing.T) {
	for lines, more := range map[int]bool{1: false, shownLines: false, shownLines + 1: true} {
		text := compact("Asks:\n\n" + strings.Repeat("x\n \n", lines-1))
		f := permissionForm("Run 4be1c2d0: ", text, contract.PermissionRequest{}, "arbiter status 4be1c2d0")
		first, _, _ := strings.Cut(f.message, "\n")
		if strings.Contains(first, "lines; in full: arbiter status 4be1c2d0") != more {
			t.Errorf("%d lines: %q", lines, f.message)
		}
	}
}

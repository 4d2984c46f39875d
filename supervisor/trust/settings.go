package trust

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// settingKinds are the known keys of a settings file, with their kinds. Those that are only [KindSetting]
// change how a session looks or behaves, and run nothing.
var settingKinds = map[string]string{
	"hooks": KindHook, "disableAllHooks": KindHook, "allowManagedHooksOnly": KindHook, "allowedHttpHookUrls": KindHook,
	"httpHookAllowedEnvVars": KindHook, "env": KindEnv,
	"apiKeyHelper": KindHelper, "awsAuthRefresh": KindHelper, "awsCredentialExport": KindHelper,
	"gcpAuthRefresh": KindHelper, "otelHeadersHelper": KindHelper, "proxyAuthHelper": KindHelper,
	"statusLine": KindHelper, "subagentStatusLine": KindHelper, "fileSuggestion": KindHelper,
	"permissions": KindPermission, "sandbox": KindPermission, "additionalDirectories": KindPermission,
	"skipDangerousModePermissionPrompt": KindPermission, "autoMode": KindPermission,
	"useAutoModeDuringPlan": KindPermission, "skipAutoPermissionPrompt": KindPermission,
	"enableAllProjectMcpServers": KindMCP, "enabledMcpjsonServers": KindMCP, "disabledMcpjsonServers": KindMCP,
	"allowedMcpServers": KindMCP, "deniedMcpServers": KindMCP, "mcpServers": KindMCP,
	"enabledPlugins": KindPlugin, "extraKnownMarketplaces": KindPlugin, "strictKnownMarketplaces": KindPlugin,
	"blockedMarketplaces": KindPlugin, "pluginConfigs": KindPlugin, "model": KindSetting,
	"availableModels": KindSetting, "modelOverrides": KindSetting, "effortLevel": KindSetting,
	"outputStyle": KindSetting, "agent": KindSetting, "language": KindSetting, "cleanupPeriodDays": KindSetting,
	"includeCoAuthoredBy": KindSetting, "includeGitInstructions": KindSetting, "attribution": KindSetting,
	"forceLoginMethod": KindSetting, "forceLoginOrgUUID": KindSetting, "companyAnnouncements": KindSetting,
	"spinnerTipsEnabled": KindSetting, "spinnerVerbs": KindSetting, "alwaysThinkingEnabled": KindSetting,
	"autoCompactEnabled": KindSetting, "autoCompactWindow": KindSetting, "autoMemoryEnabled": KindSetting,
	"autoMemoryDirectory": KindSetting, "plansDirectory": KindSetting, "respectGitignore": KindSetting,
	"claudeMdExcludes": KindSetting, "worktree": KindSetting, "teammateMode": KindSetting,
	"prefersReducedMotion": KindSetting, "showTurnDuration": KindSetting, "theme": KindSetting,
	"editorMode": KindSetting, "autoUpdatesChannel": KindSetting, "crossSessionInbound": KindSetting,
	"defaultShell": KindSetting, "fastMode": KindSetting, "$schema": KindSetting,
}

// keys parses a file. The whole file counts, too, so that a parser that reads it differently than ours leaves no gap.
func (l *look) keys(path string, raw []byte) map[string]json.RawMessage {
	l.add(KindSettings, path, "", fmt.Sprintf("%d bytes", len(raw)), string(raw))
	keys, why := object(raw)
	if why != "" {
		l.unreadable(path, why, "")
	}
	return keys
}

// settings lists what a settings file has.
func (l *look) settings(path string, raw []byte) {
	keys := l.keys(path, raw)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		value := keys[key]
		kind, known := settingKinds[key]
		switch {
		case !known:
			l.add(KindUnknown, path, key, "a setting that this version does not know: "+brief(value), canonical(value))
		case key == "hooks":
			l.hooks(path, value)
		case key == "permissions" || key == "env" || key == "mcpServers":
			l.each(kind, path, key, value)
		default:
			l.add(kind, path, key, brief(value), canonical(value))
		}
		if kind == KindHelper || kind == KindMCP || kind == KindPlugin || !known {
			l.scripts(path, value)
		}
	}
}

// each lists the members of an object.
func (l *look) each(kind, path, key string, value json.RawMessage) {
	members, why := object(value)
	if why != "" {
		l.add(kind, path, key, "not understood: "+brief(value), canonical(value))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		l.add(kind, path, key+"."+name, brief(members[name]), canonical(members[name]))
	}
}

// hooks lists every hook of an object of hooks. A value of another form is listed as a whole.
func (l *look) hooks(path string, value json.RawMessage) {
	var events map[string][]struct {
		Matcher json.RawMessage   `json:"matcher"`
		Hooks   []json.RawMessage `json:"hooks"`
	}
	l.scripts(path, value)
	if err := json.Unmarshal(value, &events); err != nil {
		l.add(KindHook, path, "hooks", "not understood: "+brief(value), canonical(value))
		return
	}
	for _, event := range slices.Sorted(maps.Keys(events)) {
		n := 0
		for _, group := range events[event] {
			for _, hook := range group.Hooks {
				n++
				var h struct{ Type, Command, URL, Prompt string }
				_ = json.Unmarshal(hook, &h) // what stays empty is shown as a whole
				what := h.Command + h.URL + h.Prompt
				if what == "" {
					what = string(hook)
				}
				if len(group.Matcher) > 0 {
					what = oneLine(string(group.Matcher), 60) + ": " + what
				}
				l.add(KindHook, path, fmt.Sprintf("%s %d", event, n), oneLine(what, shown),
					canonical(group.Matcher)+"\x00"+canonical(hook))
			}
		}
	}
}

// mcpFile lists the servers of a .mcp.json.
func (l *look) mcpFile(path string) {
	raw, ok := l.file(path)
	if !ok {
		return
	}
	keys := l.keys(path, raw)
	if keys == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if key != "mcpServers" {
			l.add(KindUnknown, path, key, brief(keys[key]), canonical(keys[key]))
			continue
		}
		l.each(KindMCP, path, key, keys[key])
	}
	l.scripts(path, raw)
}

// object parses a JSON object. why says what is wrong with it.
func object(raw []byte) (map[string]json.RawMessage, string) {
	raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	switch {
	case len(raw) > maxParsed:
		return nil, "too large to be taken apart"
	case !utf8.Valid(raw):
		return nil, "not UTF-8"
	case len(bytes.TrimSpace(raw)) == 0:
		return nil, ""
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, "not understood: " + err.Error()
	}
	return m, ""
}

// canonical is a value without its spaces.
func canonical(value json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return string(value)
	}
	return b.String()
}

// shown is how many characters of a value are shown.
const shown = 160

// brief is a value in a line.
func brief(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return oneLine(s, shown)
	}
	return oneLine(canonical(value), shown)
}

// oneLine shortens a text to a line of so many characters.
func oneLine(s string, most int) string {
	if len(s) > 8*most {
		s = s[:8*most]
	}
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if n := []rune(s); len(n) > most {
		return string(n[:most-1]) + "…"
	}
	return s
}

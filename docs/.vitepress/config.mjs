// The site of these pages. `scripts/docs` builds it.
const repository = 'https://github.com/arbiter-cli/arbiter/blob/main/'

const pages = (...list) => list.map(([text, name]) => ({ text, link: `/${name}` }))

// leave makes a link to a file outside of docs/ lead to the repository.
function leave(md) {
  const render = md.renderer.rules.link_open
  md.renderer.rules.link_open = (tokens, i, options, env, self) => {
    const href = tokens[i].attrGet('href')
    if (href?.startsWith('../')) tokens[i].attrSet('href', repository + href.slice(3))
    return render ? render(tokens, i, options, env, self) : self.renderToken(tokens, i, options)
  }
}

export default {
  title: 'Arbiter',
  description: 'Run one long task with several Claude Code sessions',
  outDir: '../bin/site',
  rewrites: { 'README.md': 'index.md' },
  markdown: { config: leave },
  themeConfig: {
    search: { provider: 'local' },
    sidebar: [
      { text: 'Use', items: pages(['Getting started', 'getting-started'], ['The screen', 'screen'], ['A second terminal', 'second-terminal'], ['On a web page', 'web'], ['Scripting', 'scripting'], ['Editors', 'acp'], ['MCP', 'mcp'], ['In CI', 'ci'],
        ['Permissions, sandbox, trust', 'permissions'], ['Resume and durability', 'resume'], ['Hand-offs and context', 'handoffs'],
        ['Acceptance criteria', 'acceptance'], ['Changes, undo and landing', 'changes'], ['Worktrees and merging', 'isolation'], ['Other hosts', 'hosts'], ['Agents of other makes', 'makes'], ['Deciders', 'deciders'], ['Reports', 'reports'], ['Telemetry', 'telemetry'], ['Memory', 'memory'], ['Agents and templates', 'agents'],
        ['Troubleshooting', 'troubleshooting']) },
      { text: 'Reference', items: pages(['Configuration', 'configuration'], ['Commands', 'commands'], ['Contract', 'contract'],
        ['Promises and their tests', 'promises']) },
      { text: 'Inside', items: pages(['Packages', 'packages'], ['Where to change what', 'changing'], ['Changing prompts', 'prompts'],
        ['The task machine', 'machine'], ['Decisions', 'decisions'], ['Glossary', 'glossary']) },
    ],
  },
}

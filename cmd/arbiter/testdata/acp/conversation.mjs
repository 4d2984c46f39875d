// A conversation with `arbiter acp` through the official TypeScript SDK. It takes the SDK's module and the command of the
// agent, writes each step as a line of JSON, and waits for a line on stdin where the run's process is to be killed.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { isDeepStrictEqual } from 'node:util'
import { Readable, Writable } from 'node:stream'
import { pathToFileURL } from 'node:url'

const [module, capabilities, ...command] = process.argv.slice(2)
const acp = await import(pathToFileURL(module).href)
const { agent, client } = acp.methods
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
const tell = (step, more) => console.log(JSON.stringify({ step, ...more }))
const of = (sessionId, text) => ({ sessionId, prompt: [{ type: 'text', text }] })

// open starts an agent. Permission requests are answered by permit, and updates are kept in shown.
async function open(permit) {
  const child = spawn(command[0], command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
  const shown = []
  const app = acp
    .client({ name: 'conversation' })
    .onRequest(client.session.requestPermission, async (c) => ({ outcome: await permit(c.params, c) }))
    .onNotification(client.session.update, (c) => {
      const u = c.params.update
      if (!['user_message_chunk', 'notice'].includes(u.sessionUpdate)) shown.push(c.params)
    })
  const connection = app.connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)))
  const ask = (method, params) => connection.agent.request(method, params)
  const about = await ask(agent.initialize, { protocolVersion: 1, clientCapabilities: JSON.parse(capabilities) })
  const close = () =>
    new Promise((ended) => {
      child.on('exit', ended)
      connection.close()
      child.stdin.end()
    })
  return { ask, shown, about, close, connection }
}

const once = async () => ({ outcome: 'selected', optionId: 'once' })
const session = { cwd: process.cwd(), mcpServers: [] }

const first = await open(once)
const { sessionId } = await first.ask(agent.session.new, session)
const asked = await first.ask(agent.session.prompt, of(sessionId, 'Make a thing'))
tell('asked', { sessionId, stop: asked.stopReason, version: first.about.protocolVersion })
await lines.next() // the run's process is killed meanwhile
await first.close()

const second = await open(once)
await second.ask(agent.session.load, { ...session, sessionId })
tell('loaded', { same: isDeepStrictEqual(first.shown, second.shown), updates: second.shown.length })
const answered = await second.ask(agent.session.prompt, of(sessionId, 'call it dawn'))
const kinds = [...new Set(second.shown.map((s) => s.update.sessionUpdate))].sort()
tell('answered', { stop: answered.stopReason, kinds })
await second.close()

const third = await open(async (p) => {
  await third.connection.agent.notify(agent.session.cancel, { sessionId: p.sessionId.split('/')[0] })
  return { outcome: 'cancelled' }
})
const other = await third.ask(agent.session.new, session)
await third.ask(agent.session.setMode, { sessionId: other.sessionId, modeId: 'rules' })
await third.ask(agent.session.setMode, { sessionId: other.sessionId, modeId: 'ask' })
await third.ask(agent.session.prompt, of(other.sessionId, 'Make a thing'))
const cancelled = await third.ask(agent.session.prompt, of(other.sessionId, 'call it dusk'))
const list = await third.ask(agent.session.list, { cwd: process.cwd() })
tell('cancelled', { stop: cancelled.stopReason, sessions: list.sessions.length })
await third.close()
process.exit(0)

/** `svc mcp`: the server's tools for editors that start a program and speak MCP over its standard input and output. */
import { createInterface } from "node:readline"
import type { Flags, Globals, OwnFlags } from "../arguments.ts"
import { NO_KEY, platformKey, platformUrl } from "../connect.ts"
import { isObject } from "../json.ts"
import { type Terminal, UsageError } from "../terminal.ts"
import type { Extra } from "./extra.ts"

export const mcpFlags: OwnFlags = {
  toolsets: { type: "string", about: "Which tools are listed: names of areas between commas, or all" },
}

export const mcpUsage = `svc mcp [--toolsets=kv,storage]

An editor starts it; svc mcp install prints what the editor needs for that.`

/** What the server takes; a longer line would be refused there. */
const LINE_LENGTH_MAX = 8 * 1024 * 1024
/** The protocol's own numbers: a line that is no JSON, and a failure of the server. */
const PARSE_ERROR = -32_700
const INTERNAL_ERROR = -32_603
const VERSION_IN_MESSAGE = "io.modelcontextprotocol/protocolVersion"

interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: Readonly<Record<string, unknown>>
}

/** Headers are of visible ASCII; other names travel as the protocol writes them. */
const headerText = (text: string): string =>
  /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?")
    ? text
    : `=?base64?${Buffer.from(text).toString("base64")}?=`

/** Over HTTP a message of 2026 repeats in headers what it is. */
const headersOf = ({ method, params = {} }: Message, agreed: string | undefined): Record<string, string> => {
  const inMessage = isObject(params._meta) ? params._meta[VERSION_IN_MESSAGE] : undefined
  if (typeof inMessage !== "string" || typeof method !== "string")
    return agreed === undefined ? {} : { "mcp-protocol-version": agreed }
  const name = method === "resources/read" ? params.uri : params.name
  return {
    "mcp-protocol-version": inMessage,
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": headerText(name) }),
  }
}

const errorLine = (id: unknown, code: number, message: string): string =>
  JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error: { code, message } })

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The server's answer on one line; a refusal of the whole request as an error of the message. */
const lineOf = (text: string, status: number, id: unknown): string => {
  const body = parse(text)
  if (isObject(body) && body.jsonrpc === "2.0") return text.includes("\n") ? JSON.stringify(body) : text
  const refusal = isObject(body) && typeof body.code === "string" ? `${body.code}: ${body.error}` : undefined
  return errorLine(id, INTERNAL_ERROR, refusal ?? `the server answered with ${status}`)
}

interface Bridge {
  take(line: string): Promise<void>
}

const createBridge = (
  endpoint: URL,
  headers: Record<string, string>,
  say: (line: string) => void,
): Bridge => {
  const running = new Map<unknown, AbortController>()
  let agreed: string | undefined

  const noteVersion = ({ method }: Message, answer: string): void => {
    if (method !== "initialize") return
    const body = parse(answer)
    const version = isObject(body) && isObject(body.result) ? body.result.protocolVersion : undefined
    if (typeof version === "string") agreed = version
  }

  const send = async (line: string, message: Message): Promise<void> => {
    const { id } = message
    const stop = new AbortController()
    if (id !== undefined) running.set(id, stop)
    try {
      const response = await fetch(endpoint, {
        method: "POST",
        headers: { ...headers, ...headersOf(message, agreed) },
        body: line,
        redirect: "error",
        signal: stop.signal,
      })
      const answer = await response.text()
      noteVersion(message, answer)
      if (id !== undefined) say(lineOf(answer, response.status, id))
    } catch (error) {
      // What was cancelled is not answered.
      if (stop.signal.aborted || id === undefined) return
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      say(errorLine(id, INTERNAL_ERROR, `${endpoint.origin} cannot be reached: ${(cause as Error).message}`))
    } finally {
      if (running.get(id) === stop) running.delete(id)
    }
  }

  return {
    async take(line) {
      if (line.length > LINE_LENGTH_MAX) return say(errorLine(null, PARSE_ERROR, "the message is too long"))
      const message = parse(line)
      if (!isObject(message)) return say(errorLine(null, PARSE_ERROR, "not a JSON object"))
      const { method, params } = message as Message
      if (method === "notifications/cancelled") running.get(params?.requestId)?.abort()
      else await send(line, message as Message)
    },
  }
}

const endpointOf = (url: string, { toolsets }: Flags): URL => {
  const endpoint = new URL(`${url}/api/v1/mcp`)
  if (typeof toolsets === "string") endpoint.searchParams.set("toolsets", toolsets)
  return endpoint
}

export const mcp: Extra = async (globals, words, terminal, flags) => {
  if (words.length > 0) throw new UsageError(`unexpected word: ${words[0]}`, "mcp")
  const url = await platformUrl(globals, terminal)
  const key = await platformKey(url, terminal)
  if (key === undefined) throw new UsageError(NO_KEY)
  const project = globals.project ?? terminal.env.SVC_PROJECT
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...(project && { "x-svc-project": project }),
  }
  const bridge = createBridge(endpointOf(url, flags), headers, line => terminal.out.line(line))
  const open = new Set<Promise<void>>()
  for await (const line of createInterface({ input: terminal.stdin, crlfDelay: Number.POSITIVE_INFINITY })) {
    if (line.trim() === "") continue
    const taken = bridge.take(line).finally(() => open.delete(taken))
    open.add(taken)
    // The version that this agrees on is a header of every later message.
    if (/"method"\s*:\s*"initialize"/.test(line.slice(0, 10_000))) await taken
  }
  await Promise.all(open)
  return undefined
}

/** Each client's file, and the object in it that names servers. */
const CLIENTS = {
  "claude-code": { file: ".mcp.json", key: "mcpServers", type: "http" },
  "claude-desktop": { file: "claude_desktop_config.json", key: "mcpServers", type: undefined },
  cursor: { file: ".cursor/mcp.json", key: "mcpServers", type: "" },
  vscode: { file: ".vscode/mcp.json", key: "servers", type: "http" },
  windsurf: { file: "~/.codeium/windsurf/mcp_config.json", key: "mcpServers", type: undefined },
} as const

type ClientName = keyof typeof CLIENTS

export const mcpInstallUsage = `svc mcp install [client] [--toolsets <names>]

Clients: ${Object.keys(CLIENTS).join(", ")}. Without one, the configuration of all is printed. It contains no key:
put yours in the place of the variable, or run svc login, whose key svc mcp uses.`

/** By its address where the client speaks HTTP, else by the program that bridges. */
const entryOf = (name: ClientName, url: string, globals: Globals, flags: Flags) => {
  const { type } = CLIENTS[name]
  if (type === undefined) {
    const toolsets = typeof flags.toolsets === "string" ? [`--toolsets=${flags.toolsets}`] : []
    return { command: "svc", args: ["mcp", ...toolsets], env: { SVC_API_URL: url } }
  }
  const key = name === "claude-code" ? `\${SVC_TOKEN}` : `\${env:SVC_TOKEN}`
  return {
    ...(type && { type }),
    url: endpointOf(url, flags).href,
    headers: {
      Authorization: `Bearer ${key}`,
      ...(globals.project && { "x-svc-project": globals.project }),
    },
  }
}

export const mcpInstall: Extra = async (globals, [client, ...surplus], terminal: Terminal, flags) => {
  if (surplus.length > 0) throw new UsageError(`unexpected word: ${surplus[0]}`, "mcp install")
  const known = Object.keys(CLIENTS) as ClientName[]
  const names = client === undefined ? known : known.filter(name => name === client)
  if (names.length === 0)
    throw new UsageError(`unknown client: ${client}; known are ${known.join(", ")}`, "mcp install")
  const url = await platformUrl(globals, terminal)
  const documents = names.map(name => {
    const { file, key } = CLIENTS[name]
    return { client: name, file, content: { [key]: { svc: entryOf(name, url, globals, flags) } } }
  })
  if (globals.json) terminal.out.line(JSON.stringify(documents))
  else
    for (const { client: name, file, content } of documents)
      terminal.out.line(`# ${name}: ${file}\n${JSON.stringify(content, null, 2)}\n`)
  return undefined
}

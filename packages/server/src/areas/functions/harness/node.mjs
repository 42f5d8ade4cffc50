/**
 * Runs a JavaScript function inside its workload. Reads frames (JSON, one a line) from file descriptor 3 and writes them
 * to 4; what the function itself prints to 1 and 2 cannot be taken for a frame. Every frame carries the nonce of the
 * `start` frame.
 */
import { AsyncLocalStorage } from "node:async_hooks"
import { existsSync, writeSync } from "node:fs"
import { Socket } from "node:net"
import { pathToFileURL } from "node:url"
import { inspect } from "node:util"

const CODE = "/var/task"
const ENDINGS = [".js", ".mjs", ".cjs", ".ts"]
const LOG_LINE_MAX = 8_192

/** Kept from user code that replaces globals. */
const { now } = Date
const { parse, stringify } = JSON
const exit = process.exit.bind(process)
const pause = new Int32Array(new SharedArrayBuffer(4))

let limits = { logBytes: 0, logLines: 0, responseBytes: 0 }
let nonce = ""
let run
const current = new AsyncLocalStorage()
const running = new Map()
/** What is printed while nothing is invoked. */
const background = { id: null, bytes: 0, lines: 0, rest: new Map() }

const writeAll = text => {
  let bytes = Buffer.from(text)
  while (bytes.length > 0) {
    try {
      bytes = bytes.subarray(writeSync(4, bytes))
    } catch (error) {
      if (error.code !== "EAGAIN") return exit(1)
      Atomics.wait(pause, 0, 0, 1)
    }
  }
}

const send = frame => writeAll(`${stringify({ n: nonce, ...frame })}\n`)

const log = (owner, stream, message) => {
  if (owner.lines >= limits.logLines || owner.bytes >= limits.logBytes) {
    if (!owner.isFull) send({ t: "log", i: owner.id, s: "platform", at: now(), m: "more lines are left out" })
    owner.isFull = true
    return
  }
  const kept = message.slice(0, LOG_LINE_MAX)
  owner.lines += 1
  owner.bytes += kept.length
  send({ t: "log", i: owner.id, s: stream, at: now(), m: kept })
}

const capture = (stream, name) => {
  stream.write = (chunk, encoding, done) => {
    const owner = current.getStore() ?? background
    const text = typeof chunk === "string" ? chunk : Buffer.from(chunk).toString()
    const lines = ((owner.rest.get(name) ?? "") + text).split("\n")
    // A line without an end is cut rather than kept without a bound.
    const rest = lines.pop().slice(0, LOG_LINE_MAX)
    owner.rest.set(name, rest)
    for (const line of lines) log(owner, name, line)
    const call = typeof encoding === "function" ? encoding : done
    if (typeof call === "function") queueMicrotask(call)
    return true
  }
}

const flush = owner => {
  for (const [name, rest] of owner.rest) if (rest !== "") log(owner, name, rest)
  owner.rest.clear()
}

/** What the harness finds wrong itself. */
class Refusal extends Error {
  constructor(type, message) {
    super(message)
    this.type = type
  }
}

const toError = thrown => {
  if (thrown instanceof Refusal) return { type: thrown.type, message: thrown.message, stack: null }
  if (thrown instanceof Error || (typeof thrown === "object" && thrown !== null && "message" in thrown)) {
    const type = String(thrown.name ?? "Error")
    return { type, message: String(thrown.message), stack: thrown.stack ? String(thrown.stack) : null }
  }
  return { type: "Error", message: typeof thrown === "string" ? thrown : inspect(thrown), stack: null }
}

const peakKb = () => process.resourceUsage().maxRSS

const finish = (id, fields) => {
  const owner = running.get(id)
  if (!owner) return
  // Throws for what is no JSON, and then this is called again with that.
  const text = stringify({ n: nonce, t: "done", i: id, kb: peakKb(), ...fields })
  running.delete(id)
  flush(owner)
  if (Buffer.byteLength(text) <= limits.responseBytes) return writeAll(`${text}\n`)
  const error = { type: "ResponseTooLarge", message: "what the function gave back is too large" }
  send({ t: "done", i: id, kb: peakKb(), error })
}

const moduleFor = file => {
  const path = ENDINGS.map(ending => `${CODE}/${file}${ending}`).find(existsSync)
  if (path === undefined) throw new Refusal("InitError", `there is no ${file}.js, .mjs, .cjs or .ts`)
  return import(pathToFileURL(path).href)
}

/** The named export, or a default export that is a function or has `fetch`. */
const findHandler = async handler => {
  const dot = handler.lastIndexOf(".")
  const name = handler.slice(dot + 1)
  const module = await moduleFor(handler.slice(0, dot))
  const main = module.default
  const named = module[name] ?? main?.[name]
  if (typeof named === "function") return { call: named }
  for (const candidate of [main, main?.default]) {
    if (typeof candidate?.fetch === "function") return { fetch: candidate.fetch.bind(candidate) }
    if (typeof candidate === "function") return { call: candidate }
  }
  throw new Refusal("InitError", `the module exports no function ${name}, and no default one`)
}

const contextOf = ({ i, deadline, context }) => ({
  ...context,
  invocation_id: i,
  awsRequestId: i,
  functionName: context.function_name,
  getRemainingTimeInMillis: () => Math.max(0, deadline - now()),
})

const fetchContext = frame => ({
  ...contextOf(frame),
  // The process goes on after the reply, so there is nothing to wait for but errors.
  waitUntil: promise =>
    void Promise.resolve(promise).catch(error => process.stderr.write(`${inspect(error)}\n`)),
  passThroughOnException() {},
})

const requestOf = ({ method, url, headers, body }) => {
  const hasBody = method !== "GET" && method !== "HEAD" && body !== ""
  return new Request(url, { method, headers, ...(hasBody && { body: Buffer.from(body, "base64") }) })
}

const replyOf = async response => {
  if (!(response instanceof Response)) throw new Refusal("InvalidResponse", "fetch must give a Response")
  const body = Buffer.from(await response.arrayBuffer()).toString("base64")
  return { status: response.status, headers: [...response.headers], body }
}

/** The shape that AWS gives functions behind a URL, version 2.0. */
const eventOf = ({ method, url, headers, body }) => {
  const { pathname, search, searchParams } = new URL(url)
  const bytes = Buffer.from(body, "base64")
  const text = bytes.toString()
  const isText = Buffer.from(text).equals(bytes)
  return {
    version: "2.0",
    rawPath: pathname,
    rawQueryString: search.slice(1),
    headers: Object.fromEntries(headers),
    queryStringParameters: Object.fromEntries(searchParams),
    requestContext: { http: { method, path: pathname } },
    body: bytes.length === 0 ? null : isText ? text : body,
    isBase64Encoded: !isText,
  }
}

const replyFrom = result => {
  if (typeof result === "object" && result !== null && "statusCode" in result) {
    const { statusCode, headers = {}, body = "", isBase64Encoded = false } = result
    const text = typeof body === "string" ? body : stringify(body)
    return {
      status: Number(statusCode),
      headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
      body: isBase64Encoded ? text : Buffer.from(text).toString("base64"),
    }
  }
  const text = stringify(result ?? null)
  return {
    status: 200,
    headers: [["content-type", "application/json"]],
    body: Buffer.from(text).toString("base64"),
  }
}

const plainRequest = event =>
  new Request("http://function/", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: stringify(event),
  })

const resultFrom = async response => {
  if (!(response instanceof Response)) throw new Refusal("InvalidResponse", "fetch must give a Response")
  const text = await response.text()
  return response.headers.get("content-type")?.includes("json") && text !== "" ? parse(text) : text
}

const perform = async frame => {
  const { call, fetch } = run
  if (frame.t === "request") {
    if (fetch)
      return { reply: await replyOf(await fetch(requestOf(frame.request), process.env, fetchContext(frame))) }
    return { reply: replyFrom(await call(eventOf(frame.request), contextOf(frame))) }
  }
  if (!fetch) return { result: (await call(frame.event, contextOf(frame))) ?? null }
  return {
    result: await resultFrom(await fetch(plainRequest(frame.event), process.env, fetchContext(frame))),
  }
}

const invoke = frame => {
  const owner = { id: frame.i, bytes: 0, lines: 0, rest: new Map() }
  running.set(frame.i, owner)
  background.bytes = 0
  background.lines = 0
  background.isFull = false
  current.run(owner, async () => {
    try {
      finish(frame.i, await perform(frame))
    } catch (error) {
      finish(frame.i, { error: toError(error) })
    }
  })
}

/** What nobody catches leaves the process in an unknown state: all that runs in it fails, and it ends. */
const collapse = thrown => {
  const error = toError(thrown)
  for (const id of [...running.keys()]) finish(id, { error, final: true })
  flush(background)
  exit(1)
}

const start = async frame => {
  nonce = frame.n
  limits = frame.limits
  Object.assign(process.env, frame.env)
  capture(process.stdout, "stdout")
  capture(process.stderr, "stderr")
  process.on("uncaughtException", collapse)
  process.on("unhandledRejection", collapse)
  process.chdir(CODE)
  try {
    run = await findHandler(frame.handler)
    flush(background)
    send({ t: "ready", kb: peakKb() })
  } catch (error) {
    flush(background)
    send({ t: "failed", error: toError(error) })
  }
}

const receive = frame => (frame.t === "start" ? start(frame) : invoke(frame))

const input = new Socket({ fd: 3, readable: true, writable: false })
const chunks = []
input.on("data", chunk => {
  let from = 0
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
    chunks.push(chunk.subarray(from, at))
    receive(parse(Buffer.concat(chunks.splice(0)).toString()))
    from = at + 1
  }
  if (from < chunk.length) chunks.push(chunk.subarray(from))
})
input.on("close", () => exit(0))
writeAll(`${stringify({ t: "up" })}\n`)

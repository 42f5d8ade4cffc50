/**
 * A harness's side of its conversation with the platform: frames (JSON, one a line) come on file descriptor 3 and go out
 * on 4. Every frame that goes out carries the nonce of the `start` frame.
 */
import { writeSync } from "node:fs"
import { Socket } from "node:net"
import { inspect } from "node:util"

export const CODE = "/var/task"
const LOG_LINE_MAX = 8_192

/** Kept from user code that replaces globals. */
export const { now } = Date
export const { parse, stringify } = JSON
export const exit = process.exit.bind(process)
const pause = new Int32Array(new SharedArrayBuffer(4))

let nonce = ""
export let limits = { logBytes: 0, logLines: 0, responseBytes: 0, streamBytes: 0, windowBytes: 0 }

/** What the `start` frame tells of all frames. */
export const begin = frame => {
  nonce = frame.n
  limits = frame.limits
}

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

export const send = frame => writeAll(`${stringify({ n: nonce, ...frame })}\n`)

/** Who prints: an invocation, or nobody. */
export const printerOf = id => ({ id, bytes: 0, lines: 0, isFull: false, rest: new Map() })

/** What is printed while nothing is invoked. */
export const background = printerOf(null)
/** What prints, by invocation. */
export const running = new Map()

export const take = id => {
  const printer = printerOf(id)
  running.set(id, printer)
  background.bytes = 0
  background.lines = 0
  background.isFull = false
  return printer
}

const log = (printer, stream, message) => {
  if (printer.lines >= limits.logLines || printer.bytes >= limits.logBytes) {
    if (!printer.isFull)
      send({ t: "log", i: printer.id, s: "platform", at: now(), m: "more lines are left out" })
    printer.isFull = true
    return
  }
  const kept = message.slice(0, LOG_LINE_MAX)
  printer.lines += 1
  printer.bytes += kept.length
  send({ t: "log", i: printer.id, s: stream, at: now(), m: kept })
}

export const print = (printer, stream, text) => {
  const lines = ((printer.rest.get(stream) ?? "") + text).split("\n")
  // A line without an end is cut rather than kept without a bound.
  const rest = lines.pop().slice(0, LOG_LINE_MAX)
  printer.rest.set(stream, rest)
  for (const line of lines) log(printer, stream, line)
}

export const flush = printer => {
  for (const [stream, rest] of printer.rest) if (rest !== "") log(printer, stream, rest)
  printer.rest.clear()
}

/** What the harness finds wrong itself. */
export class Refusal extends Error {
  constructor(type, message) {
    super(message)
    this.type = type
  }
}

export const toError = thrown => {
  if (thrown instanceof Refusal) return { type: thrown.type, message: thrown.message, stack: null }
  if (thrown instanceof Error || (typeof thrown === "object" && thrown !== null && "message" in thrown)) {
    const type = String(thrown.name ?? "Error")
    return { type, message: String(thrown.message), stack: thrown.stack ? String(thrown.stack) : null }
  }
  return { type: "Error", message: typeof thrown === "string" ? thrown : inspect(thrown), stack: null }
}

/** What the process needed so far: memory at most, in KiB, and processor time, in milliseconds. */
export const usage = () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage()
  return { kb: maxRSS, cpu: Math.round((userCPUTime + systemCPUTime) / 1000) }
}

export const finish = (id, fields) => {
  const printer = running.get(id)
  if (!printer) return
  // Throws for what is no JSON, and then this is called again with that.
  const text = stringify({ n: nonce, t: "done", i: id, ...usage(), ...fields })
  running.delete(id)
  flush(printer)
  if (Buffer.byteLength(text) <= limits.responseBytes) return writeAll(`${text}\n`)
  const error = { type: "ResponseTooLarge", message: "what the function gave back is too large" }
  send({ t: "done", i: id, ...usage(), error })
}

/** Tells that the code is there, or what keeps it from being there. */
export const load = async loading => {
  try {
    await loading()
    flush(background)
    send({ t: "ready", ...usage() })
  } catch (error) {
    flush(background)
    send({ t: "failed", error: toError(error) })
  }
}

/** Says that it is up, and hands on every frame that comes. */
export const listen = receive => {
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
}

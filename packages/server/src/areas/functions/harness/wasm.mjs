/**
 * Runs a WebAssembly command of WASI preview 1 inside its workload, in a fresh instance of the module for each invocation.
 * It reads the payload from its standard input and writes the result to its standard output; behind a URL it is a CGI
 * script (RFC 3875). What it writes to standard error is its log.
 */
import { readFile } from "node:fs/promises"
import { WASI } from "node:wasi"
import { cgiEnv, cgiReply } from "./cgi.mjs"
import {
  begin,
  CODE,
  finish,
  limits,
  listen,
  load,
  parse,
  print,
  Refusal,
  stringify,
  take,
  toError,
} from "./channel.mjs"

const WASI_MODULE = "wasi_snapshot_preview1"
const [STDIN, STDOUT, STDERR] = [0, 1, 2]
const [SUCCESS, FAULT] = [0, 21]
/** Memory of ended invocations that is collected at once: the engine does not know how little there is. */
const RETIRED_BYTES_MAX = 16 * 2 ** 20

let module
let own = { env: {}, file: "" }
let retiredBytes = 0

const loadModule = async ({ handler, env }) => {
  const file = `${handler.slice(0, handler.lastIndexOf("."))}.wasm`
  const bytes = await readFile(`${CODE}/${file}`).catch(() => {
    throw new Refusal("InitError", `there is no ${file}`)
  })
  module = await WebAssembly.compile(bytes)
  const foreign = WebAssembly.Module.imports(module).find(({ module: from }) => from !== WASI_MODULE)
  if (foreign)
    throw new Refusal(
      "InitError",
      `it imports ${foreign.module}.${foreign.name}; only ${WASI_MODULE} is here`,
    )
  const exported = new Map(WebAssembly.Module.exports(module).map(({ name, kind }) => [name, kind]))
  if (exported.get("_start") !== "function" || exported.get("memory") !== "memory")
    throw new Refusal("InitError", "it is no command: it does not export _start and memory")
  own = { env, file }
}

/** The pieces of memory that a list of `iovec`s names. */
const pieces = (memory, at, count) => {
  const view = new DataView(memory.buffer)
  return Array.from({ length: count }, (_, n) => {
    const start = view.getUint32(at + n * 8, true)
    return new Uint8Array(memory.buffer, start, view.getUint32(at + n * 8 + 4, true))
  })
}

/** Standard streams that are not those of the process; all else is as Node's WASI has it. */
const importsOf = (wasi, memoryOf, { input, write }) => {
  const { wasiImport } = wasi
  let at = 0
  const transfer = (iovs, count, totalAt, move) => {
    try {
      const memory = memoryOf()
      const total = pieces(memory, iovs, count).reduce((sum, piece) => sum + move(piece), 0)
      new DataView(memory.buffer).setUint32(totalAt, total, true)
      return SUCCESS
    } catch (error) {
      if (error instanceof RangeError) return FAULT
      throw error
    }
  }
  const read = piece => {
    const part = input.subarray(at, at + piece.length)
    piece.set(part)
    at += part.length
    return part.length
  }
  return {
    [WASI_MODULE]: {
      ...wasiImport,
      fd_read: (fd, iovs, count, totalAt) =>
        fd === STDIN ? transfer(iovs, count, totalAt, read) : wasiImport.fd_read(fd, iovs, count, totalAt),
      fd_write: (fd, iovs, count, totalAt) =>
        fd === STDOUT || fd === STDERR
          ? transfer(iovs, count, totalAt, piece => write(fd, piece))
          : wasiImport.fd_write(fd, iovs, count, totalAt),
      fd_close: fd => (fd <= STDERR ? SUCCESS : wasiImport.fd_close(fd)),
    },
  }
}

/** Gives what it wrote to standard output. */
const runCommand = (printer, input, env) => {
  const wasi = new WASI({
    ...{ version: "preview1", args: [own.file], env, returnOnExit: true },
    preopens: { "/": CODE, "/tmp": "/tmp" },
  })
  const decoder = new TextDecoder()
  const written = []
  let bytes = 0
  const write = (fd, piece) => {
    if (fd === STDERR) print(printer, "stderr", decoder.decode(piece, { stream: true }))
    else {
      bytes += piece.length
      if (bytes > limits.responseBytes)
        throw new Refusal("ResponseTooLarge", "what the function gave back is too large")
      written.push(Buffer.from(piece))
    }
    return piece.length
  }
  const imports = importsOf(wasi, () => instance.exports.memory, { input, write })
  const instance = new WebAssembly.Instance(module, imports)
  try {
    const code = wasi.start(instance)
    if (code !== 0) throw new Refusal("Crash", `the module ended with code ${code}`)
  } finally {
    retiredBytes += instance.exports.memory.buffer.byteLength
  }
  return Buffer.concat(written)
}

const resultOf = output => {
  const text = output.toString()
  try {
    return text.trim() === "" ? null : parse(text)
  } catch {
    return text
  }
}

const perform = (frame, printer) => {
  const env = {
    ...own.env,
    SVC_INVOCATION_ID: frame.i,
    SVC_FUNCTION_NAME: frame.context.function_name,
    SVC_FUNCTION_VERSION: String(frame.context.function_version),
  }
  if (frame.t === "invoke")
    return { result: resultOf(runCommand(printer, Buffer.from(stringify(frame.event)), env)) }
  const { request } = frame
  const body = Buffer.from(request.body, "base64")
  return { reply: cgiReply(runCommand(printer, body, { ...env, ...cgiEnv(request, body.length) })) }
}

const invoke = frame => {
  const printer = take(frame.i)
  try {
    finish(frame.i, perform(frame, printer))
  } catch (error) {
    finish(frame.i, { error: toError(error) })
  }
  if (retiredBytes > RETIRED_BYTES_MAX) {
    retiredBytes = 0
    globalThis.gc()
  }
}

const start = frame => {
  begin(frame)
  return load(() => loadModule(frame))
}

const actions = { start, invoke, request: invoke }

listen(frame => actions[frame.t]?.(frame))

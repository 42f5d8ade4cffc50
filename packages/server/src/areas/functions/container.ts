/** A program of an image that answers HTTP, in the place of a harness. */
import { type IncomingMessage, request as openRequest } from "node:http"
import { setTimeout as delay } from "node:timers/promises"
import { FUNCTION_RESPONSE_BYTES_MAX } from "@svc/contract"
import { createSemaphore, type Semaphore } from "../../kernel/concurrency/semaphore.ts"
import { parseJson } from "../../kernel/exact-json.ts"
import { PortError } from "../../ports/port-error.ts"
import type { Image } from "../../services/images/images.ts"
import { awaitReady, listening } from "../../services/serving/probe.ts"
import {
  type Room,
  startWorkload,
  type Workload,
  type WorkloadNeeds,
} from "../../services/serving/workload.ts"
import type { Frame, FunctionError } from "./frames.ts"
import { type Harness, type HarnessListener, slower } from "./harness.ts"
import { CODE_FOLDER } from "./kind.ts"
import { WINDOW_BYTES } from "./reply-body.ts"

/** Where programs listen, and what they are told as PORT: Cloud Run's default. */
const PORT = 8080
/** How long after its connections a program ends, when it does. */
const ENDING_MS_MAX = 5_000
const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

type Headers = readonly (readonly [string, string])[]

interface Exchange {
  readonly method: string
  /** Path and query. */
  readonly target: string
  readonly headers: Headers
  readonly body: Buffer
}

/** What the platform sends to a harness. */
type HarnessMessage =
  | { readonly t: "start" }
  | { readonly t: "invoke"; readonly i: string; readonly event: unknown }
  | {
      readonly t: "request"
      readonly i: string
      readonly request: { method: string; url: string; headers: Headers; body: string }
    }
  | { readonly t: "more"; readonly i: string; readonly bytes: number }
  | { readonly t: "cancel"; readonly i: string }

const problem = (type: string, message: string): FunctionError => ({ type, message, stack: null })

const exchangeOf = (sent: Extract<HarnessMessage, { t: "invoke" | "request" }>): Exchange => {
  const own: Headers = [["x-svc-invocation-id", sent.i]]
  if (sent.t === "invoke") {
    const body = Buffer.from(JSON.stringify(sent.event))
    const headers: Headers = [["host", "function"], ["content-type", "application/json"], ...own]
    return { method: "POST", target: "/", headers, body }
  }
  const { method, url, headers, body } = sent.request
  const { host, pathname, search } = new URL(url)
  return {
    ...{ method, target: pathname + search, body: Buffer.from(body, "base64") },
    headers: [["host", host], ...headers, ...own],
  }
}

/** Sends it over a connection of its own, and gives the reply once its head is there. */
const exchange = async (
  { guest }: Workload,
  { method, target, headers, body }: Exchange,
  signal: AbortSignal,
): Promise<IncomingMessage> => {
  const connection = await guest.connect(PORT)
  const length: Headers = body.length > 0 || method !== "GET" ? [["content-length", String(body.length)]] : []
  const sent = openRequest({
    ...{ method, path: target, signal, createConnection: () => connection },
    headers: [...headers, ...length, ["connection", "close"]].flat(),
  })
  sent.on("close", () => connection.destroy())
  return new Promise((resolve, reject) => {
    sent.on("error", reject).on("response", resolve)
    sent.end(body)
  })
}

const readWhole = async (response: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > FUNCTION_RESPONSE_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const resultOf = (text: string): unknown => {
  try {
    return text === "" ? null : parseJson(text)
  } catch {
    return text
  }
}

interface InvocationReply {
  readonly error?: FunctionError
  readonly result?: unknown
  readonly bytes: number
}

/** A status that is no success is an error of the function. */
const invoked = async (response: IncomingMessage): Promise<InvocationReply> => {
  const body = await readWhole(response)
  if (!body)
    return { error: problem("ResponseTooLarge", "what the function gave back is too large"), bytes: 0 }
  const { statusCode = 0 } = response
  const text = body.toString()
  const error = problem("HttpError", `the program answered ${statusCode}: ${text.slice(0, 1_000)}`)
  return statusCode >= 200 && statusCode < 300
    ? { result: resultOf(text), bytes: body.length }
    : { error, bytes: body.length }
}

const pairs = (raw: readonly string[]): [string, string][] =>
  raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ""] satisfies [string, string]] : []))

const isMalformed = (error: unknown): boolean =>
  error instanceof Error && "code" in error && String(error.code).startsWith("HPE_")

/** What went wrong between the platform and the program. */
const broken = (error: unknown): FunctionError =>
  error instanceof PortError
    ? problem("Crash", `the program does not listen on port ${PORT}`)
    : problem("InvalidResponse", error instanceof Error ? error.message : String(error))

/** Waits for a program that may be about to end. One that has ended takes with it all there was, however long that takes. */
const endOf = async ({ process, ended }: Workload): Promise<void> => {
  const exited = process.exited.then(
    () => true,
    () => true,
  )
  if (await Promise.race([exited, delay(ENDING_MS_MAX, false, { ref: false })])) await ended
}

/** Speaks HTTP to the program, and of it to the platform as harnesses do. */
const createFront = (workload: Workload, tell: (frame: Frame) => void) => {
  /** `credit`: how many bytes of the reply the caller has room for. */
  const callers = new Map<string, { readonly leave: AbortController; readonly credit: Semaphore }>()

  const stream = async (id: string, response: IncomingMessage, credit: Semaphore, signal: AbortSignal) => {
    const reply = { status: response.statusCode, headers: pairs(response.rawHeaders) }
    tell({ kind: "head", invocationId: id, reply })
    let bytes = 0
    for await (const chunk of response as AsyncIterable<Buffer>) {
      await credit.acquire(chunk.length, signal)
      bytes += chunk.length
      tell({ kind: "chunk", invocationId: id, bytes: chunk })
    }
    return { bytes }
  }

  const perform = async (sent: Extract<HarnessMessage, { t: "invoke" | "request" }>) => {
    const leave = new AbortController()
    const credit = createSemaphore(WINDOW_BYTES)
    callers.set(sent.i, { leave, credit })
    const answer = async (): Promise<InvocationReply> => {
      const response = await exchange(workload, exchangeOf(sent), leave.signal)
      return sent.t === "invoke" ? invoked(response) : stream(sent.i, response, credit, leave.signal)
    }
    const {
      error = null,
      result = null,
      bytes,
    } = await answer().catch(async (error): Promise<InvocationReply> => {
      if (leave.signal.aborted)
        return { error: problem("Cancelled", "the caller left before the reply had ended"), bytes: 0 }
      // Where the connection broke because the program ends, how that ended is the better answer, and comes by itself.
      if (!isMalformed(error)) await endOf(workload)
      return { error: broken(error), bytes: 0 }
    })
    callers.delete(sent.i)
    tell({
      ...{ kind: "done", invocationId: sent.i, error, result, reply: undefined, bytes },
      ...{ peakMb: 0, cpuMs: null, isFinal: false },
    })
  }

  return {
    perform,
    more: (id: string, bytes: number) => callers.get(id)?.credit.release(bytes),
    cancel: (id: string) => callers.get(id)?.leave.abort(),
  }
}

const isRootUser = (user: string | null): boolean => user === null || /^(?:root|0)(?::.*)?$/.test(user)

/** Starts it; it is ready once it listens. Throws `no_host_capacity`, or a PortError. */
export const startContainer = async (
  needs: WorkloadNeeds,
  room: Room,
  { root, config }: Image,
  env: Readonly<Record<string, string>>,
): Promise<Harness> => {
  const [program = "/bin/sh", ...rest] = [...config.entrypoint, ...config.cmd]
  const workload = await startWorkload(needs, room, {
    ...{
      root,
      mounts: [],
      files: { at: CODE_FOLDER },
      argv: [program, ...rest],
      cwd: config.workingDir ?? "/",
    },
    env: { PATH, ...config.env, ...env, PORT: String(PORT) },
    user: isRootUser(config.user) ? "root" : "user",
  })
  const { process, folder, rest: stop, cpuMs, ended, end, giveUp } = workload
  let listener: HarnessListener | undefined
  const tell = (frame: Frame) => listener?.frame(frame)
  process.stdin.end()
  process.stdout.on("data", (chunk: Buffer) => listener?.text(chunk, "stdout"))
  process.stderr.on("data", (chunk: Buffer) => listener?.text(chunk, "stderr"))
  const front = createFront(workload, tell)
  const actions = {
    start: () =>
      awaitReady(workload, listening(workload, PORT)).then(() => tell({ kind: "ready", cpuMs: null })),
    invoke: front.perform,
    request: front.perform,
    more: ({ i, bytes }: Extract<HarnessMessage, { t: "more" }>) => front.more(i, bytes),
    cancel: ({ i }: Extract<HarnessMessage, { t: "cancel" }>) => front.cancel(i),
  }
  return {
    ...{ folder, rest: stop, cpuMs, ended, end, giveUp },
    get isResting() {
      return workload.isResting
    },
    listen: next => {
      listener = next
    },
    expect: () => undefined,
    send(frame) {
      workload.wake()
      const sent = frame as HarnessMessage
      void (actions[sent.t] as (sent: HarnessMessage) => unknown)(sent)
    },
    slow: slower(process.stdout, process.stderr),
  }
}

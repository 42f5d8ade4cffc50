/** Every request of the console goes through here: with the session's cookie, the organization and the project. */
import { parseExact } from "@svc/sdk"
import { root } from "./root.ts"
import { createStore } from "./store.ts"

export interface Sent {
  readonly method: string
  /** Path and query, without the installation's own. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Blob | FormData | undefined
}

export interface Received {
  readonly status: number
  readonly type: string
  readonly requestId: string
  readonly ms: number
  readonly size: number
  /** Parsed, where it is JSON. */
  readonly json?: unknown
  readonly text?: string
  readonly blob?: Blob
  readonly fileName?: string
}

/** A line of the list of requests: what was asked, and what came of it. Bodies of replies are not kept. */
export interface Call {
  readonly at: number
  readonly sent: Sent
  readonly status: number
  readonly ms: number
  readonly requestId: string
}

const CALLS_MAX = 200
export const calls = createStore<readonly Call[]>([])

export interface Problem {
  readonly code: string
  readonly error: string
  readonly docs_url?: string
  readonly request_id?: string
  readonly errors?: readonly { readonly location?: string; readonly message?: string }[]
}

export const problemOf = ({ status, json, requestId }: Received): Problem | undefined => {
  if (status < 400) return undefined
  if (typeof json === "object" && json !== null && "code" in json) return json as Problem
  return { code: String(status), error: "The reply has no error code.", request_id: requestId }
}

/** `sign-in`: the session has ended; `step-up`: the operation needs the password once more. */
export type Question = "sign-in" | "step-up"
export const question = createStore<
  { readonly kind: Question; readonly done: (answered: boolean) => void } | undefined
>(undefined)

let asking: Promise<boolean> | undefined

/** One dialog for all requests that wait for it. */
const ask = (kind: Question): Promise<boolean> => {
  asking ??= new Promise<boolean>(resolve => {
    question.set({
      kind,
      done: answered => {
        question.set(undefined)
        asking = undefined
        resolve(answered)
      },
    })
  })
  return asking
}

/** Plain HTTP outside this machine has no `crypto.randomUUID`. */
export const randomId = (): string => {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const hex = [...bytes].map(byte => byte.toString(16).padStart(2, "0")).join("")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`
}

/** Shown as a whole in the page; more is saved as a file. */
const TEXT_BYTES_MAX = 1_000_000

const isText = (type: string) => /^text\/|[/+](json|xml|yaml)\b|javascript|x-www-form/.test(type)

const readStream = async (response: Response, onText: (text: string) => void): Promise<string> => {
  let text = ""
  if (!response.body) return text
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    text = (text + value).slice(-TEXT_BYTES_MAX)
    onText(text)
  }
}

const fileNameOf = (response: Response): string =>
  /filename="?([^";]+)/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? "download"

const parse = (text: string): unknown => {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

const contentOf = async (response: Response, type: string, onText?: (text: string) => void) => {
  if (type.startsWith("text/event-stream")) {
    const text = await readStream(response, onText ?? (() => undefined))
    return { text, size: text.length }
  }
  const blob = await response.blob()
  const { size } = blob
  if (!isText(type) || size > TEXT_BYTES_MAX) return { blob, size, fileName: fileNameOf(response) }
  const text = await blob.text()
  return /[/+]json\b/.test(type)
    ? { text, size, json: parse(text) }
    : { text, size, blob, fileName: fileNameOf(response) }
}

const once = async (sent: Sent, options: SendOptions): Promise<Received> => {
  const start = performance.now()
  const response = await fetch(`${root}${sent.path}`, {
    method: sent.method,
    headers: sent.headers,
    ...(sent.body === undefined ? {} : { body: sent.body }),
    ...(options.signal ? { signal: options.signal } : {}),
    credentials: sent.headers.authorization || sent.headers.apikey ? "omit" : "same-origin",
    cache: "no-store",
  })
  const type = response.headers.get("content-type") ?? ""
  const requestId = response.headers.get("x-request-id") ?? ""
  const content = await contentOf(response, type, options.onText)
  const ms = Math.round(performance.now() - start)
  const call = { at: Date.now(), sent, status: response.status, ms, requestId }
  if (!options.quiet) calls.set([call, ...calls.get()].slice(0, CALLS_MAX))
  return { status: response.status, type, requestId, ms, ...content }
}

export interface SendOptions {
  readonly signal?: AbortSignal
  /** Called as a stream grows, with all of it. */
  readonly onText?: (text: string) => void
  /** A question that the console asks for itself: not in the list, and no dialog opens. */
  readonly quiet?: boolean
}

/** Sends it, and once more after the person has signed in or proven who they are. The Idempotency-Key stays the same. */
export const send = async (sent: Sent, options: SendOptions = {}): Promise<Received> => {
  const received = await once(sent, options)
  if (options.quiet || sent.headers.authorization || sent.headers.apikey) return received
  const code = problemOf(received)?.code
  const needs =
    code === "session_expired" || code === "missing_credentials"
      ? "sign-in"
      : code === "step_up_required"
        ? "step-up"
        : undefined
  if (needs === undefined || !(await ask(needs))) return received
  return await once(sent, options)
}

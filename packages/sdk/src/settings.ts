import type { NumberMode } from "./numbers.ts"
import type { RateLimited } from "./surface.ts"

export const DEFAULT_BASE_URL = "http://127.0.0.1:4800"

export interface SvcOptions {
  /** Left out, only public routes and, with a session cookie, the console's routes answer. */
  readonly apiKey?: string | undefined
  readonly baseUrl?: string | undefined
  /** Project id for keys of the whole organization. */
  readonly project?: string | undefined
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** `include` makes a browser send its session cookie. */
  readonly credentials?: "omit" | "same-origin" | "include" | undefined
  readonly fetch?: typeof fetch | undefined
  /** For terminals; the global one unless told, which Node has from 22 on. */
  readonly WebSocket?: typeof WebSocket | undefined
  /** Of each attempt; 60 seconds unless told. */
  readonly timeoutMs?: number | undefined
  /** Attempts after the first; 3 unless told. */
  readonly retries?: number | undefined
  /** What a call does when a person must approve it: throw `ApprovalPending` (default), or wait for the decision. */
  readonly approvals?: "throw" | "wait" | undefined
  /**
   * What a number in a reply becomes that a JavaScript number would write differently. `bigint` (default): integers
   * above 2^53 are bigints, all else is the nearest number. `exact`: the object of `JSON.rawJSON`, for programs that
   * pass values on without computing with them.
   */
  readonly numbers?: NumberMode | undefined
  /** Called on every 429, before any wait. */
  readonly onRateLimit?: ((limited: RateLimited) => void) | undefined
  readonly sleep?: Sleep | undefined
}

export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>

export type Settings = ReturnType<typeof readSettings>

const TIMEOUT_MS = 60_000
const RETRIES = 3

/** Throws TypeError when the base URL is not an HTTP address. */
export const readSettings = (options: SvcOptions) => ({
  baseUrl: readBaseUrl(options.baseUrl ?? DEFAULT_BASE_URL),
  project: options.project,
  headers: {
    ...(options.apiKey ? { authorization: `Bearer ${options.apiKey}` } : {}),
    ...options.headers,
  } as Readonly<Record<string, string>>,
  credentials: options.credentials,
  // Looked up at each call and not kept: a browser's fetch throws unless it is called on the global object.
  fetch: options.fetch ?? ((url: string, init: RequestInit) => fetch(url, init)),
  WebSocket: options.WebSocket ?? (globalThis.WebSocket as typeof WebSocket | undefined),
  timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
  retries: options.retries ?? RETRIES,
  approvals: options.approvals ?? "throw",
  numbers: options.numbers ?? ("bigint" as const),
  onRateLimit: options.onRateLimit,
  sleep: options.sleep ?? timerSleep,
})

const readBaseUrl = (text: string): string => {
  const { protocol, origin, pathname } = new URL(text)
  if (protocol !== "http:" && protocol !== "https:") throw new TypeError(`not an HTTP address: ${text}`)
  return `${origin}${pathname.replace(/\/+$/, "")}`
}

const timerSleep: Sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop)
      resolve()
    }, ms)
    if (signal?.aborted) stop()
    else signal?.addEventListener("abort", stop, { once: true })
  })

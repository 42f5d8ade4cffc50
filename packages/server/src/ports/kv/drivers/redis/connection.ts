/** One connection to a Valkey or Redis that answers soon or fails soon, and comes back by itself. */
import { createHash } from "node:crypto"
import { createClient } from "@redis/client"
import { PortError } from "../../../port-error.ts"

/** Commands that may wait for an answer; the next one is turned away at once. */
const WAITING_MAX = 10_000
const RECONNECT_AFTER_MS_MAX = 1_000
/** A server that is gone without a word is found out by its silence. */
const PING_EVERY_MS = 2_000
const SILENCE_MS_MAX = 6_000

export type Reply = string | number | null | Reply[]

export interface Script {
  readonly source: string
  readonly sha1: string
}

export const defineScript = (source: string): Script => ({
  source,
  sha1: createHash("sha1").update(source).digest("hex"),
})

export interface Connection extends AsyncDisposable {
  send(command: readonly (string | Buffer)[]): Promise<Reply>
  /** Runs a script by its hash, and by its text on a server that has not seen it yet. */
  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply>
}

const parseAddress = (url: string) => {
  const { protocol, pathname, searchParams } = new URL(url)
  if (protocol !== "unix:") return { url }
  return { socket: { path: pathname, tls: false as const }, database: Number(searchParams.get("db") ?? 0) }
}

const createDriverClient = (url: string, timeoutMs: number) => {
  const { socket, ...address } = { socket: {}, ...parseAddress(url) }
  return createClient({
    ...address,
    RESP: 2,
    disableOfflineQueue: true,
    commandsQueueMaxLength: WAITING_MAX,
    pingInterval: PING_EVERY_MS,
    socket: {
      ...socket,
      connectTimeout: timeoutMs,
      socketTimeout: SILENCE_MS_MAX,
      reconnectStrategy: retries =>
        Math.min(50 * 2 ** retries, RECONNECT_AFTER_MS_MAX) * (0.5 + Math.random() / 2),
    },
  })
}

const unavailable = (cause: unknown): PortError => {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new PortError("unavailable", `the key-value server did not serve: ${reason}`, cause)
}

const isUnknownScript = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith("NOSCRIPT")

/**
 * Waits at most `timeoutMs` for a first connection: a server that is down now is an area degraded, not a
 * failed start.
 */
export const connect = async (url: string, timeoutMs: number): Promise<Connection> => {
  if (!URL.canParse(url)) throw new PortError("refused", "the key-value server's address is not a URL")
  const client = createDriverClient(url, timeoutMs)
  let lastError: unknown
  client.on("error", error => {
    lastError = error
  })

  const within = <T>(answer: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
      answer.then(resolve, reject).finally(() => clearTimeout(timer))
    })

  const ask = async (command: readonly (string | Buffer)[]): Promise<Reply> => {
    if (!client.isReady) throw lastError ?? new Error("not connected")
    return within(client.sendCommand<Reply>([...command]))
  }

  await within(client.connect()).catch(() => undefined)
  return {
    send: command => ask(command).catch(error => Promise.reject(unavailable(error))),
    async run({ source, sha1 }, keys, args) {
      const rest = [String(keys.length), ...keys, ...args]
      try {
        return await ask(["EVALSHA", sha1, ...rest]).catch(error => {
          if (!isUnknownScript(error)) throw error
          return ask(["EVAL", source, ...rest])
        })
      } catch (error) {
        throw unavailable(error)
      }
    },
    /** Lets the calls under way finish. */
    async [Symbol.asyncDispose]() {
      if (client.isReady) await within(client.close()).catch(() => undefined)
      client.destroy()
    },
  }
}

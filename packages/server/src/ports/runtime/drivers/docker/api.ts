/** The Docker Engine API (https://docs.docker.com/reference/api/engine/) over its socket, without a client's help. */
import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http"
import type { Readable } from "node:stream"
import { text } from "node:stream/consumers"
import { PortError } from "../../../port-error.ts"

export interface DockerCall {
  readonly query?: Readonly<Record<string, string>>
  /** Sent as JSON, or as it is. */
  readonly body?: object | Buffer
  /** Statuses beside those below 300 that are an answer. */
  readonly accepts?: readonly number[]
}

export interface DockerApi extends Disposable {
  /** What it answered; undefined when that was nothing or one of `accepts`. */
  call(method: string, path: string, call?: DockerCall): Promise<unknown>
  /** Resolves once the container's next end will be told, with a promise of that. */
  waitFor(container: string): Promise<{ readonly ended: Promise<void> }>
}

/** Of Docker 20.10. */
const VERSION_MIN = 41
const CALL_MS_MAX = 60_000
const ANSWER_CHARACTERS_MAX = 300

/** `unix:///path` or `tcp://host:port`, as DOCKER_HOST has it; without TLS. */
export const parseDockerHost = (host: string): Pick<RequestOptions, "socketPath" | "host" | "port"> => {
  const { protocol, hostname, port, pathname } = new URL(host)
  return protocol === "unix:"
    ? { socketPath: decodeURIComponent(pathname) }
    : { host: hostname, port: Number(port) }
}

const lacking = (host: string, error: NodeJS.ErrnoException): PortError => {
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "nothing is there: install the package docker.io, or say in SVC_DOCKER_HOST where Docker is",
    ECONNREFUSED: "nobody listens: Docker does not run",
    EACCES: "this user may not open it: only root and the group docker may",
  }
  const reason = reasons[error.code ?? ""] ?? error.message
  return new PortError("unavailable", `Docker at ${host}: ${reason}`, error)
}

const minorOf = (version: unknown): number => Number(/^1\.(\d+)$/.exec(String(version))?.[1] ?? Number.NaN)

/** The oldest version that has what we use, and that this daemon still speaks. */
export const negotiate = (told: { ApiVersion?: unknown; MinAPIVersion?: unknown }): string => {
  const [newest, oldest] = [minorOf(told.ApiVersion), minorOf(told.MinAPIVersion ?? "1.12")]
  if (!(newest >= VERSION_MIN))
    throw new PortError("refused", "this Docker is older than 20.10 (version 1.41 of its API)")
  return `v1.${Math.max(VERSION_MIN, oldest || 0)}`
}

const parse = (said: string): unknown => {
  try {
    return JSON.parse(said)
  } catch {
    return undefined
  }
}

const messageOf = async (answer: Readable): Promise<string> => {
  const said = await text(answer).catch(() => "")
  const { message = said } = (parse(said) ?? {}) as { message?: unknown }
  return String(message).slice(0, ANSWER_CHARACTERS_MAX)
}

export const openDockerApi = async (host: string): Promise<DockerApi> => {
  const place = parseDockerHost(host)
  const agent = new Agent({ keepAlive: true })
  let prefix = ""

  const send = (method: string, path: string, call: DockerCall, msMax?: number): Promise<IncomingMessage> => {
    const { query, body } = call
    const bytes = body === undefined || Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body))
    const search = query ? `?${new URLSearchParams(query)}` : ""
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const sent: ClientRequest = request({
      ...{ ...place, agent, method, path: `${prefix}${path}${search}` },
      headers: {
        host: "docker",
        "content-type": Buffer.isBuffer(body) ? "application/x-tar" : "application/json",
        "content-length": bytes?.length ?? 0,
      },
      ...(msMax !== undefined && { signal: AbortSignal.timeout(msMax) }),
    })
    sent.on("response", resolve).on("error", error => reject(lacking(host, error)))
    sent.end(bytes)
    return promise
  }

  const demand = async (answer: IncomingMessage, what: string): Promise<void> => {
    const status = answer.statusCode ?? 0
    if (status < 300) return
    const kind = status === 404 ? "missing" : status >= 500 ? "unavailable" : "refused"
    throw new PortError(kind, `Docker refuses ${what} (${status}): ${await messageOf(answer)}`)
  }

  const call: DockerApi["call"] = async (method, path, given = {}) => {
    const answer = await send(method, path, given, CALL_MS_MAX)
    const status = answer.statusCode ?? 0
    if (given.accepts?.includes(status)) {
      answer.resume()
      return undefined
    }
    await demand(answer, `${method} ${path}`)
    const said = await text(answer)
    // What is imported is told line by line; it has happened when that ends.
    return said === "" || path === "/images/create" ? undefined : parse(said)
  }

  try {
    prefix = `/${negotiate((await call("GET", "/version")) as object)}`
  } catch (error) {
    agent.destroy()
    throw error
  }
  return {
    call,
    async waitFor(container) {
      const path = `/containers/${container}/wait`
      const answer = await send("POST", path, { query: { condition: "next-exit" } })
      await demand(answer, `POST ${path}`)
      // A daemon that goes away under it has told all it will.
      return {
        ended: text(answer).then(
          () => undefined,
          () => undefined,
        ),
      }
    },
    [Symbol.dispose]: () => agent.destroy(),
  }
}

/** A request over HTTP as the pipeline sees it. */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { Incoming } from "../exchange.ts"
import { fault } from "../fault.ts"
import type { PipelineResult } from "../pipeline.ts"
import type { BodyReader } from "./body.ts"
import type { Relay, Upgrade } from "./relay.ts"

/** Node keeps the first of two Authorization or Host headers; a proxy in front may have read the second. */
export const checkHeaders = ({ rawHeaders, httpVersion }: IncomingMessage) => {
  let authorizations = 0
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 13 && name.toLowerCase() === "authorization") authorizations += 1
    else if (name.length === 4 && name.toLowerCase() === "host") hosts += 1
  }
  if (authorizations > 1) throw fault("header_duplicated", { header: "authorization" })
  if (hosts > 1) throw fault("header_duplicated", { header: "host" })
  if (hosts === 0 && httpVersion !== "1.0")
    throw fault("invalid_request", { reason: "it has no Host header" })
}

/** A request with what its route told. */
export interface Routed {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly params: Readonly<Record<string, string | undefined>>
  readonly query: Readonly<Record<string, unknown>>
}

/** A class for the sake of its prototype: what no stage asks for costs the request nothing. */
export class HttpIncoming implements Incoming {
  readonly ip: string
  readonly params: Incoming["params"]
  readonly query: Incoming["query"]
  readonly #routed: Routed
  readonly #bodies: BodyReader
  #hangUp: AbortController | undefined
  readonly #relay: Relay | undefined
  /** Of a body that was read. */
  bytes: Buffer | undefined
  #isStreamed = false

  constructor(routed: Routed, ip: string, bodies: BodyReader, relay: Relay | undefined) {
    this.ip = ip
    this.#relay = relay
    this.params = routed.params
    this.query = routed.query
    this.#routed = routed
    this.#bodies = bodies
  }

  get path() {
    return (this.#routed.request.url ?? "").split("?", 1)[0] ?? ""
  }

  get target() {
    return this.#routed.request.url ?? ""
  }

  header(name: string) {
    const value = this.#routed.request.headers[name]
    return Array.isArray(value) ? value.join(", ") : value
  }

  headerNames() {
    return Object.keys(this.#routed.request.headers)
  }

  json(bytesMax: number, textToo = false) {
    return this.#bodies.json(this.#routed.request, this.#routed.response, { bytesMax, textToo }, this)
  }

  form(bytesMax: number) {
    return this.#bodies.form(this.#routed.request, this.#routed.response, bytesMax, this)
  }

  stream() {
    this.#isStreamed = true
    return this.#bodies.stream(this.#routed.request, this.#routed.response)
  }

  get isBroken() {
    const { request } = this.#routed
    return request.destroyed && !request.complete
  }

  /** Once, and with all of its body. */
  get canGoOn() {
    return !this.#isStreamed && this.#relay?.callerOf(this.#routed.request) === undefined
  }

  /** Has another process answer; false when none did. */
  async goOn({ requestId, elsewhere }: PipelineResult, upgrade?: Upgrade): Promise<boolean> {
    const { request, response } = this.#routed
    if (!this.#relay || !elsewhere) return false
    const stream = () => this.#bodies.stream(request, response)
    return this.#relay.pass({
      ...{ request, response, requestId, address: this.ip, body: this.bytes, stream, to: await elsewhere() },
      ...(upgrade && { upgrade }),
    })
  }

  signal() {
    if (this.#hangUp) return this.#hangUp.signal
    const { response } = this.#routed
    const controller = new AbortController()
    const onClose = () => response.writableFinished || controller.abort()
    // Of the response, not of the socket, which lives on for the next request.
    if (response.destroyed) onClose()
    else response.once("close", onClose)
    this.#hangUp = controller
    return controller.signal
  }
}

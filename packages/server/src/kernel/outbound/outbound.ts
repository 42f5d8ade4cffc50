/**
 * Requests to addresses that users give: webhooks, pages to index, hooks of other platforms. The only way by which the
 * platform requests a URL that it did not get from its operator.
 *
 * A request goes to public addresses alone. What is refused, in every notation of an address and for every address that
 * a name resolves to: private, loopback, link-local, carrier-grade, multicast, documentation and reserved ranges, the
 * metadata services of clouds, the addresses of this machine, ports below 1024 other than 80 and 443, names of local
 * networks (`localhost`, `*.localhost`, `*.internal`, `*.local`, names of one label, the platform's own), and
 * credentials in the URL. `SVC_OUTBOUND_ALLOW` opens ranges, and with them the local names that resolve into them.
 * Plain http is for development and for what that setting opens.
 */
import type { Socket } from "node:net"
import type { Readable } from "node:stream"

export interface OutboundRequest {
  readonly url: string
  /** Default: GET. */
  readonly method?: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE"
  /**
   * At most 64 of 16 KiB together. Framing and hop-by-hop headers (`host`, `content-length`, `connection`, …) and
   * values that are not a header's are refused; `headersProblem` tells beforehand.
   */
  readonly headers?: Readonly<Record<string, string>>
  /** A stream is sent in chunks, and is destroyed when the request ends before it. */
  readonly body?: string | Uint8Array | Readable
  /** From the call to the last byte of the answer, redirects included. Default: 15,000. */
  readonly timeoutMs?: number
  /** Bytes of the answer's body, after decompression. Default: 65,536. */
  readonly responseBytesMax?: number
  /** Asks for a compressed answer and decompresses it. Without it the body comes as it was sent. */
  readonly decompress?: boolean
  /**
   * How many redirects a GET or HEAD follows, each judged like the first URL; more are refused. Headers other than
   * `accept`, `accept-language` and `user-agent` stay with the origin they were meant for. Default: 0, which hands a
   * redirect back as the answer it is.
   */
  readonly redirectsMax?: number
  /**
   * Whether the receiver takes a repetition for the same. Such a request is sent again when the connection it was sent on
   * had served before and turns out to be closed. Default: for GET and HEAD. A streamed body is never sent again.
   */
  readonly idempotent?: boolean
  readonly signal?: AbortSignal
}

export interface OutboundResponse<Body> {
  readonly kind: "answered"
  /** Any: a 500 is an answer. */
  readonly status: number
  /** Names in lower case; the values of a repeated one joined by `, `. At most 16 KiB. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Body
  /** The URL that answered, past all redirects. */
  readonly url: string
  /** The address that was connected to. */
  readonly address: string
  /** From the call to the end of the body, or to the headers where the body is a stream. */
  readonly durationMs: number
}

/** What a refused request ran into. */
export type Rule =
  /** No URL, or one over 8 KiB or with control characters. */
  | "url"
  /** Neither http nor https, or plain http where it is not for. */
  | "scheme"
  | "credentials"
  | "port"
  /** A name of local networks. */
  | "name"
  /** Every address of the target is out of bounds. */
  | "address"
  | "headers"
  /** More redirects than `redirectsMax`. */
  | "redirects"

/** Why there is no answer. `message` is a sentence for the person who gave the URL, and tells nothing of this network. */
export type Reason =
  /** Nothing was sent to the target. Repeating it changes nothing. */
  | { readonly kind: "refused"; readonly rule: Rule; readonly message: string }
  | {
      readonly kind:
        | "unresolved" // The name has no address, or no name server answered.
        | "unreachable" // No connection came about.
        | "tls" // The handshake failed, or the certificate is not valid for the name.
        | "timeout" // The time of the call, or five seconds to connect, were over.
        | "broken" // The connection ended in the middle, or what came is not HTTP or not the encoding it claims.
        | "too_large" // Headers over 16 KiB, or a body over its bound where the caller did not ask to cut it.
        | "aborted" // By the caller's signal, or because the platform stops.
      readonly message: string
    }

export type Failure = Reason & { readonly durationMs: number }

export interface BufferedRequest extends OutboundRequest {
  /** What becomes of a body over `responseBytesMax`: it is cut there, or the call fails as `too_large`. Default: `cut`. */
  readonly overflow?: "cut" | "fail"
}

export type BufferedAnswer = OutboundResponse<Buffer> & {
  /** Whether there was more than `body`. */
  readonly truncated: boolean
}

export interface Outbound extends AsyncDisposable {
  /** The whole answer. Never rejects for what the target does or is. */
  request(request: BufferedRequest): Promise<BufferedAnswer | Failure>
  /**
   * The answer as soon as its headers are there. The body must be read or destroyed; what goes wrong on its way, a byte
   * over `responseBytesMax` included, destroys it with an OutboundError.
   */
  open(request: OutboundRequest): Promise<OutboundResponse<Readable> | Failure>
  /**
   * A connection to the URL's host, for a protocol that this client does not speak: over TLS, with HTTP/2 among the
   * protocols on offer, where the URL says https. The caller closes it.
   */
  connect(
    url: string,
    signal: AbortSignal,
  ): Promise<{ readonly kind: "connected"; readonly socket: Socket } | Failure>
  /**
   * What can be said against a URL without asking anybody: undefined, or the sentence for the person who gave it. For
   * refusing it when it is saved; a request judges again.
   */
  urlProblem(url: string): string | undefined
  /** The same for the headers of a request. */
  headersProblem(headers: Readonly<Record<string, string>>): string | undefined
}

/** What destroys a streamed body that goes wrong. */
export class OutboundError extends Error {
  override readonly name = "OutboundError"
  readonly reason: Reason

  constructor(reason: Reason, cause?: unknown) {
    super(reason.message, { cause })
    this.reason = reason
  }
}

/** Who may look at a request before it is passed on, and refuse it. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { offerToken } from "../../kernel/token.ts"
import { isSmall, readAhead } from "./body.ts"
import type { ReadBody } from "./forward.ts"
import type { Refusal } from "./refusal.ts"

/** What is guarded. */
export interface Guarded {
  readonly projectId: string
  readonly loadBalancerId: string
  /** Nothing is refused: what would be is recorded alone. */
  readonly detectsOnly: boolean
}

/** A request, as far as it is looked at. */
export interface Seen {
  readonly request: IncomingMessage
  /** Path and query in origin form. */
  readonly target: string
  /** The client's. */
  readonly address: string
  readonly requestId: string
  /** The first bytes of its body. */
  readonly body: Buffer | undefined
}

export interface Inspection {
  /** How many bytes of bodies it wants to see; 0 for none. */
  readonly bodyBytes: number
  /** Before the body is read; a refusal here costs the sender's bytes nothing but headers. */
  admit(seen: Omit<Seen, "body">): Refusal | undefined
  inspect(seen: Seen): Promise<Refusal | undefined>
}

export interface RequestInspector {
  /** Rejects where it cannot be known what to look for. */
  open(guarded: Guarded): Inspection | Promise<Inspection>
}

export const requestInspector = offerToken<RequestInspector>("requestInspector")

/** Nothing passes a guard that is not there. */
const UNGUARDED: Refusal = {
  status: 503,
  text: "The firewall of this address cannot judge the request now.",
  headers: { "retry-after": "1" },
}

/** Why the request is not passed on, and what was read of its body. */
export const inspectRequest = async (
  open: () => Promise<Inspection>,
  seen: Omit<Seen, "body">,
  {
    response,
    hasBody,
    keptBytesMax,
  }: {
    readonly response: ServerResponse
    /** False for what goes on as a WebSocket: what follows its headers is no body. */
    readonly hasBody: boolean
    /** Bodies up to this size are read whole, whatever the inspection wants. */
    readonly keptBytesMax: number
  },
): Promise<{ readonly refusal?: Refusal | undefined; readonly body?: ReadBody | undefined }> => {
  const inspection = await open().catch(() => undefined)
  if (!inspection) return { refusal: UNGUARDED }
  const refusal = inspection.admit(seen)
  if (refusal) return { refusal }
  const kept = isSmall(seen.request, keptBytesMax) ? keptBytesMax + 1 : 0
  const bytesMax = hasBody ? Math.max(inspection.bodyBytes, kept) : 0
  const body = bytesMax > 0 ? await readAhead(seen.request, response, bytesMax) : undefined
  return { body, refusal: await inspection.inspect({ ...seen, body: body?.bytes }) }
}

import type { ContentKind, Effect, Envelope, Method, ReplyKind } from "@svc/contract"

/** What a client needs to know of one operation to call it; the table of them is generated. */
export interface Route {
  readonly method: Method
  readonly path: string
  /** Names of the fields that travel in the path, in its order. */
  readonly params?: readonly string[]
  readonly query?: readonly string[]
  /** How the body travels; absent: the request has none. Input fields that nothing else claims belong to a body of JSON or of a form. */
  readonly body?: ContentKind
  /** The field that is the whole JSON body. */
  readonly bodyAs?: string
  /** How the reply travels where that is not JSON. */
  readonly reply?: ReplyKind
  readonly effect: Effect
  /** An `Idempotency-Key` makes repeating it safe. */
  readonly keyed?: true
  /** Nothing makes repeating it safe, so it is sent again only when the platform says that nothing was done. */
  readonly once?: true
  /** Absent: `data`. */
  readonly envelope?: Exclude<Envelope, "data">
  readonly list?: true
  /** It can act inside a project, so the header that names one is sent. */
  readonly project?: true
}

export type Routes = Readonly<Record<string, Readonly<Record<string, Route>>>>

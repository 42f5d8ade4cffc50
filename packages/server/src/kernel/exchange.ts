import type { Readable } from "node:stream"
import { heldMask, type Meter, type Operation, type Reply } from "@svc/contract"
import type {
  AuditNote,
  Handshake,
  OrganizationFacts,
  Principal,
  ProjectFacts,
  SignedRequest,
} from "./call.ts"
import type { Db } from "./db/database.ts"
import type { BoundOperation } from "./implement.ts"
import type { Logger } from "./log.ts"

/** A request as an edge hands it in: HTTP, or a caller inside the process. */
export interface Incoming {
  header(name: string): string | undefined
  /** The names of all its headers, in lower case. */
  headerNames(): readonly string[]
  readonly ip: string
  /** The concrete path, for the audit entry and the replay record. */
  readonly path: string
  /** Path and query exactly as they came: what a signature covers. */
  readonly target: string
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  /** Reads and parses a JSON body of at most `bytesMax`, sent as text too if told; undefined when there is none. */
  json(bytesMax: number, textToo?: boolean): Promise<unknown>
  /** Reads and parses the fields of a form; undefined when there is no body. A field that comes twice is a list. */
  form(bytesMax: number): Promise<unknown>
  stream(): Readable
  /** Created on first use: most calls end before the client could disconnect. */
  signal(): AbortSignal
  /** Whether its sender went away before all of its body had come. */
  readonly isBroken?: boolean
  /** Whether another process of the platform can be asked instead; asked when this one had to refuse. */
  readonly canGoOn?: boolean
  /** Of a request that would go on as a WebSocket, to an operation that is one. */
  readonly handshake?: Handshake
  /** Set by callers inside the process, which have proved who they are already. */
  readonly principal?: Principal
  /** The approval that this call carries out; it then waits for no other. */
  readonly approvalId?: string
}

/** The state of one call on its way through the stages. Each stage fills in its part. */
export interface Exchange {
  readonly bound: BoundOperation
  readonly operation: Operation
  readonly incoming: Incoming
  readonly log: Logger
  readonly nowMs: number
  readonly requestId: string
  /** Headers of the reply, whatever it becomes. */
  readonly headers: Record<string, string>
  principal: Principal
  /** What the signature of the request was made with, when it was signed instead of bearing a key. */
  signed: SignedRequest | null
  organization: OrganizationFacts | null
  project: ProjectFacts | null
  input: Readonly<Record<string, unknown>>
  note: AuditNote
  /** What the handler metered itself, and what it left for after the commit. Mostly nothing. */
  meters: readonly (readonly [Meter, number])[]
  commits: readonly (() => void | Promise<void>)[]
  rollbacks: readonly (() => void | Promise<void>)[]
  /** For operations with `limit: handler`: counts the request against the given limit. */
  countRequest?: (organization: OrganizationFacts | null) => void
  /** The replay record that this call holds, once the replay stage has claimed it. */
  replay: ReplayClaim | null
}

export interface ReplayClaim {
  /** True once the answer is stored. */
  settled: boolean
  /** Of a request whose body is bytes: compares them with those of its repetition. */
  readonly body?: { watch(stream: Readable): void; isWhole(): boolean }
  settle(db: Db, reply: Reply): Promise<void>
  release(): Promise<void>
}

/** Ends the call with a reply, or lets the next stage have it. Throws a fault to refuse. */
export type Stage = (exchange: Exchange) => Reply | undefined | Promise<Reply | undefined>

const USER_AGENT_MAX = 500

/** What the caller's program says of itself, cut to a length worth keeping. */
export const userAgentOf = (incoming: Incoming): string | null =>
  incoming.header("user-agent")?.slice(0, USER_AGENT_MAX) ?? null

/** One empty list for all who have nothing to list. */
export const none: readonly never[] = Object.freeze([])

export const anonymous: Principal = Object.freeze({
  type: "anonymous",
  id: "",
  name: "anonymous",
  key: null,
  user: null,
  session: null,
  organization: null,
  role: null,
  scopes: [],
  held: heldMask([]),
  project: null,
  projectIds: null,
  organizationReach: false,
  readOnly: false,
  requireApproval: false,
  allowlist: null,
})

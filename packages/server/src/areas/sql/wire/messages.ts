/** What the platform's process and the proxy's process tell each other. */
import type { RequireTls } from "../../../services/postgres/client-port.ts"
import type { FinishedCall } from "./call-queue.ts"
import type { VerifierRequest } from "./verifiers.ts"

/** Where a branch takes connections: the file of a Unix socket, or a host (over TLS when `tls` is there). */
export type WireTarget = {
  /** How long the branch took to wake; 0 when it was awake. */
  readonly wakeMs: number
  /** Connections that the proxy lets through to the branch at a time. */
  readonly connectionsMax: number
} & (
  | { readonly socketPath: string }
  | {
      readonly host: string
      readonly port: number
      readonly tls?: { readonly ca: string; readonly servername: string }
    }
)

export interface WireOpenRequest {
  readonly branchId: string
  readonly user: string
  readonly database: string
  readonly clientAddress: string
  readonly connectionId: string
}

export interface WireActivity {
  readonly branchId: string
  readonly connectionId: string
  readonly kind: "opened" | "busy" | "idle" | "listening" | "closed"
}

/** A statement that went over the wire. */
export interface WireCall extends FinishedCall {
  readonly branchId: string
  readonly connectionId: string
  readonly user: string
  readonly applicationName: string
  readonly clientAddress: string
}

export interface WireLimits {
  /** Connections altogether. */
  readonly connectionsMax: number
  /** Connections of one address that are not logged in yet. */
  readonly startupsPerAddressMax: number
  /** For a client to say what it wants, TLS included. */
  readonly startupTimeoutMs: number
  /** For a branch to wake. */
  readonly openTimeoutMs: number
  /** Clients of a branch that share connections. */
  readonly pooledClientsMax: number
  /** Server connections of one role and database for them. */
  readonly poolSizeMax: number
  /** Server connections of a branch for them. */
  readonly pooledServersMax: number
  /** For a client to get a server connection. */
  readonly poolWaitTimeoutMs: number
  /** Server connections that nobody had for so long are closed. */
  readonly poolIdleTimeoutMs: number
}

export interface ProxySettings {
  readonly requireTls: RequireTls
  /** Whether passwords can be checked here, by what servers keep of them. */
  readonly readsVerifiers: boolean
  readonly limits: WireLimits
}

export type ToProxy =
  /** `tunneled`: the client's own address, of one that comes through this machine over an encrypted way. */
  | { readonly kind: "connection"; readonly connectionId: string; readonly tunneled?: string | undefined }
  | { readonly kind: "answer"; readonly id: number; readonly value: unknown }
  | {
      readonly kind: "refusal"
      readonly id: number
      readonly sqlstate: string
      readonly message: string
      readonly hint?: string | undefined
    }
  | { readonly kind: "disconnect"; readonly branchId: string }
  | { readonly kind: "stop" }

export type FromProxy =
  | { readonly kind: "open"; readonly id: number; readonly request: WireOpenRequest }
  | { readonly kind: "certificate"; readonly id: number }
  | { readonly kind: "verifier"; readonly id: number; readonly request: VerifierRequest }
  | { readonly kind: "taken"; readonly connectionId: string }
  | { readonly kind: "activity"; readonly events: readonly WireActivity[] }
  | { readonly kind: "calls"; readonly calls: readonly WireCall[]; readonly missed: number }
  | { readonly kind: "closed"; readonly connectionId: string }
  | { readonly kind: "warning"; readonly message: string; readonly reason: string }

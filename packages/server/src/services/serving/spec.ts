/** What the engine must know of a revision: which program it is, and how many of it may run. */
import type { Mount, Root } from "../../ports/runtime/port.ts"

export interface HealthCheck {
  /** Null: the port must accept connections. */
  readonly path: string | null
  /** Left out: the port of its requests. */
  readonly port?: number
  readonly intervalMs: number
  readonly timeoutMs: number
  /** How long an instance may take to become healthy. */
  readonly graceMs: number
  /** Failures one after the other by which an instance is unhealthy. */
  readonly unhealthyThreshold: number
}

/** A program as it is started. */
export interface Launch {
  readonly root: Root
  readonly mounts: readonly Mount[]
  readonly argv: readonly [string, ...string[]]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly user: "user" | "root"
  /** Files that are shown to it read-only. */
  readonly files?: {
    readonly at: string
    readonly sha256: string
    readonly read: () => Promise<Buffer>
  }
}

/** What happens to an instance that has ended, where instances run whether anybody asks or not. */
export interface RestartRule {
  /** `on-failure`: not one that ended with code 0. */
  readonly when: "no" | "on-failure" | "always"
  /** Restarts one after the other of an instance that does not stay up. */
  readonly retriesMax: number
}

/** How an instance ended. */
export interface InstanceEnd {
  readonly reason: string
  readonly exitCode: number | null
  readonly outOfMemory: boolean
  /** The platform ended it. */
  readonly isExpected: boolean
}

/** One version of something that serves requests. */
export interface RevisionSpec {
  readonly id: string
  /** The service that it is a revision of. */
  readonly serviceId: string
  readonly organizationId: string
  readonly projectId: string
  /** Null: it takes no connections, and is ready while it runs. */
  readonly port: number | null
  /** Present: so many instances run as are kept, by this rule. Left out: as many as there are requests for. */
  readonly restart?: RestartRule
  /** Requests that one instance serves at once. */
  readonly concurrency: number
  readonly minInstances: number
  readonly maxInstances: number
  readonly vcpus: number
  readonly memoryMb: number
  /** How long an instance stays without a request. */
  readonly idleMs: number
  /** How long a request waits for an instance. */
  readonly waitMs: number
  readonly health: HealthCheck
  /** Throws a StartError where the image, the files or the environment cannot be had. */
  open(): Promise<Launch>
}

/** The program could not be started, or did not become healthy; the message is for the person whose it is. */
export class StartError extends Error {
  override readonly name = "StartError"
  /** Trying again does not help. */
  readonly isFinal: boolean
  /** Exit code and the like, where it ran at all. */
  readonly end: Pick<InstanceEnd, "exitCode" | "outOfMemory"> | undefined
  constructor(message: string, isFinal = false, end?: StartError["end"]) {
    super(message)
    this.isFinal = isFinal
    this.end = end
  }
}

/** Why a request is not served; `gone`: another version may serve it by now. */
export type UnservedKind = "failed" | "crowded" | "late" | "left" | "stopping" | "gone"

export class UnservedError extends Error {
  override readonly name = "UnservedError"
  readonly kind: UnservedKind
  constructor(kind: UnservedKind, message: string) {
    super(message)
    this.kind = kind
  }
}

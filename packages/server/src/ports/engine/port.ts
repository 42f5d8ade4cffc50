/**
 * Where tenant databases run. A volume is one PostgreSQL cluster with the history it can be restored from; a branch of
 * a database is a name that points to a volume. The port knows volumes only: names, tenants and who may do what are the
 * area's. All methods may be called again after a crash of the caller: what exists already is not made twice.
 */
import { openedToken } from "../../kernel/token.ts"

export const pgVersions = [16, 17, 18] as const
export type PgVersion = (typeof pgVersions)[number]

/** `shared` and `isolated` volumes are packed on the host; `dedicated` ones have resources of their own. */
export type Tier = "shared" | "isolated" | "dedicated"

/** A position in the write-ahead log, as PostgreSQL writes it: `0/3FA01B0`. */
export type Lsn = string

/** What a caller must say of a volume each time; the same through its whole life. */
export interface VolumeRef {
  /** UUID. */
  readonly id: string
  readonly pgVersion: PgVersion
  readonly tier: Tier
}

/** Passwords of a volume's login roles: that of `owner`, which is the tenant's, and that of the platform's own roles. */
export interface VolumeCredentials {
  readonly owner: string
  readonly reader: string
}

export const DATABASE_NAME = "app"
export const OWNER_ROLE = "owner"
/** As whom the platform itself logs in to act as `owner`, whatever the tenant does to that role's password or settings. */
export const OWNER_SESSION_ROLE = "svc_owner"
/** May read what the tenant's roles make, and no catalog that holds secrets. */
export const READER_ROLE = "svc_reader"
/** Roles of the platform's own: nobody may log in as one from outside. */
export const PLATFORM_ROLE_PREFIX = "svc_"

/**
 * Settings of sessions of the platform's own, sent when they connect. They outrank what a tenant sets for a role or for
 * the database, which could end such a session as it begins, or change what its statements do.
 */
export const pinnedSettings = (version: PgVersion) => ({
  local_preload_libraries: "",
  role: "none",
  default_transaction_read_only: "off",
  default_transaction_deferrable: "off",
  lock_timeout: "0",
  idle_session_timeout: "0",
  idle_in_transaction_session_timeout: "600000",
  ...(version >= 17 ? { transaction_timeout: "0" } : {}),
  exit_on_error: "off",
  row_security: "on",
  client_min_messages: "notice",
  password_encryption: "scram-sha-256",
})

/** As the `options` of a startup packet. */
export const asOptions = (settings: Readonly<Record<string, string>>): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(" ")

/** Where a running volume takes connections: a folder that holds a Unix socket, or a host name. */
export interface Endpoint {
  readonly host: string
  readonly port: number
  /** Settings for a TLS connection; absent on a Unix socket. */
  readonly tls?: { readonly ca: string; readonly servername: string }
  /** How long this caller waited for the volume to start; 0 when it was awake. */
  readonly wakeMs: number
}

/**
 * Up to where a new volume takes over the history of its source. A time means every commit up to and including it, a
 * position every commit before it.
 */
export type RecoveryPoint =
  | { readonly kind: "head" }
  | { readonly kind: "time"; readonly time: Date }
  | { readonly kind: "lsn"; readonly lsn: Lsn }

/** What becomes of the passwords of roles that the tenant made, in a copy. */
export interface RolePasswords {
  /** A role in both has the password that it has in this volume now, the owner too. */
  readonly asIn?: VolumeRef
  /** `cleared`: whoever knows a password of the source's other roles does not get into the copy by it. */
  readonly others: "kept" | "cleared"
}

export interface BranchedFrom {
  /** Where the copy parted from its source. */
  readonly lsn: Lsn
  readonly time: Date
}

/** What can be restored. `earliest` null: nothing yet. */
export interface RecoveryWindow {
  readonly earliest: Date | null
  readonly latest: Date | null
  readonly latestLsn: Lsn | null
  /** `asynchronous`: the newest commits may not be in the history yet, and would be lost with the volume. */
  readonly protection: "synchronous" | "asynchronous" | "at_rest"
}

export type VolumeState = "idle" | "starting" | "active" | "stopping"

export interface VolumeStatus {
  readonly id: string
  readonly state: VolumeState
  /** Bytes of log that are not in the history yet; null when at rest or not known. */
  readonly walLagBytes: number | null
  readonly protection: RecoveryWindow["protection"]
  /** Up to where the log is in the history; moves when something was written. Null when at rest or not known. */
  readonly loggedLsn: Lsn | null
}

export interface VolumeSize {
  /** Bytes that the databases take on the host, temporary files too; the server's own log is left out. */
  readonly dataBytes: number
  /** Bytes that the volume and its history take on the host. */
  readonly physicalBytes: number
  readonly historyBytes: number
}

/** What goes on in a running volume. */
export interface VolumeUse {
  /** Sessions, the platform's own left out. */
  readonly sessions: number
  /** Those of them that run a statement or are in a transaction. */
  readonly activeSessions: number
  /** Bytes of the databases in it. */
  readonly logicalBytes: number
}

export interface EngineCapabilities {
  readonly driver: string
  readonly versions: readonly PgVersion[]
  readonly tiers: readonly Tier[]
  /** How copies are made: `reflink` shares blocks until they change, `copy` takes time by size. */
  readonly copies: "reflink" | "copy" | "snapshot"
  /** What keeps volumes from each other's files: a user of its own, a namespace, a container, or nothing. */
  readonly isolation: "user" | "namespace" | "container" | "none"
  /** Whether volumes are cut off from the network. */
  readonly network: "none" | "policy" | "open"
  /** Whether `verifierOf` is offered. */
  readonly verifiers: boolean
  /** Whether `setReadOnly` works. Where it does not, the engine itself bounds how large a volume gets. */
  readonly readOnlyVolumes: boolean
}

/** What an engine tells without being asked. */
export interface EngineEvents {
  /** A running volume ended by itself; the next `wake` starts it again. */
  stopped(volumeId: string): void
}

/**
 * Errors are `PortError`s: `missing` when the volume does not exist, `refused` when the call can never succeed (a point
 * outside the recovery window, a tier that is not offered), `unavailable` when it may later.
 */
export interface EnginePort extends AsyncDisposable {
  readonly capabilities: EngineCapabilities
  health(): Promise<{ readonly ok: boolean; readonly reason?: string }>
  subscribe(events: EngineEvents): Disposable

  /** Makes an empty volume and leaves it running. When this resolves it takes SQL and survives a crash. */
  create(volume: VolumeRef, credentials: VolumeCredentials): Promise<void>
  /** Starts the volume unless it runs. Callers at the same time share one start; too many starts wait their turn. */
  wake(volume: VolumeRef, signal?: AbortSignal): Promise<Endpoint>
  /** Ends every session and stops the volume; does nothing when it is at rest. */
  suspend(volume: VolumeRef): Promise<void>
  /**
   * Makes `target` a copy of `source` at a point, with other passwords, and leaves it running. Reading from the head of
   * a running source disturbs none of its sessions. Version and tier of both are the same. Passwords of roles that the
   * tenant made are cleared unless `roles` says otherwise.
   */
  branch(
    source: VolumeRef,
    target: VolumeRef,
    point: RecoveryPoint,
    credentials: VolumeCredentials,
    roles?: RolePasswords,
  ): Promise<BranchedFrom>
  /** Changes the passwords; sessions that are open stay. */
  setCredentials(volume: VolumeRef, credentials: VolumeCredentials): Promise<void>
  /**
   * Lets the platform's own roles into a volume again that a tenant shut them out of: by another password or setting of
   * a role, a limit of connections, rights taken away.
   */
  restoreAccess(volume: VolumeRef, credentials: VolumeCredentials): Promise<void>
  /**
   * What the server keeps of a role's password now (`SCRAM-SHA-256$<iterations>:<salt>$<stored key>:<server key>`), for a
   * proxy that checks passwords itself. Undefined for roles that may not log in by one. Wakes the volume.
   */
  verifierOf(volume: VolumeRef, role: string): Promise<string | undefined>
  window(volume: VolumeRef): Promise<RecoveryWindow>
  /**
   * Drops the history before `before` as far as nothing after it needs it; and, oldest first, what takes more than
   * `bytesMax`, for which a new beginning is made where needed.
   */
  prune(volume: VolumeRef, before: Date, bytesMax?: number): Promise<void>
  size(volume: VolumeRef): Promise<VolumeSize>
  /** Looks into a running volume; undefined when it is at rest. Does not wake it. */
  inspect(volume: VolumeRef): Promise<VolumeUse | undefined>
  /**
   * From then on no session writes, whatever its role and its settings, or all may again. Ends all sessions when it
   * changes. Refused where capabilities say so.
   */
  setReadOnly(volume: VolumeRef, readOnly: boolean): Promise<void>
  /** Starts a read-only volume for one task that writes. Nobody else gets in; the server stops after it. */
  whileWritable<Result>(volume: VolumeRef, task: (endpoint: Endpoint) => Promise<Result>): Promise<Result>
  /** Frees everything of the volume, its history too. Does nothing when it does not exist. */
  destroy(volume: VolumeRef): Promise<void>
  /** The volumes that are not at rest. */
  running(): readonly VolumeStatus[]
}

export const engine = openedToken<EnginePort>("engine")

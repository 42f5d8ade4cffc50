/** What other areas may ask of this one: types and tokens alone. */

import type { Call } from "../../kernel/call.ts"
import { offerToken } from "../../kernel/token.ts"
import type { Endpoint, Tier } from "../../ports/engine/port.ts"
import type { ClientPortSettings } from "../../services/postgres/client-port.ts"
import type { Session, Sessions } from "../../services/postgres/sessions.ts"
import type { Target, TargetInput } from "../../services/postgres/target.ts"

export interface Targets {
  /** Throws `database_not_found`, `branch_not_found` or `database_not_provisioned`; another tenant's answers like none. */
  of(call: Call, input: TargetInput): Promise<Target>
}

/** The branches that calls name, and sessions in their databases. */
export interface DatabaseAccess {
  readonly targets: Targets
  readonly sessions: Sessions
}

export const databaseAccess = offerToken<DatabaseAccess>("databaseAccess")

export interface TableQuery {
  readonly schema: string
  readonly table: string
  readonly columns: readonly string[]
  /** The key of the last row of the page before; null for the first page. */
  readonly after: readonly string[] | null
  readonly limit: number
}

export interface TablePage {
  /** In the order of the primary key, whose values are given as PostgreSQL writes them. */
  readonly rows: readonly {
    readonly key: readonly string[]
    /** By column, as JSON. */
    readonly values: Readonly<Record<string, unknown>>
  }[]
}

/** Rows of a project's databases, read with no right to write. */
export interface TableReader {
  /** Throws `database_not_found` and `table_not_found`, also for one without primary key. */
  read(
    of: {
      readonly organizationId: string
      readonly projectId: string
      /** The project's default one when undefined. */
      readonly databaseId: string | undefined
      readonly branchId: string | undefined
    },
    query: TableQuery,
    signal: AbortSignal,
  ): Promise<TablePage>
}

export const tableReader = offerToken<TableReader>("tables")

export interface BranchQuery {
  readonly organizationId: string
  readonly projectId: string
  readonly databaseId?: string | undefined
  readonly branchId?: string | undefined
}

/** A branch's server, kept running until disposed. */
export interface Lease extends Disposable {
  readonly endpoint: Endpoint
}

/** `objects` runs no code of the tenant's; `rows` may, by triggers and by the expressions of indexes. */
export type Frees = "objects" | "rows"

export type BranchListener = (branch: Target) => void | Promise<void>

/** Servers of branches, for those who speak PostgreSQL's protocol with them. */
export interface BranchServers {
  /** The port to which their clients come. */
  readonly clientPort: ClientPortSettings
  /** Without a database: the project's default one. Without a branch: the database's default one. */
  find(query: BranchQuery): Promise<Target | undefined>
  /** By the id alone, where the password is the proof. Not cached. */
  findById(branchId: string): Promise<Target | undefined>
  /** Resumes the branch's server where it is suspended. Throws `service_unavailable` (503) when it cannot be started. */
  acquire(branch: Target, signal?: AbortSignal): Promise<Lease>
  /** Connections of PostgreSQL's protocol that keep a server running, or merely exist. */
  reportConnection(branchId: string, connectionId: string, state: "open" | "busy" | "closed"): void
  /** What the branch's server stores of a role's password; undefined where that is not to be read. */
  readonly verifierOf: ((branch: Target, role: string) => Promise<string | undefined>) | undefined
  /** Sessions for one statement that makes a full database smaller, which throw `invalid_sql` when only `DROP` is left. */
  sessionsToFree(frees: Frees): Sessions
  /** Calls the listener before a branch's server is suspended, and waits for it; and after the server ended by itself. */
  onEnded(listener: BranchListener): Disposable
}

export const branchServers = offerToken<BranchServers>("branchServers")

/** What the platform knows of a branch and its server does not. */
export interface BranchFacts {
  readonly tier: Tier
  /** 0: never asleep. */
  readonly suspendTimeoutSeconds: number
  readonly historyRetentionSeconds: number
  /** Of the last seven days. */
  readonly wakes: { readonly count: number; readonly hoursAwake: number }
  readonly physicalBytes: number
  readonly historyBytes: number
  readonly connectionsMax: number
}

/**
 * Makes a branch of the target, lends a session of its owner, and drops the branch when `work` has ended. Rejects with a
 * `PortError` or a fault, before `work` has begun, when there can be none.
 */
export type WithTemporaryBranch = <Result>(
  target: Target,
  work: (session: Session) => Promise<Result>,
  options?: { readonly signal?: AbortSignal },
) => Promise<Result>

/** What advice is based on beside the database itself. */
export interface BranchInsight {
  factsOf(target: Target): Promise<BranchFacts>
  readonly withTemporaryBranch: WithTemporaryBranch
}

export const branchInsight = offerToken<BranchInsight>("branchInsight")

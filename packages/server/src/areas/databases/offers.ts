/** What other areas may ask of this one: types and tokens alone. */
import type { Sessions } from "../../core/postgres/sessions.ts"
import type { Target, TargetInput } from "../../core/postgres/target.ts"
import type { Call } from "../../kernel/call.ts"
import { offerToken } from "../../kernel/token.ts"

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

import { area, T } from "./dsl.ts"
import { Id, Nullable, OneOf, Page, pageQuery, Time } from "./types.ts"

export const PG_VERSIONS = [16, 17, 18] as const
export const PG_VERSION_DEFAULT = 16
export const ISOLATION_TIERS = ["shared", "isolated", "dedicated"] as const
export const SUSPEND_TIMEOUT_SECONDS_DEFAULT = 300
export const HISTORY_RETENTION_SECONDS_DEFAULT = 86_400

const NAME = "^[a-z][a-z0-9_-]{0,62}$"
const DatabaseName = T.String({
  pattern: NAME,
  description: "Lowercase letters, digits, `-` and `_`, beginning with a letter; at most 63",
})
const BranchName = T.String({ minLength: 1, maxLength: 63, pattern: "^[A-Za-z0-9][A-Za-z0-9_./-]*$" })
const ComputeState = OneOf(["idle", "starting", "active", "stopping"])
const Lsn = T.String({
  pattern: "^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$",
  description: "A position in the write-ahead log, as `0/3FA01B0`",
})
const SuspendTimeout = T.Integer({
  minimum: 0,
  maximum: 604_800,
  description: "Idle seconds after which the database sleeps; 0: never",
})
const HistoryRetention = T.Integer({
  minimum: 0,
  maximum: 30 * 86_400,
  description: "How far back the database can be restored to any second",
})

const Connection = T.Object({
  host: T.String(),
  port: T.Integer(),
  database: T.String(),
  user: T.String(),
  ssl_mode: T.String(),
})

const databaseFields = {
  id: Id,
  name: T.String(),
  project_id: Id,
  tenant_id: Id,
  pg_version: T.Integer(),
  isolation: OneOf(ISOLATION_TIERS),
  state: OneOf(["active", "deleted"]),
  compute_state: ComputeState,
  parent_id: Nullable(Id),
  default_branch_id: Id,
  is_default: T.Boolean({
    description: "The database that requests of its project mean when they name none",
  }),
  suspend_timeout_seconds: T.Integer(),
  history_retention_seconds: T.Integer(),
  logical_size_bytes: T.Integer(),
  physical_size_bytes: T.Integer(),
  connection: Connection,
  created_at: Time,
  updated_at: Time,
  last_active_at: Nullable(Time),
  deleted_at: Nullable(Time),
  purge_at: Nullable(Time),
}

export const Database = T.Object(databaseFields)

const Password = T.String({ description: "Shown this once" })
const ConnectionUri = T.String({ description: "With the password when that is shown, else without" })

const NewDatabase = T.Object({
  ...databaseFields,
  connection_uri: T.Optional(ConnectionUri),
  password: T.Optional(Password),
})

const Credentials = T.Object({
  connection_uri: ConnectionUri,
  connection: Connection,
  password: T.Optional(Password),
})

const branchFields = {
  id: Id,
  database_id: Id,
  name: T.String(),
  parent_id: Nullable(Id),
  parent_lsn: Nullable(T.String()),
  parent_timestamp: Nullable(Time),
  default: T.Boolean(),
  protected: T.Boolean(),
  state: OneOf(["creating", "ready"]),
  compute_state: ComputeState,
  logical_size_bytes: T.Integer(),
  connection: Connection,
  created_at: Time,
  updated_at: Time,
  expires_at: Nullable(Time),
}

export const Branch = T.Object(branchFields)
const NewBranch = T.Object({
  ...branchFields,
  connection_uri: T.Optional(ConnectionUri),
  password: T.Optional(Password),
})

const DatabaseId = T.Object({ id: Id })
const BranchId = T.Object({ id: Id, branch_id: Id })

const READ = ["database:read", "database:query"] as const
const BRANCH_READ = ["database:branch", "database:read"] as const

const CREATE_FAULTS = [
  "invalid_isolation_tier",
  "unsupported_pg_version",
  "isolation_tier_unavailable",
  "name_taken",
  "no_host_capacity",
  "service_unavailable",
] as const

export const databases = area(
  "databases",
  {
    title: "Databases",
    summary:
      "PostgreSQL 16, 17 and 18: one server a database, asleep when idle, branched and restored at will",
    project: "required",
  },
  {
    list: {
      id: "listDatabases",
      http: "GET /v1/databases",
      summary: "List the project's databases",
      scope: READ,
      effect: "read",
      query: T.Object({
        ...pageQuery,
        include_deleted: T.Optional(T.Boolean({ description: "Also those that can still be restored" })),
      }),
      replies: { 200: Page(Database) },
    },
    create: {
      id: "createDatabase",
      http: "POST /v1/databases",
      summary: "Create a database",
      description:
        "Answers when the database takes SQL. The password is shown this once; `reset-password` makes another.",
      scope: "database:manage",
      effect: "write",
      body: T.Object({
        name: DatabaseName,
        isolation: T.Optional(
          T.String({ maxLength: 32, description: "shared, isolated (default) or dedicated" }),
        ),
        pg_version: T.Optional(T.Integer({ description: "16 (default), 17 or 18; fixed from then on" })),
        suspend_timeout_seconds: T.Optional(SuspendTimeout),
        history_retention_seconds: T.Optional(HistoryRetention),
      }),
      aliases: { version: "pg_version", tier: "isolation" },
      replies: { 201: NewDatabase },
      faults: CREATE_FAULTS,
      secrets: ["password", "connection_uri"],
      example: { name: "orders", pg_version: 17 },
    },
    provision: {
      id: "provisionDatabase",
      http: "POST /v1/databases/provision",
      summary: "Get the project's default database, made when it is not there yet",
      scope: "database:manage",
      effect: "write",
      idempotent: "naturally",
      replies: {
        200: T.Object({
          database: Database,
          connection_uri: ConnectionUri,
          password: T.Optional(T.String({ description: "Only in the reply that made the database" })),
          created: T.Boolean(),
        }),
      },
      faults: ["no_host_capacity", "service_unavailable"],
      secrets: ["password", "connection_uri"],
    },
    get: {
      id: "getDatabase",
      http: "GET /v1/databases/{id}",
      summary: "Get a database",
      scope: READ,
      effect: "read",
      params: DatabaseId,
      replies: { 200: Database },
      faults: ["database_not_found"],
    },
    update: {
      id: "updateDatabase",
      http: "PATCH /v1/databases/{id}",
      summary: "Change a database's name, sleep and history",
      scope: "database:manage",
      effect: "write",
      beyond: true,
      params: DatabaseId,
      body: T.Object(
        {
          name: T.Optional(DatabaseName),
          suspend_timeout_seconds: T.Optional(SuspendTimeout),
          history_retention_seconds: T.Optional(HistoryRetention),
        },
        { minProperties: 1 },
      ),
      replies: { 200: Database },
      faults: ["database_not_found", "name_taken"],
      example: { suspend_timeout_seconds: 600 },
    },
    delete: {
      id: "deleteDatabase",
      http: "DELETE /v1/databases/{id}",
      summary: "Delete a database; it can be restored until `purge_at`",
      scope: "database:manage",
      effect: "destroy",
      risk: "high",
      params: DatabaseId,
      replies: { 200: Database },
      faults: ["database_not_found"],
    },
    restore: {
      id: "restoreDatabase",
      http: "POST /v1/databases/{id}/restore",
      summary: "Bring a deleted database back",
      scope: "database:manage",
      effect: "write",
      idempotent: "naturally",
      params: DatabaseId,
      replies: { 200: Database },
      faults: ["database_not_found"],
    },
    wake: {
      id: "wakeDatabase",
      http: "POST /v1/databases/{id}/wake",
      summary: "Start a sleeping database ahead of its first query",
      scope: READ,
      effect: "read",
      beyond: true,
      params: DatabaseId,
      body: T.Object({ branch_id: T.Optional(Id) }),
      replies: { 202: T.Object({ compute_state: ComputeState }) },
      faults: ["database_not_found", "branch_not_found"],
    },
    suspend: {
      id: "suspendDatabase",
      http: "POST /v1/databases/{id}/suspend",
      summary: "Put a database to sleep now; ends its connections",
      scope: "database:manage",
      effect: "write",
      idempotent: "naturally",
      beyond: true,
      params: DatabaseId,
      body: T.Object({ branch_id: T.Optional(Id) }),
      replies: { 200: T.Object({ compute_state: ComputeState }) },
      faults: ["database_not_found", "branch_not_found", "service_unavailable"],
    },
    resetPassword: {
      id: "resetDatabasePassword",
      http: "POST /v1/databases/{id}/reset-password",
      summary: "Give the database's owner another password",
      scope: "database:manage",
      effect: "write",
      beyond: true,
      params: DatabaseId,
      body: T.Object({ branch_id: T.Optional(Id) }),
      replies: { 200: Credentials },
      faults: ["database_not_found", "branch_not_found", "service_unavailable"],
      secrets: ["password", "connection_uri"],
    },
    recoveryWindow: {
      id: "getDatabaseRecoveryWindow",
      http: "GET /v1/databases/{id}/recovery-window",
      summary: "Between which times the database can be restored",
      scope: READ,
      effect: "read",
      beyond: true,
      params: DatabaseId,
      query: T.Object({ branch_id: T.Optional(Id) }),
      replies: {
        200: T.Object({
          earliest: Nullable(Time),
          latest: Nullable(Time),
          latest_lsn: Nullable(T.String()),
          protection: OneOf(["synchronous", "asynchronous", "at_rest"]),
        }),
      },
      faults: ["database_not_found", "branch_not_found", "service_unavailable"],
    },
    pitr: {
      id: "restoreDatabaseToPoint",
      http: "POST /v1/databases/{id}/pitr",
      summary: "Restore a database to any second of its recovery window",
      description:
        "`new` makes another database of that state; `in_place` gives the database itself that state, and keeps what " +
        "it was as a branch. Version and tier stay.",
      scope: "database:manage",
      effect: "destroy",
      risk: "high",
      beyond: true,
      params: DatabaseId,
      body: T.Object({
        target_time: T.Optional(Time),
        target_lsn: T.Optional(Lsn),
        name: T.Optional(DatabaseName),
        mode: T.Optional(OneOf(["new", "in_place"])),
      }),
      replies: { 201: NewDatabase },
      faults: ["database_not_found", "recovery_point_invalid", ...CREATE_FAULTS],
      secrets: ["password", "connection_uri"],
    },
    listBranches: {
      id: "listDatabaseBranches",
      http: "GET /v1/databases/{id}/branches",
      summary: "List the branches of a database",
      scope: BRANCH_READ,
      effect: "read",
      beyond: true,
      params: DatabaseId,
      query: T.Object(pageQuery),
      replies: { 200: Page(Branch) },
      faults: ["database_not_found"],
    },
    createBranch: {
      id: "createDatabaseBranch",
      http: "POST /v1/databases/{id}/branches",
      summary: "Make a branch: a database of its own with the data of another branch",
      scope: "database:branch",
      effect: "write",
      beyond: true,
      params: DatabaseId,
      body: T.Object({
        name: T.Optional(BranchName),
        parent_id: T.Optional(Id),
        parent_lsn: T.Optional(Lsn),
        parent_timestamp: T.Optional(Time),
        expires_at: T.Optional(Nullable(Time)),
        init_source: T.Optional(OneOf(["data", "schema"])),
        protected: T.Optional(T.Boolean()),
      }),
      replies: { 201: NewBranch },
      faults: [
        "database_not_found",
        "branch_not_found",
        "recovery_point_invalid",
        "name_taken",
        "no_host_capacity",
        "service_unavailable",
      ],
      secrets: ["password", "connection_uri"],
      example: { name: "preview" },
    },
    getBranch: {
      id: "getDatabaseBranch",
      http: "GET /v1/databases/{id}/branches/{branch_id}",
      summary: "Get a branch",
      scope: BRANCH_READ,
      effect: "read",
      beyond: true,
      params: BranchId,
      replies: { 200: Branch },
      faults: ["database_not_found", "branch_not_found"],
    },
    updateBranch: {
      id: "updateDatabaseBranch",
      http: "PATCH /v1/databases/{id}/branches/{branch_id}",
      summary: "Change a branch's name, protection, expiry, or make it the default",
      scope: "database:branch",
      effect: "write",
      beyond: true,
      params: BranchId,
      body: T.Object(
        {
          name: T.Optional(BranchName),
          protected: T.Optional(T.Boolean()),
          expires_at: T.Optional(Nullable(Time)),
          default: T.Optional(T.Literal(true)),
        },
        { minProperties: 1 },
      ),
      replies: { 200: Branch },
      faults: ["database_not_found", "branch_not_found", "branch_in_use", "name_taken"],
      example: { protected: true },
    },
    deleteBranch: {
      id: "deleteDatabaseBranch",
      http: "DELETE /v1/databases/{id}/branches/{branch_id}",
      summary: "Delete a branch for good",
      scope: "database:branch",
      effect: "destroy",
      beyond: true,
      params: BranchId,
      replies: { 204: null },
      faults: ["database_not_found", "branch_not_found", "branch_in_use"],
    },
    restoreBranch: {
      id: "restoreDatabaseBranch",
      http: "POST /v1/databases/{id}/branches/{branch_id}/restore",
      summary: "Give a branch the state of another, or of itself, at a point",
      description:
        "The connection string stays. What the branch held is kept under `preserve_under_name`, and must be when the " +
        "source is the branch itself.",
      scope: "database:branch",
      effect: "destroy",
      beyond: true,
      params: BranchId,
      body: T.Object({
        source_branch_id: Id,
        source_timestamp: T.Optional(Time),
        source_lsn: T.Optional(Lsn),
        preserve_under_name: T.Optional(BranchName),
      }),
      replies: { 200: Branch },
      faults: [
        "database_not_found",
        "branch_not_found",
        "branch_in_use",
        "recovery_point_invalid",
        "name_taken",
        "service_unavailable",
      ],
    },
    resetBranch: {
      id: "resetDatabaseBranch",
      http: "POST /v1/databases/{id}/branches/{branch_id}/reset",
      summary: "Give a branch the newest state of its parent",
      scope: "database:branch",
      effect: "destroy",
      beyond: true,
      params: BranchId,
      body: T.Object({ preserve_under_name: T.Optional(BranchName) }),
      replies: { 200: Branch },
      faults: [
        "database_not_found",
        "branch_not_found",
        "branch_in_use",
        "name_taken",
        "service_unavailable",
      ],
    },
  },
)

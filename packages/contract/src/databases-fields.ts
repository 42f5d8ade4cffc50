import { T } from "./dsl.ts"
import { atMostOne, described, eitherOr, FIELD_FAULT, Id, Nullable, OneOf, Time } from "./types.ts"

export const PG_VERSIONS = [16, 17, 18] as const
export const PG_VERSION_DEFAULT = 16
export const ISOLATION_TIERS = ["shared", "isolated", "dedicated"] as const

export const ChosenTier = T.String({
  enum: [...ISOLATION_TIERS],
  description: "Isolation tier: what the database shares with others; `isolated` when left out",
  [FIELD_FAULT]: "invalid_isolation_tier",
})

export const ChosenVersion = T.Integer({
  enum: [...PG_VERSIONS],
  description: "Major version of PostgreSQL; 16 when left out; it cannot be changed",
  [FIELD_FAULT]: "unsupported_pg_version",
})
export const SUSPEND_TIMEOUT_SECONDS_DEFAULT = 300
export const HISTORY_RETENTION_SECONDS_DEFAULT = 86_400

const NAME = "^[a-z][a-z0-9_-]{0,62}$"
export const DatabaseName = T.String({
  pattern: NAME,
  description: "Lower-case letters, digits, `-` and `_`, beginning with a letter; at most 63 characters",
})
export const BranchName = T.String({
  minLength: 1,
  maxLength: 63,
  pattern: "^[A-Za-z0-9][A-Za-z0-9_./-]*$",
  description: "Letters, digits, `_`, `.`, `/` and `-`, beginning with a letter or digit",
})
export const ComputeState = OneOf(["idle", "starting", "active", "stopping"], {
  description: "State of its PostgreSQL server; `idle`: suspended until the next query",
})
export const Lsn = T.String({
  pattern: "^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$",
  description: "A position in the write-ahead log, as `0/3FA01B0`",
})
export const SuspendTimeout = T.Integer({
  minimum: 0,
  maximum: 604_800,
  description: "Idle seconds after which the database is suspended; 300 by default; 0: never",
})
export const HistoryRetention = T.Integer({
  minimum: 0,
  maximum: 30 * 86_400,
  description: "Seconds of history that are stored, for restoring to any point in them; 86400 by default",
})

export const KeepPasswords = T.Boolean({
  default: false,
  description:
    "Whether roles that you created can log in to the copy with their passwords of the source; " +
    "otherwise they keep their rights and have no password. `owner` always gets a new password",
})

const Connection = T.Object({
  host: T.String({ description: "Host name of the PostgreSQL port" }),
  port: T.Integer({ description: "TCP port of the PostgreSQL protocol" }),
  database: T.String({ description: "Name of the database on the server" }),
  user: T.String({ description: "Role to connect as" }),
  ssl_mode: T.String({
    description: "`require` where the port refuses connections without TLS, else `prefer`",
  }),
  pooled_uri: Nullable(
    T.String({
      description:
        "Connection string of the pooler, without the password: up to 1,000 clients share few server connections, each for one " +
        "transaction. Null where the engine has no pooler",
    }),
  ),
})

const databaseFields = {
  id: Id,
  name: T.String(),
  project_id: Id,
  tenant_id: described(Id, "Id of the organization"),
  pg_version: T.Integer({ enum: [...PG_VERSIONS], description: "Major version of PostgreSQL" }),
  isolation: OneOf(ISOLATION_TIERS, { description: "Isolation tier: what the database shares with others" }),
  state: OneOf(["active", "deleted"], { description: "`deleted`: it can be restored until `purge_at`" }),
  compute_state: ComputeState,
  parent_id: Nullable(Id, { description: "Database that this one was restored from; null for none" }),
  default_branch_id: described(Id, "Branch that requests use when they name none"),
  is_default: T.Boolean({
    description: "True for the database that requests of the project use when they name none",
  }),
  suspend_timeout_seconds: T.Integer({
    description: "Idle seconds after which the server is suspended; 0: never",
  }),
  history_retention_seconds: T.Integer({
    description: "Seconds of history that are stored, for restoring to any point in them",
  }),
  logical_size_bytes: T.Integer({ description: "Size of the data of the default branch" }),
  physical_size_bytes: T.Integer({ description: "Space that all branches take on disk" }),
  storage: T.Object(
    {
      state: OneOf(["ok", "warning", "read_only"], { description: "State against the limits below" }),
      used_bytes: T.Integer({ description: "Data of all branches" }),
      limit_bytes: Nullable(T.Integer(), {
        description: "Limit of the plan for this database; null for none",
      }),
      project_used_bytes: T.Integer({ description: "Data of all databases of the project" }),
      project_limit_bytes: Nullable(T.Integer(), {
        description: "Limit of the plan for all databases of the project; null for none",
      }),
      history_bytes: T.Integer({ description: "Space of the history of all branches" }),
      history_limit_bytes: Nullable(
        T.Integer({
          description:
            "Beyond it the oldest history is deleted, as `recovery-window` shows; null for no limit",
        }),
      ),
    },
    {
      description:
        "`warning` from 80 % of a limit on. `read_only`: only DELETE, TRUNCATE, DROP and VACUUM over HTTP work, until at most 95 % of all limits are used",
    },
  ),
  connection: described(Connection, "How to connect to the default branch"),
  created_at: Time,
  updated_at: Time,
  last_active_at: Nullable(Time, {
    description: "RFC 3339 time in UTC of the last use; null if it was never used",
  }),
  deleted_at: Nullable(Time, { description: "RFC 3339 time in UTC; null if it is not deleted" }),
  purge_at: Nullable(Time, {
    description:
      "RFC 3339 time in UTC after which a deleted database cannot be restored; null if it is not deleted",
  }),
}

export const Database = T.Object(databaseFields)

export const Password = T.String({ description: "Shown only in this reply" })
export const ConnectionUri = T.String({
  description:
    "Connection string, with the password if that is shown. Without `sslmode` where TLS is not required",
})

export const PooledConnectionUri = T.String({
  description: "The same through the pooler; absent where there is none",
})

export const NewDatabase = T.Object({
  ...databaseFields,
  connection_uri: T.Optional(ConnectionUri),
  pooled_connection_uri: T.Optional(PooledConnectionUri),
  password: T.Optional(Password),
})

export const Provisioned = T.Object({
  database: described(Database, "The default database"),
  // Absent in replayed replies, because it contains the password.
  connection_uri: T.Optional(ConnectionUri),
  pooled_connection_uri: T.Optional(PooledConnectionUri),
  password: T.Optional(T.String({ description: "Only in the reply that created the database" })),
  created: T.Boolean({ description: "True if this request created it" }),
})

export const Credentials = T.Object({
  // Absent in replayed replies, because it contains the password.
  connection_uri: T.Optional(ConnectionUri),
  pooled_connection_uri: T.Optional(PooledConnectionUri),
  connection: described(Connection, "How to connect"),
  password: T.Optional(Password),
})

const branchFields = {
  id: Id,
  database_id: Id,
  name: T.String(),
  parent_id: Nullable(Id, { description: "Branch that it was created from; null for the first" }),
  parent_lsn: Nullable(T.String(), {
    description: "Position in the parent's write-ahead log that it was created from; null for the first",
  }),
  parent_timestamp: Nullable(Time, {
    description: "RFC 3339 time in UTC of the parent's state that it was created from; null for the first",
  }),
  default: T.Boolean({ description: "True for the branch that requests use when they name none" }),
  protected: T.Boolean({ description: "True if it cannot be deleted, reset or restored" }),
  state: OneOf(["creating", "ready"], { description: "`creating` until its data is there" }),
  compute_state: ComputeState,
  logical_size_bytes: T.Integer({ description: "Size of its data" }),
  connection: described(Connection, "How to connect to it"),
  created_at: Time,
  updated_at: Time,
  expires_at: Nullable(Time, { description: "RFC 3339 time in UTC when it is deleted; null for never" }),
}

export const Branch = T.Object(branchFields)
export const NewBranch = T.Object({
  ...branchFields,
  connection_uri: T.Optional(ConnectionUri),
  pooled_connection_uri: T.Optional(PooledConnectionUri),
  password: T.Optional(Password),
})

export const DatabaseId = T.Object({ id: Id })
export const BranchId = T.Object({ id: Id, branch_id: Id })

export const RestoreBranchBody = T.Object(
  {
    source_branch_id: described(
      Id,
      "Branch whose state is taken; the id of the branch itself to go back in time",
    ),
    source_timestamp: T.Optional(
      described(Time, "RFC 3339 time in UTC of the state to take; the newest when left out"),
    ),
    source_lsn: T.Optional(Lsn),
    preserve_under_name: T.Optional(
      described(
        BranchName,
        "Name of a new branch that gets the present state; without it the present state is lost",
      ),
    ),
  },
  eitherOr(atMostOne("source_timestamp", "source_lsn")),
)

export const CREATE_FAULTS = [
  "invalid_isolation_tier",
  "unsupported_pg_version",
  "isolation_tier_unavailable",
  "name_taken",
  "not_implemented",
  "service_unavailable",
] as const

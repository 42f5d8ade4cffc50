import { branchOperations } from "./databases-branches.ts"
import {
  ChosenTier,
  ChosenVersion,
  ComputeState,
  CREATE_FAULTS,
  Credentials,
  Database,
  DatabaseId,
  DatabaseName,
  HistoryRetention,
  KeepPasswords,
  Lsn,
  NewDatabase,
  Provisioned,
  SuspendTimeout,
} from "./databases-fields.ts"
import { area, T } from "./dsl.ts"
import { atMostOne, described, eitherOr, Id, Nullable, OneOf, Page, pageQuery, Time } from "./types.ts"

const READ = ["database:read", "database:query"] as const

export const databases = area(
  "databases",
  {
    title: "Databases",
    summary:
      "PostgreSQL 16, 17 and 18: one server per database, suspended when idle, with branches and point-in-time restore",
    project: "required",
    belongs: "project",
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
        "The reply is sent when the database accepts SQL. The password is shown only in this reply; `reset-password` sets another.",
      scope: "database:manage",
      effect: "write",
      transaction: "none",
      body: T.Object({
        name: DatabaseName,
        isolation: T.Optional(ChosenTier),
        pg_version: T.Optional(ChosenVersion),
        suspend_timeout_seconds: T.Optional(SuspendTimeout),
        history_retention_seconds: T.Optional(HistoryRetention),
      }),
      aliases: { version: "pg_version", tier: "isolation" },
      replies: { 201: NewDatabase },
      faults: CREATE_FAULTS,
      secrets: ["password", "connection_uri", "pooled_connection_uri"],
      example: { name: "orders", pg_version: 17 },
    },
    provision: {
      id: "provisionDatabase",
      http: "POST /v1/databases/provision",
      summary: "Get the default database of the project, and create it if there is none",
      description:
        "SQL that names no database creates it too, with one exception: while a deleted default database can still be " +
        "restored, SQL fails with 404, and only this operation creates another.",
      scope: "database:manage",
      effect: "write",
      transaction: "none",
      idempotency: "natural",
      replies: {
        200: Provisioned,
      },
      faults: ["service_unavailable"],
      secrets: ["password", "connection_uri", "pooled_connection_uri"],
    },
    certificateAuthority: {
      id: "getDatabaseCertificateAuthority",
      http: "GET /v1/databases/certificate-authority",
      summary: "Get the certificate authority that clients of the PostgreSQL port trust",
      description:
        "Save it as a file and connect with `sslmode=verify-full&sslrootcert=<file>`. Renewed certificates have the " +
        "same authority.",
      scope: READ,
      effect: "read",
      extension: true,
      replies: {
        200: T.Object({
          certificate: Nullable(
            T.String({
              description:
                "PEM; null if the operator configured a certificate of an authority that clients trust anyway",
            }),
          ),
        }),
      },
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
      summary: "Change the name, suspension and history of a database",
      scope: "database:manage",
      effect: "write",
      extension: true,
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
      summary: "Restore a deleted database",
      description:
        "With its data and passwords. A default database is the default again unless the project has another by now.",
      scope: "database:manage",
      effect: "write",
      idempotency: "natural",
      params: DatabaseId,
      replies: { 200: Database },
      faults: ["database_not_found"],
    },
    wake: {
      id: "wakeDatabase",
      http: "POST /v1/databases/{id}/wake",
      summary: "Resume a suspended database ahead of its first query",
      description:
        "Queries resume a suspended database by themselves, also those of a read-only key. This starts its server before " +
        "there is a query, which a read-only key may not.",
      scope: READ,
      effect: "write",
      audit: "rollup",
      idempotency: "natural",
      extension: true,
      params: DatabaseId,
      body: T.Object({ branch_id: T.Optional(described(Id, "Branch; the default branch when left out")) }),
      replies: { 202: T.Object({ compute_state: ComputeState }) },
      faults: ["database_not_found", "branch_not_found"],
    },
    suspend: {
      id: "suspendDatabase",
      http: "POST /v1/databases/{id}/suspend",
      summary: "Suspend a database now; its connections end",
      scope: "database:manage",
      effect: "write",
      transaction: "none",
      idempotency: "natural",
      extension: true,
      params: DatabaseId,
      body: T.Object({ branch_id: T.Optional(described(Id, "Branch; the default branch when left out")) }),
      replies: { 200: T.Object({ compute_state: ComputeState }) },
      faults: ["database_not_found", "branch_not_found", "service_unavailable"],
    },
    resetPassword: {
      id: "resetDatabasePassword",
      http: "POST /v1/databases/{id}/reset-password",
      summary: "Set a new password for the role that owns the database",
      scope: "database:manage",
      effect: "write",
      transaction: "none",
      extension: true,
      params: DatabaseId,
      body: T.Object({ branch_id: T.Optional(described(Id, "Branch; the default branch when left out")) }),
      replies: { 200: Credentials },
      faults: ["database_not_found", "branch_not_found", "service_unavailable"],
      secrets: ["password", "connection_uri", "pooled_connection_uri"],
    },
    recoveryWindow: {
      id: "getDatabaseRecoveryWindow",
      http: "GET /v1/databases/{id}/recovery-window",
      summary: "Show the times between which the database can be restored",
      scope: READ,
      effect: "read",
      extension: true,
      params: DatabaseId,
      query: T.Object({ branch_id: T.Optional(described(Id, "Branch; the default branch when left out")) }),
      replies: {
        200: T.Object({
          earliest: Nullable(Time, {
            description:
              "RFC 3339 time in UTC of the oldest state that can be restored; null without history",
          }),
          latest: Nullable(Time, {
            description:
              "RFC 3339 time in UTC of the newest state that can be restored; null without history",
          }),
          latest_lsn: Nullable(T.String(), {
            description: "Newest position in the write-ahead log that can be restored; null without history",
          }),
          protection: OneOf(["synchronous", "asynchronous", "at_rest"], {
            description:
              "`synchronous`: every commit is in the history at once; `asynchronous`: moments later; `at_rest`: nothing has changed since the server was suspended",
          }),
        }),
      },
      faults: ["database_not_found", "branch_not_found", "service_unavailable"],
    },
    pitr: {
      id: "restoreDatabaseToPoint",
      http: "POST /v1/databases/{id}/pitr",
      summary: "Restore a database to any second of its recovery window",
      description:
        "`new` creates another database with that state; `in_place` returns the database itself to that state, stores the " +
        "present state as a branch, and keeps the present passwords. Version and tier do not change.",
      scope: "database:manage",
      effect: "destroy",
      transaction: "none",
      risk: "high",
      extension: true,
      params: DatabaseId,
      body: T.Object(
        {
          target_time: T.Optional(described(Time, "RFC 3339 time in UTC of the state to restore")),
          target_lsn: T.Optional(Lsn),
          name: T.Optional(described(DatabaseName, "Name of the new database, with mode `new`")),
          mode: T.Optional(OneOf(["new", "in_place"], { description: "`new` when left out" })),
          keep_passwords: T.Optional(KeepPasswords),
        },
        eitherOr(atMostOne("target_time", "target_lsn")),
      ),
      replies: { 201: NewDatabase },
      faults: ["database_not_found", "recovery_point_invalid", "name_taken", "service_unavailable"],
      secrets: ["password", "connection_uri", "pooled_connection_uri"],
    },
    ...branchOperations,
  },
)

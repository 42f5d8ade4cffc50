/** Branches of databases: databases of their own that begin with the data of another. */
import {
  Branch,
  BranchId,
  BranchName,
  DatabaseId,
  KeepPasswords,
  Lsn,
  NewBranch,
  RestoreBranchBody,
} from "./databases-fields.ts"
import { type OperationSpec, T } from "./dsl.ts"
import { atMostOne, described, eitherOr, Id, Nullable, OneOf, Page, pageQuery, Time } from "./types.ts"

const BRANCH_READ = ["database:branch", "database:read"] as const

export const branchOperations = {
  listBranches: {
    id: "listDatabaseBranches",
    http: "GET /v1/databases/{id}/branches",
    summary: "List the branches of a database",
    scope: BRANCH_READ,
    effect: "read",
    extension: true,
    params: DatabaseId,
    query: T.Object(pageQuery),
    replies: { 200: Page(Branch) },
    faults: ["database_not_found"],
  },
  createBranch: {
    id: "createDatabaseBranch",
    http: "POST /v1/databases/{id}/branches",
    summary: "Create a branch: a database of its own with the data of another branch",
    description:
      "`owner` gets a new password. Roles that you created keep their rights, and lose their passwords unless " +
      "`keep_passwords` is true.",
    scope: "database:branch",
    effect: "write",
    transaction: "none",
    extension: true,
    params: DatabaseId,
    body: T.Object(
      {
        name: T.Optional(BranchName),
        parent_id: T.Optional(Id),
        parent_lsn: T.Optional(Lsn),
        parent_timestamp: T.Optional(
          described(Time, "RFC 3339 time in UTC of the parent's state to copy; the newest when left out"),
        ),
        expires_at: T.Optional(
          Nullable(Time, {
            description: "RFC 3339 time in UTC when the branch is deleted; null for never",
          }),
        ),
        init_source: T.Optional(
          OneOf(["data", "schema"], {
            description: "`data` copies everything and is the default, `schema` the definitions alone",
          }),
        ),
        protected: T.Optional(
          T.Boolean({ description: "Protect it from deletion, reset and restore; false when left out" }),
        ),
        keep_passwords: T.Optional(KeepPasswords),
      },
      eitherOr(atMostOne("parent_lsn", "parent_timestamp")),
    ),
    replies: { 201: NewBranch },
    faults: [
      "database_not_found",
      "branch_not_found",
      "recovery_point_invalid",
      "name_taken",
      "service_unavailable",
    ],
    secrets: ["password", "connection_uri", "pooled_connection_uri"],
    example: { name: "preview" },
  },
  getBranch: {
    id: "getDatabaseBranch",
    http: "GET /v1/databases/{id}/branches/{branch_id}",
    summary: "Get a branch",
    scope: BRANCH_READ,
    effect: "read",
    extension: true,
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
    extension: true,
    params: BranchId,
    body: T.Object(
      {
        name: T.Optional(BranchName),
        protected: T.Optional(
          T.Boolean({ description: "Protect it from deletion, reset and restore; false when left out" }),
        ),
        expires_at: T.Optional(
          Nullable(Time, {
            description: "RFC 3339 time in UTC when the branch is deleted; null for never",
          }),
        ),
        default: T.Optional(
          T.Literal(true, {
            description: "Only true is accepted: requests use this branch when they name none",
          }),
        ),
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
    risk: "high",
    extension: true,
    params: BranchId,
    replies: { 204: null },
    faults: ["database_not_found", "branch_not_found", "branch_in_use"],
  },
  restoreBranch: {
    id: "restoreDatabaseBranch",
    http: "POST /v1/databases/{id}/branches/{branch_id}/restore",
    summary: "Restore a branch to the state of another branch, or to an earlier state of its own",
    description:
      "The connection string and the passwords of the branch do not change. The state before " +
      "is stored as a branch named `preserve_under_name`, which is required when the source is the branch itself.",
    scope: "database:branch",
    effect: "destroy",
    transaction: "none",
    risk: "high",
    extension: true,
    params: BranchId,
    body: RestoreBranchBody,
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
    summary: "Reset a branch to the newest state of its parent",
    description: "The connection string and the passwords of the branch do not change.",
    scope: "database:branch",
    effect: "destroy",
    transaction: "none",
    risk: "high",
    extension: true,
    params: BranchId,
    body: T.Object({
      preserve_under_name: T.Optional(
        described(
          BranchName,
          "Name of a new branch that gets the present state; without it the present state is lost",
        ),
      ),
    }),
    replies: { 200: Branch },
    faults: ["database_not_found", "branch_not_found", "branch_in_use", "name_taken", "service_unavailable"],
  },
} as const satisfies Record<string, OperationSpec>

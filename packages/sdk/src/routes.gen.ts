// Made from the contract by `npm run gen`. Changes belong there.
import type { Routes } from "./route.ts"

export const routes = {
  identity: {
    me: { method: "GET", path: "/v1/me", effect: "read", project: true },
    services: { method: "GET", path: "/api/v1/services", effect: "read" },
    scopes: { method: "GET", path: "/v1/scopes", effect: "read" },
  },
  databases: {
    list: { method: "GET", path: "/v1/databases", query: ["limit","offset","include_deleted"], effect: "read", list: true, project: true },
    create: { method: "POST", path: "/v1/databases", body: "json", effect: "write", keyed: true, project: true },
    provision: { method: "POST", path: "/v1/databases/provision", effect: "write", project: true },
    get: { method: "GET", path: "/v1/databases/{id}", params: ["id"], effect: "read", project: true },
    update: { method: "PATCH", path: "/v1/databases/{id}", params: ["id"], body: "json", effect: "write", keyed: true, project: true },
    delete: { method: "DELETE", path: "/v1/databases/{id}", params: ["id"], effect: "destroy", keyed: true, project: true },
    restore: { method: "POST", path: "/v1/databases/{id}/restore", params: ["id"], effect: "write", project: true },
    wake: { method: "POST", path: "/v1/databases/{id}/wake", params: ["id"], body: "json", effect: "read", project: true },
    suspend: { method: "POST", path: "/v1/databases/{id}/suspend", params: ["id"], body: "json", effect: "write", project: true },
    resetPassword: { method: "POST", path: "/v1/databases/{id}/reset-password", params: ["id"], body: "json", effect: "write", keyed: true, project: true },
    recoveryWindow: { method: "GET", path: "/v1/databases/{id}/recovery-window", params: ["id"], query: ["branch_id"], effect: "read", project: true },
    pitr: { method: "POST", path: "/v1/databases/{id}/pitr", params: ["id"], body: "json", effect: "destroy", keyed: true, project: true },
    listBranches: { method: "GET", path: "/v1/databases/{id}/branches", params: ["id"], query: ["limit","offset"], effect: "read", list: true, project: true },
    createBranch: { method: "POST", path: "/v1/databases/{id}/branches", params: ["id"], body: "json", effect: "write", keyed: true, project: true },
    getBranch: { method: "GET", path: "/v1/databases/{id}/branches/{branch_id}", params: ["id","branch_id"], effect: "read", project: true },
    updateBranch: { method: "PATCH", path: "/v1/databases/{id}/branches/{branch_id}", params: ["id","branch_id"], body: "json", effect: "write", keyed: true, project: true },
    deleteBranch: { method: "DELETE", path: "/v1/databases/{id}/branches/{branch_id}", params: ["id","branch_id"], effect: "destroy", keyed: true, project: true },
    restoreBranch: { method: "POST", path: "/v1/databases/{id}/branches/{branch_id}/restore", params: ["id","branch_id"], body: "json", effect: "destroy", keyed: true, project: true },
    resetBranch: { method: "POST", path: "/v1/databases/{id}/branches/{branch_id}/reset", params: ["id","branch_id"], body: "json", effect: "destroy", keyed: true, project: true },
  },
  sql: {
    execute: { method: "POST", path: "/api/v1/sql", body: "json", effect: "by-statement", once: true, envelope: "bare", project: true },
    batch: { method: "POST", path: "/api/v1/sql/batch", body: "json", effect: "by-statement", once: true, envelope: "bare", project: true },
    listQueryLogs: { method: "GET", path: "/api/v1/query-logs/{tenant_id}", params: ["tenant_id"], query: ["database_id","branch_id","limit"], effect: "read", project: true },
  },
  advice: {
    anomalies: { method: "POST", path: "/api/v1/anomalies", body: "json", effect: "read", project: true },
    optimize: { method: "POST", path: "/api/v1/optimize", body: "json", effect: "read", project: true },
    scaling: { method: "GET", path: "/api/v1/scaling", query: ["database_id","branch_id"], effect: "read", project: true },
    naturalLanguageToSql: { method: "POST", path: "/api/v1/nl-to-sql", body: "json", effect: "read", project: true },
  },
  schema: {
    get: { method: "GET", path: "/api/v1/schema", query: ["database_id","branch_id","schema","include_extensions","include_partitions","include_columns"], effect: "read", project: true },
    searchColumns: { method: "GET", path: "/api/v1/schema/columns", query: ["database_id","branch_id","schema","include_extensions","include_partitions","q","limit"], effect: "read", project: true },
    pii: { method: "GET", path: "/api/v1/schema/pii", query: ["database_id","branch_id","schema","min_confidence","sample"], effect: "read", project: true },
    relationships: { method: "GET", path: "/api/v1/schema/relationships", query: ["database_id","branch_id","schema"], effect: "read", project: true },
    table: { method: "GET", path: "/api/v1/schema/table/{name}", params: ["name"], query: ["database_id","branch_id","schema"], effect: "read", project: true },
  },
  encryption: {
    encrypt: { method: "POST", path: "/api/v1/encryption/encrypt", body: "json", effect: "read" },
    decrypt: { method: "POST", path: "/api/v1/encryption/decrypt", body: "json", effect: "read" },
    rewrap: { method: "POST", path: "/api/v1/encryption/rewrap", body: "json", effect: "read" },
    rotateKey: { method: "POST", path: "/api/v1/encryption/rotate-key", effect: "write", keyed: true },
    key: { method: "GET", path: "/api/v1/encryption/key", effect: "read" },
    updateKey: { method: "PATCH", path: "/api/v1/encryption/key", body: "json", effect: "write" },
    keyVersions: { method: "GET", path: "/api/v1/encryption/key/versions", query: ["limit","offset"], effect: "read", list: true },
  },
  email: {

  },
  storage: {
    listBuckets: { method: "GET", path: "/v1/storage/buckets", query: ["limit","offset"], effect: "read", list: true, project: true },
    createBucket: { method: "POST", path: "/v1/storage/buckets", body: "json", effect: "write", keyed: true, project: true },
    getBucket: { method: "GET", path: "/v1/storage/buckets/{name}", params: ["name"], effect: "read", project: true },
    updateBucket: { method: "PATCH", path: "/v1/storage/buckets/{name}", params: ["name"], body: "json", effect: "write", project: true },
    deleteBucket: { method: "DELETE", path: "/v1/storage/buckets/{name}", params: ["name"], effect: "destroy", keyed: true, project: true },
    listObjects: { method: "GET", path: "/v1/storage/buckets/{bucket}/objects", params: ["bucket"], query: ["prefix","delimiter","start_after","cursor","limit"], effect: "read", list: true, project: true },
    putObject: { method: "PUT", path: "/v1/storage/buckets/{bucket}/objects/{key}", params: ["bucket","key"], body: "bytes", effect: "write", project: true },
    getObject: { method: "GET", path: "/v1/storage/buckets/{bucket}/objects/{key}", params: ["bucket","key"], reply: "bytes", effect: "read", project: true },
    headObject: { method: "HEAD", path: "/v1/storage/buckets/{bucket}/objects/{key}", params: ["bucket","key"], effect: "read", project: true },
    deleteObject: { method: "DELETE", path: "/v1/storage/buckets/{bucket}/objects/{key}", params: ["bucket","key"], effect: "destroy", project: true },
    deleteObjects: { method: "POST", path: "/v1/storage/buckets/{bucket}/delete", params: ["bucket"], body: "json", effect: "destroy", project: true },
    copyObject: { method: "POST", path: "/v1/storage/copy", body: "json", effect: "write", project: true },
    moveObject: { method: "POST", path: "/v1/storage/move", body: "json", effect: "destroy", keyed: true, project: true },
    usage: { method: "GET", path: "/v1/storage/usage", effect: "read", project: true },
    presign: { method: "POST", path: "/v1/storage/presign", body: "json", effect: "by-statement", once: true, project: true },
    getSigned: { method: "GET", path: "/v1/storage/signed/{token}/{key}", params: ["token","key"], reply: "bytes", effect: "read" },
    headSigned: { method: "HEAD", path: "/v1/storage/signed/{token}/{key}", params: ["token","key"], effect: "read" },
    putSigned: { method: "PUT", path: "/v1/storage/signed/{token}/{key}", params: ["token","key"], body: "bytes", effect: "write" },
    getPublic: { method: "GET", path: "/v1/storage/public/{project_id}/{bucket}/{key}", params: ["project_id","bucket","key"], reply: "bytes", effect: "read" },
    headPublic: { method: "HEAD", path: "/v1/storage/public/{project_id}/{bucket}/{key}", params: ["project_id","bucket","key"], effect: "read" },
    createMultipart: { method: "POST", path: "/v1/storage/multipart", body: "json", effect: "write", keyed: true, project: true },
    listMultipart: { method: "GET", path: "/v1/storage/multipart", query: ["bucket","prefix","after_key","after_id","limit"], effect: "read", list: true, project: true },
    putPart: { method: "PUT", path: "/v1/storage/multipart/{upload_id}/parts/{part_number}", params: ["upload_id","part_number"], body: "bytes", effect: "write", project: true },
    listParts: { method: "GET", path: "/v1/storage/multipart/{upload_id}/parts", params: ["upload_id"], query: ["after","limit"], effect: "read", list: true, project: true },
    completeMultipart: { method: "POST", path: "/v1/storage/multipart/{upload_id}/complete", params: ["upload_id"], body: "json", effect: "write", project: true },
    abortMultipart: { method: "DELETE", path: "/v1/storage/multipart/{upload_id}", params: ["upload_id"], effect: "destroy", project: true },
    createUpload: { method: "POST", path: "/v1/storage/uploads", body: "bytes", effect: "write", keyed: true, project: true },
    headUpload: { method: "HEAD", path: "/v1/storage/uploads/{upload_id}", params: ["upload_id"], effect: "read", project: true },
    patchUpload: { method: "PATCH", path: "/v1/storage/uploads/{upload_id}", params: ["upload_id"], body: "bytes", effect: "write", project: true },
    deleteUpload: { method: "DELETE", path: "/v1/storage/uploads/{upload_id}", params: ["upload_id"], effect: "destroy", project: true },
  },
  s3: {
    credentials: { method: "POST", path: "/v1/storage/s3-credentials", effect: "read", project: true },
  },
  kv: {
    set: { method: "POST", path: "/v1/kv/set", body: "json", effect: "write", envelope: "bare", project: true },
    get: { method: "POST", path: "/v1/kv/get", body: "json", effect: "read", envelope: "bare", project: true },
    exists: { method: "POST", path: "/v1/kv/exists", body: "json", effect: "read", envelope: "bare", project: true },
    del: { method: "POST", path: "/v1/kv/del", body: "json", effect: "destroy", envelope: "bare", project: true },
    keys: { method: "POST", path: "/v1/kv/keys", body: "json", effect: "read", envelope: "bare", project: true },
    batch: { method: "POST", path: "/v1/kv/batch", body: "json", effect: "write", keyed: true, envelope: "bare", project: true },
  },
  cron: {

  },
  events: {

  },
  integrations: {

  },
  vectors: {
    createCollection: { method: "POST", path: "/api/v1/tenants/{tenant_id}/vectors/collections", params: ["tenant_id"], body: "json", effect: "write", keyed: true, project: true },
    listCollections: { method: "GET", path: "/api/v1/tenants/{tenant_id}/vectors/collections", params: ["tenant_id"], query: ["limit","offset"], effect: "read", list: true, project: true },
    getCollection: { method: "GET", path: "/api/v1/tenants/{tenant_id}/vectors/collections/{name}", params: ["tenant_id","name"], effect: "read", project: true },
    deleteCollection: { method: "DELETE", path: "/api/v1/tenants/{tenant_id}/vectors/collections/{name}", params: ["tenant_id","name"], effect: "destroy", keyed: true, project: true },
    list: { method: "GET", path: "/api/v1/tenants/{tenant_id}/vectors/collections/{name}/vectors", params: ["tenant_id","name"], query: ["limit","cursor","include_metadata"], effect: "read", list: true, project: true },
    upsert: { method: "POST", path: "/api/v1/tenants/{tenant_id}/vectors/upsert", params: ["tenant_id"], body: "json", effect: "write", project: true },
    batchUpsert: { method: "POST", path: "/api/v1/tenants/{tenant_id}/vectors/batch/upsert", params: ["tenant_id"], body: "json", effect: "write", project: true },
    search: { method: "POST", path: "/api/v1/tenants/{tenant_id}/vectors/search", params: ["tenant_id"], body: "json", effect: "read", project: true },
    get: { method: "POST", path: "/api/v1/tenants/{tenant_id}/vectors/get", params: ["tenant_id"], body: "json", effect: "read", project: true },
    delete: { method: "POST", path: "/api/v1/tenants/{tenant_id}/vectors/delete", params: ["tenant_id"], body: "json", effect: "destroy", project: true },
    count: { method: "POST", path: "/api/v1/tenants/{tenant_id}/vectors/count", params: ["tenant_id"], body: "json", effect: "read", project: true },
  },
  webhooks: {

  },
  search: {
    query: { method: "GET", path: "/v1/search", query: ["q","limit","offset","source","filter","facets","language","highlight"], effect: "read", project: true },
    suggest: { method: "GET", path: "/v1/search/suggest", query: ["prefix","limit"], effect: "read", project: true },
    runIngest: { method: "POST", path: "/v1/search/ingest/run", effect: "write", keyed: true, project: true },
    listSources: { method: "GET", path: "/v1/search/sources", query: ["limit","offset"], effect: "read", list: true, project: true },
    upsertSource: { method: "POST", path: "/v1/search/sources", body: "json", effect: "write", keyed: true, project: true },
    getSource: { method: "GET", path: "/v1/search/sources/{id}", params: ["id"], effect: "read", project: true },
    deleteSource: { method: "DELETE", path: "/v1/search/sources/{id}", params: ["id"], effect: "destroy", keyed: true, project: true },
    runSource: { method: "POST", path: "/v1/search/sources/{id}/run", params: ["id"], effect: "write", keyed: true, project: true },
    listRuns: { method: "GET", path: "/v1/search/sources/{id}/runs", params: ["id"], query: ["limit","offset"], effect: "read", list: true, project: true },
    getRun: { method: "GET", path: "/v1/search/runs/{id}", params: ["id"], effect: "read", project: true },
    putDocuments: { method: "POST", path: "/v1/search/sources/{id}/documents", params: ["id"], body: "json", effect: "write", project: true },
    deleteDocuments: { method: "POST", path: "/v1/search/sources/{id}/documents/delete", params: ["id"], body: "json", effect: "destroy", project: true },
    stats: { method: "GET", path: "/v1/search/stats", effect: "read", project: true },
  },
  notifications: {

  },
  support: {

  },
  account: {
    signup: { method: "POST", path: "/v1/account/signup", body: "json", effect: "write", keyed: true },
    login: { method: "POST", path: "/v1/account/login", body: "json", effect: "write", keyed: true },
    reauthenticate: { method: "POST", path: "/v1/account/reauthenticate", body: "json", effect: "write", keyed: true },
    logout: { method: "POST", path: "/v1/account/logout", effect: "write", keyed: true },
    get: { method: "GET", path: "/v1/account", effect: "read" },
    update: { method: "PATCH", path: "/v1/account", body: "json", effect: "write", keyed: true },
    listSessions: { method: "GET", path: "/v1/account/sessions", effect: "read" },
    endSession: { method: "DELETE", path: "/v1/account/sessions/{id}", params: ["id"], effect: "destroy", keyed: true },
  },
  organizations: {
    list: { method: "GET", path: "/v1/organizations", query: ["limit","offset"], effect: "read", list: true },
    create: { method: "POST", path: "/v1/organizations", body: "json", effect: "write", keyed: true },
    get: { method: "GET", path: "/v1/organizations/{org_id}", params: ["org_id"], effect: "read" },
    update: { method: "PATCH", path: "/v1/organizations/{org_id}", params: ["org_id"], body: "json", effect: "write", keyed: true },
    delete: { method: "DELETE", path: "/v1/organizations/{org_id}", params: ["org_id"], effect: "destroy", keyed: true },
    listMembers: { method: "GET", path: "/v1/organizations/{org_id}/members", params: ["org_id"], query: ["limit","offset"], effect: "read", list: true },
    updateMember: { method: "PATCH", path: "/v1/organizations/{org_id}/members/{user_id}", params: ["org_id","user_id"], body: "json", effect: "write", keyed: true },
    removeMember: { method: "DELETE", path: "/v1/organizations/{org_id}/members/{user_id}", params: ["org_id","user_id"], effect: "destroy", keyed: true },
    listInvitations: { method: "GET", path: "/v1/organizations/{org_id}/invitations", params: ["org_id"], query: ["limit","offset"], effect: "read", list: true },
    invite: { method: "POST", path: "/v1/organizations/{org_id}/invitations", params: ["org_id"], body: "json", effect: "write", keyed: true },
    revokeInvitation: { method: "DELETE", path: "/v1/organizations/{org_id}/invitations/{id}", params: ["org_id","id"], effect: "destroy", keyed: true },
    acceptInvitation: { method: "POST", path: "/v1/invitations/{token}/accept", params: ["token"], effect: "write", keyed: true },
  },
  projects: {
    list: { method: "GET", path: "/v1/projects", query: ["limit","offset"], effect: "read", list: true },
    create: { method: "POST", path: "/v1/projects", body: "json", effect: "write", keyed: true },
    get: { method: "GET", path: "/v1/projects/{id}", params: ["id"], effect: "read" },
    update: { method: "PATCH", path: "/v1/projects/{id}", params: ["id"], body: "json", effect: "write", keyed: true },
    delete: { method: "DELETE", path: "/v1/projects/{id}", params: ["id"], effect: "destroy", keyed: true },
  },
  keys: {
    list: { method: "GET", path: "/v1/keys", query: ["limit","offset","status","project_id"], effect: "read", list: true },
    create: { method: "POST", path: "/v1/keys", body: "json", effect: "write", keyed: true },
    get: { method: "GET", path: "/v1/keys/{id}", params: ["id"], effect: "read" },
    update: { method: "PATCH", path: "/v1/keys/{id}", params: ["id"], body: "json", effect: "write", keyed: true },
    rotate: { method: "POST", path: "/v1/keys/{id}/rotate", params: ["id"], body: "json", effect: "write", keyed: true },
    revoke: { method: "POST", path: "/v1/keys/{id}/revoke", params: ["id"], body: "json", effect: "destroy", keyed: true },
    delete: { method: "DELETE", path: "/v1/keys/{id}", params: ["id"], effect: "destroy", keyed: true },
  },
  approvals: {
    list: { method: "GET", path: "/v1/approvals", query: ["limit","offset","status"], effect: "read", list: true },
    get: { method: "GET", path: "/v1/approvals/{id}", params: ["id"], effect: "read" },
    approve: { method: "POST", path: "/v1/approvals/{id}/approve", params: ["id"], body: "json", effect: "write", keyed: true },
    reject: { method: "POST", path: "/v1/approvals/{id}/reject", params: ["id"], body: "json", effect: "write", keyed: true },
    cancel: { method: "POST", path: "/v1/approvals/{id}/cancel", params: ["id"], effect: "write", keyed: true },
  },
} as const satisfies Routes

/** Codes after which the same request may succeed. */
export const retryableCodes: readonly string[] = ["all_providers_exhausted","auth_rate_limited","host_unavailable","idempotency_key_in_use","no_host_capacity","rate_limited","request_timeout","service_unavailable","ssh_keys_not_delivered","upstream_error","upstream_timeout","vector_store_unavailable"]

/** Codes of a status that usually passes which do not pass. */
export const finalCodes: readonly string[] = ["account_locked","ai_daily_limit_exceeded","email_domain_not_enabled","mfa_attempts_exceeded","path_outside_guest_roots","too_many_pending_approvals"]

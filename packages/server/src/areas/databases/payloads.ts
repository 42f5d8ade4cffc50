import type { areas, Output } from "@svc/contract"
import { toIso } from "../../kernel/to-iso.ts"
import { DATABASE_NAME, OWNER_ROLE, type VolumeState } from "../../ports/engine/port.ts"
import { POOLER_SUFFIX } from "../../services/postgres/client-port.ts"
import type { DiskLimits } from "./disk/limits.ts"
import type { BranchRecord, DatabaseRecord } from "./store.ts"

type Specs = typeof areas.databases.specs
export type DatabasePayload = Output<Specs["get"]>
export type BranchPayload = Output<Specs["getBranch"]>

/** Where clients of the wire protocol connect. */
export interface WireAddress {
  readonly host: string
  readonly port: number
  /** Whether clients that come to this host must use TLS. */
  readonly tlsRequired: boolean
  /** Whether clients may share connections. */
  readonly hasPooler: boolean
}

export interface PayloadNeeds {
  readonly address: () => WireAddress
  readonly stateOf: (volumeId: string) => VolumeState
  readonly limitsOf: (plan: string) => DiskLimits
}

/** The branch is part of the user's name, so one address serves all databases and the password is the proof. */
const userOf = (branchId: string): string => `${OWNER_ROLE}.${branchId}`

const uriOf = (user: string, { host, port, tlsRequired }: WireAddress, password?: string): string => {
  const login = password === undefined ? user : `${user}:${password}`
  const place = host.includes(":") ? `[${host}]` : host
  return `postgresql://${login}@${place}:${port}/${DATABASE_NAME}${tlsRequired ? "?sslmode=require" : ""}`
}

/**
 * Works as it is in PostgreSQL's own clients and in the usual drivers. It says nothing of TLS where none is needed: some
 * drivers take every word of it as the wish to check the certificate.
 */
export const connectionUri = (branchId: string, address: WireAddress, password?: string): string =>
  uriOf(userOf(branchId), address, password)

/** Undefined where there is no pooler. */
const pooledUri = (branchId: string, address: WireAddress, password?: string): string | undefined =>
  address.hasPooler ? uriOf(`${userOf(branchId)}${POOLER_SUFFIX}`, address, password) : undefined

const connectionOf = (branchId: string, address: WireAddress) => ({
  host: address.host,
  port: address.port,
  database: DATABASE_NAME,
  user: userOf(branchId),
  ssl_mode: address.tlsRequired ? "require" : "prefer",
  pooled_uri: pooledUri(branchId, address) ?? null,
})

/** Both strings, where there are two. */
const urisOf = (branchId: string, address: WireAddress, password?: string) => {
  const pooled = pooledUri(branchId, address, password)
  return {
    connection_uri: connectionUri(branchId, address, password),
    ...(pooled !== undefined && { pooled_connection_uri: pooled }),
  }
}

const storageOf = (row: DatabaseRecord, limits: DiskLimits): DatabasePayload["storage"] => ({
  state: row.storage_state as DatabasePayload["storage"]["state"],
  used_bytes: row.used_bytes,
  limit_bytes: limits.databaseBytes,
  project_used_bytes: row.project_used_bytes,
  project_limit_bytes: limits.projectBytes,
  history_bytes: row.history_bytes,
  history_limit_bytes: limits.historyBytes,
})

export const createPayloads = ({ address, stateOf, limitsOf }: PayloadNeeds) => ({
  connection: (branchId: string) => connectionOf(branchId, address()),

  /** What is said of new passwords, once. */
  secrets: (branchId: string, password: string) => ({
    ...urisOf(branchId, address(), password),
    password,
  }),

  uris: (branchId: string) => urisOf(branchId, address()),

  database: (row: DatabaseRecord): DatabasePayload => ({
    id: row.id,
    name: row.name,
    project_id: row.project_id,
    tenant_id: row.organization_id,
    pg_version: row.pg_version,
    isolation: row.isolation as DatabasePayload["isolation"],
    state: row.state === "deleted" ? "deleted" : "active",
    compute_state: stateOf(row.volume_id),
    parent_id: row.parent_id,
    default_branch_id: row.default_branch_id,
    is_default: row.is_default && row.state !== "deleted",
    suspend_timeout_seconds: row.suspend_timeout_seconds,
    history_retention_seconds: row.history_retention_seconds,
    logical_size_bytes: row.logical_size_bytes,
    physical_size_bytes: row.physical_size_bytes,
    storage: storageOf(row, limitsOf(row.plan)),
    connection: connectionOf(row.default_branch_id, address()),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    last_active_at: toIso(row.last_active_at),
    deleted_at: toIso(row.deleted_at),
    purge_at: toIso(row.purge_at),
  }),

  branch: (row: BranchRecord, defaultBranchId: string): BranchPayload => ({
    id: row.id,
    database_id: row.database_id,
    name: row.name,
    parent_id: row.parent_id,
    parent_lsn: row.parent_lsn,
    parent_timestamp: toIso(row.parent_timestamp),
    default: row.id === defaultBranchId,
    protected: row.protected,
    state: row.state === "ready" ? "ready" : "creating",
    compute_state: stateOf(row.volume_id),
    logical_size_bytes: row.logical_size_bytes,
    connection: connectionOf(row.id, address()),
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    expires_at: toIso(row.expires_at),
  }),
})

export type Payloads = ReturnType<typeof createPayloads>

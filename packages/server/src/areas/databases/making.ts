import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { type Database, isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type {
  BranchedFrom,
  EnginePort,
  PgVersion,
  RecoveryPoint,
  RolePasswords,
  Tier,
  VolumeCredentials,
  VolumeRef,
} from "../../ports/engine/port.ts"
import { callEngine } from "./call-engine.ts"
import type { Creations } from "./creations.ts"
import { DATABASE_TOPIC, sealedFor } from "./directory.ts"
import { newCredentials } from "./passwords.ts"
import { type BranchRow, type DatabaseRow, databaseStore } from "./store.ts"

export const DEFAULT_BRANCH = "main"

export interface NewDatabase {
  readonly organizationId: string
  readonly projectId: string
  readonly name: string
  readonly pgVersion: PgVersion
  readonly tier: Tier
  readonly isDefault: boolean
  readonly suspendTimeoutSeconds: number
  readonly historyRetentionSeconds: number
  readonly now: Date
  /** Whose state it begins with; without: empty. */
  readonly from?: CopiedFrom & { readonly databaseId: string }
}

/** Which state a copy has, and what becomes of the passwords of its roles. */
interface CopiedFrom {
  readonly volume: VolumeRef
  readonly point: RecoveryPoint
  readonly roles: RolePasswords
}

export interface NewBranch {
  readonly organizationId: string
  readonly databaseId: string
  readonly parentId: string
  readonly name: string
  readonly from: CopiedFrom
  readonly isProtected: boolean
  readonly expiresAt: Date | null
  readonly now: Date
}

export interface ProvisionedDatabase {
  readonly id: string
  readonly branchId: string
  readonly volume: VolumeRef
  readonly credentials: VolumeCredentials
}

/** Makes databases, branches and their volumes: first on record, then in the engine, then shown. */
export interface Making {
  /** Throws `name_taken`, or the unique violation `databases_default`. */
  database(asked: NewDatabase): Promise<ProvisionedDatabase>
  branch(asked: NewBranch): Promise<ProvisionedDatabase>
  /** A volume for an existing branch, not yet in its place. */
  volume(asked: {
    organizationId: string
    databaseId: string
    from: CopiedFrom
    credentials: VolumeCredentials
    now: Date
  }): Promise<VolumeRef & BranchedFrom>
}

export const createMaking = (needs: {
  database: Database
  changes: Changes
  engine: EnginePort
  box: SecretBox
  platformEvents: PlatformEvents
  creations: Creations
}): Making => {
  const { database, changes, engine, box, platformEvents, creations } = needs
  const store = databaseStore(database.db)

  const seal = (organizationId: string, branchId: string, credentials: VolumeCredentials): Promise<string> =>
    box.seal(organizationId, sealedFor(branchId), JSON.stringify(credentials))

  /** Frees what a failed attempt left; what cannot be freed now is freed by the sweeper. */
  const giveUp = async (organizationId: string, volume: VolumeRef) => {
    await store.updateVolume(organizationId, volume.id, { state: "doomed" })
    await engine.destroy(volume).then(
      () => store.deleteVolume(organizationId, volume.id),
      () => undefined,
    )
  }

  const copy = (
    target: VolumeRef,
    credentials: VolumeCredentials,
    { volume, point, roles }: CopiedFrom,
  ): Promise<BranchedFrom> => callEngine(() => engine.branch(volume, target, point, credentials, roles))

  return {
    async database(asked) {
      using _renewing = creations.renewing()
      const { organizationId, now } = asked
      const [id, branchId] = [newId(now.getTime()), newId(now.getTime())]
      const volume = { id: newId(now.getTime()), pgVersion: asked.pgVersion, tier: asked.tier }
      const credentials = newCredentials()
      const sealed = await seal(organizationId, branchId, credentials)
      await database
        .transaction(async tx => {
          const rows = databaseStore(tx)
          await rows.insertVolume(volumeRow(volume, organizationId, id, now, creations))
          await rows.insertDatabase(databaseRow(asked, id, branchId))
          await rows.insertBranch({
            ...{ id: branchId, organization_id: organizationId, database_id: id, name: DEFAULT_BRANCH },
            ...{ parent_id: null, parent_lsn: null, parent_timestamp: null, protected: false },
            ...{
              state: "creating",
              volume_id: volume.id,
              expires_at: null,
              created_at: now,
              updated_at: now,
            },
            credentials: sealed,
          })
        })
        .catch(error => {
          if (!isUniqueViolation(error, "databases_name")) throw error
          throw fault("name_taken", { resource: "database", name: asked.name })
        })
      try {
        if (asked.from) await copy(volume, credentials, asked.from)
        else await callEngine(() => engine.create(volume, credentials))
        await database.transaction(async tx => {
          const rows = databaseStore(tx)
          await rows.updateVolume(organizationId, volume.id, { state: "ready" })
          await rows.updateBranch(organizationId, branchId, { state: "ready" })
          await rows.updateDatabase(organizationId, id, ["creating"], {
            state: "active",
            last_active_at: now,
          })
          const data = { database_id: id, name: asked.name, pg_version: asked.pgVersion }
          const { projectId } = asked
          await platformEvents.emit(tx, { organizationId, projectId, type: "database.created", data })
        })
      } catch (error) {
        await store.deleteDatabase(organizationId, id)
        await giveUp(organizationId, volume)
        throw error
      }
      await changes.invalidate(database.db, DATABASE_TOPIC, id)
      return { id, branchId, volume, credentials }
    },

    async branch(asked) {
      using _renewing = creations.renewing()
      const { organizationId, databaseId, from, now } = asked
      const id = newId(now.getTime())
      const volume = { ...from.volume, id: newId(now.getTime()) }
      const credentials = newCredentials()
      const sealed = await seal(organizationId, id, credentials)
      await database
        .transaction(async tx => {
          const rows = databaseStore(tx)
          await rows.insertVolume(volumeRow(volume, organizationId, databaseId, now, creations))
          await rows.insertBranch(branchRow(asked, id, volume.id, sealed))
        })
        .catch(error => {
          if (!isUniqueViolation(error, "branches_name")) throw error
          throw fault("name_taken", { resource: "branch", name: asked.name })
        })
      try {
        const at = await copy(volume, credentials, from)
        await database.transaction(async tx => {
          const rows = databaseStore(tx)
          await rows.updateVolume(organizationId, volume.id, { state: "ready" })
          await rows.updateBranch(organizationId, id, {
            state: "ready",
            parent_lsn: at.lsn,
            parent_timestamp: at.time,
          })
        })
      } catch (error) {
        await store.deleteBranch(organizationId, id)
        await giveUp(organizationId, volume)
        throw error
      }
      await changes.invalidate(database.db, DATABASE_TOPIC, databaseId)
      return { id: databaseId, branchId: id, volume, credentials }
    },

    async volume({ organizationId, databaseId, from, credentials, now }) {
      using _renewing = creations.renewing()
      const volume = { ...from.volume, id: newId(now.getTime()) }
      await store.insertVolume(volumeRow(volume, organizationId, databaseId, now, creations))
      try {
        const at = await copy(volume, credentials, from)
        await store.updateVolume(organizationId, volume.id, { state: "ready" })
        return { ...volume, ...at }
      } catch (error) {
        await giveUp(organizationId, volume)
        throw error
      }
    },
  }
}

const databaseRow = (asked: NewDatabase, id: string, branchId: string): DatabaseRow => ({
  id,
  organization_id: asked.organizationId,
  project_id: asked.projectId,
  name: asked.name,
  pg_version: asked.pgVersion,
  isolation: asked.tier,
  state: "creating",
  storage_state: "ok",
  only_drop_frees: false,
  is_default: asked.isDefault,
  parent_id: asked.from?.databaseId ?? null,
  default_branch_id: branchId,
  suspend_timeout_seconds: asked.suspendTimeoutSeconds,
  history_retention_seconds: asked.historyRetentionSeconds,
  created_at: asked.now,
  updated_at: asked.now,
  last_active_at: null,
  deleted_at: null,
  purge_at: null,
})

const branchRow = (asked: NewBranch, id: string, volumeId: string, credentials: string): BranchRow => ({
  id,
  organization_id: asked.organizationId,
  database_id: asked.databaseId,
  name: asked.name,
  parent_id: asked.parentId,
  parent_lsn: null,
  parent_timestamp: null,
  protected: asked.isProtected,
  state: "creating",
  volume_id: volumeId,
  credentials,
  expires_at: asked.expiresAt,
  created_at: asked.now,
  updated_at: asked.now,
})

/** On record before the engine makes it; the sweeper frees it when its creator is gone. */
export const volumeRow = (
  volume: VolumeRef,
  organizationId: string,
  databaseId: string,
  now: Date,
  creations: Pick<Creations, "lease">,
) => ({
  ...creations.lease(),
  id: volume.id,
  organization_id: organizationId,
  database_id: databaseId,
  pg_version: volume.pgVersion,
  isolation: volume.tier,
  state: "creating",
  logical_size_bytes: 0,
  physical_size_bytes: 0,
  history_size_bytes: 0,
  data_size_bytes: 0,
  read_only: false,
  created_at: now,
})

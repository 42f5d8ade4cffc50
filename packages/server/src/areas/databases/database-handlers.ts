import {
  type areas,
  HISTORY_RETENTION_SECONDS_DEFAULT,
  page,
  pageOf,
  SUSPEND_TIMEOUT_SECONDS_DEFAULT,
} from "@svc/contract"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Call } from "../../kernel/call.ts"
import type { KeyedMutex } from "../../kernel/concurrency/keyed-mutex.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import type { Handlers } from "../../kernel/implement.ts"
import { toIso } from "../../kernel/to-iso.ts"
import type { EnginePort } from "../../ports/engine/port.ts"
import { callEngine } from "./call-engine.ts"
import { type Compute, hold } from "./compute.ts"
import { DATABASE_TOPIC, type Directory, type ReadyBranch, sealedFor } from "./directory.ts"
import type { NamesEarlierHistory } from "./earlier.ts"
import { databaseTarget, getActive, getDatabase, projectOf } from "./lookup.ts"
import type { Making } from "./making.ts"
import { newCredentials } from "./passwords.ts"
import type { Payloads } from "./payloads.ts"
import type { Provision } from "./provision.ts"
import { pointOf, rolesOf, tierOf, versionOf } from "./rules.ts"
import { type DatabaseRecord, databaseStore } from "./store.ts"
import type { Swap } from "./swap.ts"

export interface DatabaseHandlerNeeds {
  readonly engine: EnginePort
  readonly changes: Changes
  readonly box: SecretBox
  readonly platformEvents: PlatformEvents
  readonly compute: Compute
  readonly directory: Directory
  readonly making: Making
  readonly namesEarlierHistory: NamesEarlierHistory
  readonly provision: Provision
  readonly swap: Swap
  /** By database: what gives a branch a volume or its passwords. */
  readonly mutex: KeyedMutex
  readonly payloads: Payloads
  readonly graceSeconds: number
  /** PEM; null where the operator's certificate is used. */
  readonly authority: () => Promise<string | null>
}

type DatabaseOperations = Pick<
  typeof areas.databases.specs,
  | "list"
  | "create"
  | "provision"
  | "certificateAuthority"
  | "get"
  | "update"
  | "delete"
  | "restore"
  | "wake"
  | "suspend"
  | "resetPassword"
  | "recoveryWindow"
  | "pitr"
>

export const databaseHandlers = (needs: DatabaseHandlerNeeds): Handlers<DatabaseOperations> => {
  const { engine, changes, box, compute, directory, making, payloads } = needs

  const emit = (
    { db, organization }: Call,
    type: "database.deleted" | "database.restored",
    { id, name, project_id, pg_version }: DatabaseRecord,
  ) => {
    const data = { database_id: id, name, pg_version }
    return needs.platformEvents.emit(db, {
      organizationId: organization.id,
      projectId: project_id,
      type,
      data,
    })
  }

  /** The branch of an active database that a request means: the one it names, or the default one. */
  const readyBranch = async (call: Call, id: string, branchId?: string): Promise<ReadyBranch> => {
    const database = await getActive(call, id)
    const found = await directory.find({
      organizationId: call.organization.id,
      projectId: projectOf(call),
      databaseId: database.id,
      branchId,
    })
    if (!found) throw fault("branch_not_found")
    return found
  }

  /** Sets new passwords in the server, then on record. What runs at the same time would leave those of one in each. */
  const newPassword = async (call: Call, id: string, branchId: string): Promise<string> => {
    // A restore may have given the branch another volume before its turn came.
    const { organizationId, volume } = await readyBranch(call, id, branchId)
    const credentials = newCredentials()
    await callEngine(() => engine.setCredentials(volume, credentials))
    const sealed = await box.seal(organizationId, sealedFor(branchId), JSON.stringify(credentials))
    await databaseStore(call.db).updateBranch(organizationId, branchId, {
      credentials: sealed,
      updated_at: call.now,
    })
    return credentials.owner
  }

  const shown = async (call: Call, id: string) => payloads.database(await getDatabase(call, id))

  return {
    async list(input, call) {
      const listed = await databaseStore(call.db).list(call.organization.id, projectOf(call), {
        includeDeleted: input.include_deleted ?? false,
        ...pageOf(input),
      })
      return page({ rows: listed.rows.map(payloads.database), total: listed.total }, input)
    },

    create: async (input, call) => {
      const made = await making.database({
        organizationId: call.organization.id,
        projectId: projectOf(call),
        name: input.name,
        pgVersion: versionOf(input.pg_version, engine.capabilities),
        tier: tierOf(input.isolation, engine.capabilities),
        isDefault: false,
        suspendTimeoutSeconds: input.suspend_timeout_seconds ?? SUSPEND_TIMEOUT_SECONDS_DEFAULT,
        historyRetentionSeconds: input.history_retention_seconds ?? HISTORY_RETENTION_SECONDS_DEFAULT,
        now: call.now,
      })
      call.describe({ targets: [databaseTarget({ id: made.id, name: input.name })] })
      await hold(compute, await readyBranch(call, made.id))
      return { ...(await shown(call, made.id)), ...payloads.secrets(made.branchId, made.credentials.owner) }
    },

    provision: async (_input, call) => {
      const { id, branchId, password } = await needs.provision.getOrCreate(call)
      const database = await shown(call, id)
      call.describe({ targets: [databaseTarget(database)] })
      return {
        database,
        created: password !== undefined,
        ...payloads.uris(branchId),
        ...(password !== undefined && payloads.secrets(branchId, password)),
      }
    },

    certificateAuthority: async () => ({ certificate: await needs.authority() }),

    get: ({ id }, call) => shown(call, id),

    async update({ id, ...changed }, call) {
      await getActive(call, id)
      const { organization, now, db } = call
      try {
        await databaseStore(db).updateDatabase(organization.id, id, ["active"], {
          ...changed,
          updated_at: now,
        })
      } catch (error) {
        if (!isUniqueViolation(error, "databases_name")) throw error
        throw fault("name_taken", { resource: "database", name: changed.name ?? "" })
      }
      await changes.invalidate(call.db, DATABASE_TOPIC, id)
      const database = await shown(call, id)
      call.describe({ targets: [databaseTarget(database)] })
      return database
    },

    async delete({ id }, call) {
      const database = await getActive(call, id)
      const { organization, now, db } = call
      call.describe({ targets: [databaseTarget(database)] })
      const purge_at = new Date(now.getTime() + needs.graceSeconds * 1000)
      const branches = await databaseStore(db).branchesOf(organization.id, id)
      const ready = await Promise.all(
        branches.map(branch => readyBranch(call, id, branch.id).catch(() => undefined)),
      )
      await databaseStore(db).updateDatabase(organization.id, id, ["active"], {
        // What was the default is that again when it comes back, so `is_default` stays.
        ...{ state: "deleted", deleted_at: now, updated_at: now, purge_at },
      })
      await changes.invalidate(call.db, DATABASE_TOPIC, id)
      await emit(call, "database.deleted", database)
      // Nobody new gets in from here on; whoever is connected is put out.
      call.committed(async () => {
        for (const branch of ready) if (branch) await compute.suspend(branch)
      })
      return shown(call, id)
    },

    async restore({ id }, call) {
      const database = await getDatabase(call, id)
      const { organization, now, db } = call
      call.describe({ targets: [databaseTarget(database)] })
      if (database.state === "active") return payloads.database(database)
      if (database.purge_at && database.purge_at <= now) throw fault("database_not_found")
      const isDefault =
        database.is_default && !(await databaseStore(db).findDefault(organization.id, projectOf(call)))
      await databaseStore(db).updateDatabase(organization.id, id, ["deleted"], {
        ...{ state: "active", deleted_at: null, purge_at: null, updated_at: now },
        is_default: isDefault,
      })
      await changes.invalidate(call.db, DATABASE_TOPIC, id)
      await emit(call, "database.restored", database)
      return shown(call, id)
    },

    async wake({ id, branch_id }, call) {
      const branch = await readyBranch(call, id, branch_id)
      // Not waited for: whoever asks wants to do something else meanwhile. A start that fails shows at the first query.
      void hold(compute, branch).catch(error =>
        call.log.warn({ err: error }, "resuming a suspended database failed"),
      )
      const state = compute.stateOf(branch.volume.id)
      return { compute_state: state === "idle" ? "starting" : state }
    },

    suspend: async ({ id, branch_id }, call) => {
      const branch = await readyBranch(call, id, branch_id)
      call.describe({ targets: [databaseTarget({ id, name: branch.databaseName })] })
      await callEngine(() => compute.suspend(branch))
      return { compute_state: compute.stateOf(branch.volume.id) }
    },

    resetPassword: async ({ id, branch_id }, call) => {
      const { databaseId, databaseName, branchId } = await readyBranch(call, id, branch_id)
      call.describe({ targets: [databaseTarget({ id, name: databaseName })] })
      const password = await needs.mutex.run(databaseId, () => newPassword(call, id, branchId))
      await changes.invalidate(call.db, DATABASE_TOPIC, id)
      return { connection: payloads.connection(branchId), ...payloads.secrets(branchId, password) }
    },

    async recoveryWindow({ id, branch_id }, call) {
      const { volume } = await readyBranch(call, id, branch_id)
      const window = await callEngine(() => engine.window(volume))
      return {
        earliest: toIso(window.earliest),
        latest: toIso(window.latest),
        latest_lsn: window.latestLsn,
        protection: window.protection,
      }
    },

    pitr: async (input, call) => {
      const { id, target_time: time, target_lsn: lsn, mode = "new" } = input
      const database = await getActive(call, id)
      const point = pointOf({ time, lsn })
      if (point.kind === "head")
        throw fault("recovery_point_invalid", { reason: "name target_time or target_lsn" })
      const source = await readyBranch(call, id)
      call.describe({ targets: [databaseTarget(database)] })
      if (mode === "in_place") {
        await needs.swap.restore(call, { branch: source, from: source, point })
        return shown(call, id)
      }
      const copied = {
        organizationId: source.organizationId,
        projectId: source.projectId,
        name: input.name ?? `${database.name.slice(0, 46)}-${Math.floor(call.now.getTime() / 1000)}`,
        pgVersion: source.volume.pgVersion,
        tier: source.volume.tier,
        isDefault: false,
        suspendTimeoutSeconds: database.suspend_timeout_seconds,
        historyRetentionSeconds: database.history_retention_seconds,
        now: call.now,
        from: { databaseId: id, volume: source.volume, point, roles: rolesOf(input) },
      }
      const made = await needs.namesEarlierHistory(source, point, () => making.database(copied))
      return { ...(await shown(call, made.id)), ...payloads.secrets(made.branchId, made.credentials.owner) }
    },
  }
}

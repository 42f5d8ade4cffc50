import { type areas, page, pageOf } from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Handlers } from "../../kernel/implement.ts"
import type { Sessions } from "../../services/postgres/sessions.ts"
import { type Compute, hold } from "./compute.ts"
import { DATABASE_TOPIC, type Directory, type ReadyBranch } from "./directory.ts"
import type { NamesEarlierHistory } from "./earlier.ts"
import { branchTarget, getActive, getBranch, projectOf } from "./lookup.ts"
import type { Making } from "./making.ts"
import type { Payloads } from "./payloads.ts"
import { pointOf, rolesOf } from "./rules.ts"
import { schemaOnly } from "./schema-only.ts"
import { type BranchRecord, type DatabaseRecord, databaseStore } from "./store.ts"
import type { Swap } from "./swap.ts"

export interface BranchHandlerNeeds {
  readonly changes: Changes
  readonly compute: Compute
  readonly directory: Directory
  readonly making: Making
  readonly namesEarlierHistory: NamesEarlierHistory
  readonly swap: Swap
  readonly sessions: Sessions
  readonly payloads: Payloads
}

type BranchOperations = Pick<
  typeof areas.databases.specs,
  | "listBranches"
  | "createBranch"
  | "getBranch"
  | "updateBranch"
  | "deleteBranch"
  | "restoreBranch"
  | "resetBranch"
>

const inUse = (reason: string) => fault("branch_in_use", { reason })

export const branchHandlers = (needs: BranchHandlerNeeds): Handlers<BranchOperations> => {
  const { changes, compute, directory, making, payloads } = needs

  const ready = async (call: Call, databaseId: string, branchId: string): Promise<ReadyBranch> => {
    const organizationId = call.organization.id
    const found = await directory.find({ organizationId, projectId: projectOf(call), databaseId, branchId })
    if (!found) throw fault("branch_not_found")
    return found
  }

  const shown = async (call: Call, database: DatabaseRecord, branchId: string) =>
    payloads.branch(await getBranch(call, database, branchId), database.default_branch_id)

  const checkDeletable = async (call: Call, database: DatabaseRecord, branch: BranchRecord) => {
    if (branch.id === database.default_branch_id) throw inUse("it is the default branch")
    if (branch.protected) throw inUse("it is protected")
    if (await databaseStore(call.db).hasChildren(call.organization.id, branch.id))
      throw inUse("others were made from it")
  }

  return {
    async listBranches(input, call) {
      const database = await getActive(call, input.id)
      const listed = await databaseStore(call.db).listBranches(
        call.organization.id,
        database.id,
        pageOf(input),
      )
      const rows = listed.rows.map(row => payloads.branch(row, database.default_branch_id))
      return page({ rows, total: listed.total }, input)
    },

    createBranch: async (input, call) => {
      const database = await getActive(call, input.id)
      const parent = await getBranch(call, database, input.parent_id ?? database.default_branch_id)
      const source = await ready(call, database.id, parent.id)
      const name = input.name ?? `branch-${newId().slice(-12)}`
      const asked = {
        organizationId: call.organization.id,
        databaseId: database.id,
        parentId: parent.id,
        name,
        from: {
          volume: source.volume,
          point: pointOf({ time: input.parent_timestamp, lsn: input.parent_lsn }),
          roles: rolesOf(input),
        },
        isProtected: input.protected ?? false,
        expiresAt: input.expires_at ? new Date(input.expires_at) : null,
        now: call.now,
      }
      const made = await needs.namesEarlierHistory(source, asked.from.point, () => making.branch(asked))
      const branch = await ready(call, database.id, made.branchId)
      if (input.init_source === "schema") await schemaOnly(needs.sessions, branch)
      else await hold(compute, branch)
      call.describe({ targets: [branchTarget({ id: made.branchId, name })] })
      return {
        ...(await shown(call, database, made.branchId)),
        ...payloads.secrets(made.branchId, made.credentials.owner),
      }
    },

    async getBranch({ id, branch_id }, call) {
      const database = await getActive(call, id)
      return shown(call, database, branch_id)
    },

    async updateBranch({ id, branch_id, default: makeDefault, expires_at, ...changed }, call) {
      const database = await getActive(call, id)
      const branch = await getBranch(call, database, branch_id)
      const { db, organization, now } = call
      call.describe({ targets: [branchTarget(branch)] })
      const isDefault = makeDefault === true || database.default_branch_id === branch_id
      if (isDefault && expires_at) throw inUse("the default branch does not expire")
      try {
        await databaseStore(db).updateBranch(organization.id, branch_id, {
          ...changed,
          ...(expires_at !== undefined && { expires_at: expires_at === null ? null : new Date(expires_at) }),
          ...(makeDefault && { expires_at: null }),
          updated_at: now,
        })
      } catch (error) {
        if (!isUniqueViolation(error, "branches_name")) throw error
        throw fault("name_taken", { resource: "branch", name: changed.name ?? "" })
      }
      if (makeDefault) {
        await databaseStore(db).updateDatabase(organization.id, id, ["active"], {
          default_branch_id: branch_id,
          updated_at: now,
        })
      }
      await changes.invalidate(call.db, DATABASE_TOPIC, id)
      return shown(call, await getActive(call, id), branch_id)
    },

    async deleteBranch({ id, branch_id }, call) {
      const database = await getActive(call, id)
      const branch = await getBranch(call, database, branch_id)
      const { db, organization } = call
      await checkDeletable(call, database, branch)
      call.describe({ targets: [branchTarget(branch)] })
      const target = await ready(call, id, branch_id)
      await databaseStore(db).deleteBranch(organization.id, branch_id)
      await databaseStore(db).updateVolume(organization.id, target.volume.id, { state: "doomed" })
      await changes.invalidate(call.db, DATABASE_TOPIC, id)
      // The sweeper frees the disk, and ends the sessions that are left.
      call.committed(() => compute.suspend(target))
    },

    restoreBranch: async (input, call) => {
      const database = await getActive(call, input.id)
      const record = await getBranch(call, database, input.branch_id)
      if (record.protected) throw inUse("it is protected")
      const from = await ready(call, input.id, input.source_branch_id)
      const point = pointOf({ time: input.source_timestamp, lsn: input.source_lsn })
      const branch = await ready(call, input.id, input.branch_id)
      if (branch.branchId === from.branchId && point.kind === "head")
        throw fault("recovery_point_invalid", { reason: "name source_timestamp or source_lsn" })
      call.describe({ targets: [branchTarget(record)] })
      await needs.swap.restore(call, { branch, from, point, preserveUnderName: input.preserve_under_name })
      return shown(call, database, input.branch_id)
    },

    resetBranch: async ({ id, branch_id, preserve_under_name }, call) => {
      const database = await getActive(call, id)
      const record = await getBranch(call, database, branch_id)
      if (record.protected) throw inUse("it is protected")
      if (record.parent_id === null) throw inUse("it has no parent")
      const [branch, from] = [await ready(call, id, branch_id), await ready(call, id, record.parent_id)]
      call.describe({ targets: [branchTarget(record)] })
      const point = { kind: "head" } as const
      await needs.swap.restore(call, { branch, from, point, preserveUnderName: preserve_under_name })
      return shown(call, database, branch_id)
    },
  }
}

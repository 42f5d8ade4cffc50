import { FUNCTION_VERSIONS_KEPT, FUNCTIONS_MAX, page, pageOf, plans } from "@svc/contract"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { isUuid, newId } from "../../kernel/id.ts"
import type { Hosts } from "../../services/hosts/hosts.ts"
import { type DeployInput, type DeploymentNeeds, readDeployment, writeVersion } from "./deployment.ts"
import { columnOf, FUNCTION_TOPIC } from "./directory.ts"
import { eventOf } from "./events.ts"
import { type Installation, toFunction, toVersion } from "./payloads.ts"
import { languageOf } from "./runtimes.ts"
import { type DeployedRow, functionStore } from "./store.ts"

export interface FunctionHandlerNeeds extends DeploymentNeeds {
  readonly changes: Changes
  readonly platformEvents: PlatformEvents
  readonly hosts: Pick<Hosts, "orElsewhere">
  readonly installation: Installation
  /** A function was deployed, which may want instances at once. */
  readonly deployed: () => Promise<void>
}

/** Throws `function_not_found`. */
export const requireFunction = async (
  call: Call,
  ref: string,
  how: "find" | "findForUpdate" = "find",
): Promise<DeployedRow> => {
  const row = ref.includes("\0")
    ? undefined
    : await functionStore(call.db)[how](call.projectTenant, columnOf(ref), ref)
  if (!row) throw fault("function_not_found", { id: ref.slice(0, 64) })
  return row
}

export const auditTarget = ({ id, name }: Pick<DeployedRow, "id" | "name">) => ({
  type: "function",
  id,
  name,
})

/** A word of our paths. */
const RESERVED: ReadonlySet<string> = new Set(["public"])

const checkName = (name: string) => {
  if (isUuid(name) || RESERVED.has(name))
    throw fault("invalid_name", { reason: `a function cannot be called ${name}` })
}

/** Those who ask for more than before wait for each other, and see what the others got. */
const checkKept = async (
  call: Call,
  { min_instances = 0 }: DeployInput,
  before: DeployedRow | undefined,
): Promise<void> => {
  if (min_instances <= (before?.min_instances ?? 0)) return
  const limit = plans[call.organization.plan].kept_instances
  const others = await functionStore(call.db).lockKept(call.projectTenant, before?.id)
  if (others + min_instances > limit)
    throw fault("plan_limit_reached", { limit, resources: "instances that a project's functions keep" })
}

const nameTaken = (error: unknown, name: string): unknown =>
  isUniqueViolation(error, "functions_name") ? fault("name_taken", { resource: "function", name }) : error

export const functionHandlers = (needs: FunctionHandlerNeeds) => {
  const { changes, platformEvents, runtimes, hosts, installation, deployed } = needs

  const versionOf = async (runtime: string): Promise<string> =>
    (await runtimes.of(languageOf(runtime)))?.version ?? runtime
  const show = async (row: DeployedRow) => toFunction(row, await versionOf(row.runtime), installation)

  const announce = async (call: Call, event: ReturnType<typeof eventOf>) => {
    const id = event.data.function_id
    await changes.invalidate(call.db, FUNCTION_TOPIC, id)
    await platformEvents.emit(call.db, event)
    call.committed(deployed)
  }

  const create = async ({ name, ...input }: DeployInput & { name: string }, call: Call) => {
    checkName(name)
    const store = functionStore(call.db)
    const owner = call.projectTenant
    if ((await store.count(owner)) >= FUNCTIONS_MAX)
      throw fault("plan_limit_reached", { limit: FUNCTIONS_MAX, resources: "functions" })
    await checkKept(call, input, undefined)
    const id = newId()
    const deployment = await readDeployment(needs, id, { name, ...input }, undefined, call)
    await store
      .insert({
        ...{ id, organization_id: owner.organizationId, project_id: owner.projectId, name, version: 1 },
        ...{ description: input.description ?? "", labels: JSON.stringify(input.labels ?? {}) },
        ...{ is_public: input.public ?? false, status: "ACTIVE", invocation_count: 0 },
        ...{ created_at: call.now, updated_at: call.now },
      })
      .catch(error => {
        throw nameTaken(error, name)
      })
    await writeVersion(needs, call, id, 1, deployment, undefined)
    const made = await requireFunction(call, id)
    await announce(call, eventOf("function.deployed", made))
    call.describe({ targets: [auditTarget(made)] })
    return show(made)
  }

  const update = async ({ id: ref, ...input }: DeployInput & { id: string }, call: Call) => {
    if (input.name !== undefined) checkName(input.name)
    const before = await requireFunction(call, ref, "findForUpdate")
    const store = functionStore(call.db)
    await checkKept(call, input, before)
    const deployment = await readDeployment(needs, before.id, input, before, call)
    const version = before.version + 1
    await writeVersion(needs, call, before.id, version, deployment, before)
    const name = input.name ?? before.name
    await store
      .update(before, {
        ...{ name, version, status: "ACTIVE", status_reason: null, updated_at: call.now },
        ...(input.description !== undefined && { description: input.description }),
        ...(input.labels && { labels: JSON.stringify(input.labels) }),
        ...(input.public !== undefined && { is_public: input.public }),
      })
      .catch(error => {
        throw nameTaken(error, name)
      })
    await store.dropVersions(before, version - FUNCTION_VERSIONS_KEPT)
    const made = await requireFunction(call, before.id)
    await announce(call, eventOf("function.deployed", made))
    call.describe({ targets: [auditTarget(made)] })
    return show(made)
  }

  /** Where functions run is any host's matter that runs them, and so is what can be deployed. */
  const anywhere = { memoryBytes: 0 }
  return {
    create: (input: Parameters<typeof create>[0], call: Call) =>
      hosts.orElsewhere(anywhere, () => create(input, call)),
    update: (input: Parameters<typeof update>[0], call: Call) =>
      hosts.orElsewhere(anywhere, () => update(input, call)),

    async list(input: { limit?: number; offset?: number }, call: Call) {
      const { rows, total } = await functionStore(call.db).list(call.projectTenant, pageOf(input))
      return page({ rows: await Promise.all(rows.map(show)), total }, input)
    },

    async get({ id }: { id: string }, call: Call) {
      return show(await requireFunction(call, id))
    },

    async delete({ id: ref }: { id: string }, call: Call) {
      const row = await requireFunction(call, ref, "findForUpdate")
      await functionStore(call.db).delete(row)
      await announce(call, eventOf("function.deleted", row))
      call.describe({ targets: [auditTarget(row)] })
      return { id: row.id, deleted: true }
    },

    async versions({ id, ...input }: { id: string; limit?: number; offset?: number }, call: Call) {
      const row = await requireFunction(call, id)
      const { rows, total } = await functionStore(call.db).listVersions(row, pageOf(input))
      const shown = await Promise.all(
        rows.map(async one => toVersion(one, await versionOf(one.runtime), row.version)),
      )
      return page({ rows: shown, total }, input)
    },
  }
}

import {
  type areas,
  DEPLOYMENT_VERSIONS_KEPT,
  DEPLOYMENTS_MAX,
  type Input,
  page,
  pageOf,
  workloadLimits,
} from "@svc/contract"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import type { Hosts } from "../../services/hosts/hosts.ts"
import type { Instance } from "../../services/serving/instance.ts"
import { readLogPage } from "../../services/serving/log-pages.ts"
import type { Serving } from "../../services/serving/serving.ts"
import { labelOf } from "../../services/serving/urls.ts"
import { MB } from "../../services/workloads/shape.ts"
import { type ConfigNeeds, type DeployInput, isNewVersion, readConfig, readEnv } from "./config.ts"
import { columnOf, DEPLOYMENT_TOPIC } from "./directory.ts"
import { instanceStore } from "./instance-store.ts"
import { type Installation, toDeployment, toInstance, toVersion } from "./payloads.ts"
import { type DeploymentRow, deploymentStore } from "./store.ts"

export interface HandlerNeeds extends ConfigNeeds {
  readonly changes: Changes
  readonly platformEvents: Pick<PlatformEvents, "emit">
  readonly hosts: Pick<Hosts, "id" | "reserve" | "orElsewhere">
  readonly runtime: RuntimePort
  readonly serving: Pick<Serving, "instances" | "logs">
  readonly installation: Installation
}

/** Stopped instances are shown for so long. */
export const STOPPED_SHOWN_MS = 3_600_000
const INSTANCES_MAX = workloadLimits.compute.instances.max

interface One {
  readonly id: string
}
interface Paged {
  readonly limit?: number
  readonly offset?: number
}
interface Scale {
  readonly min_instances?: number
  readonly max_instances?: number
}
interface Named extends DeployInput {
  readonly name: string
}

const auditTarget = ({ id, name }: Pick<DeploymentRow, "id" | "name">) => ({ type: "deployment", id, name })

/** Throws `deployment_not_found`. */
const require = async (
  call: Call,
  ref: string,
  how: "find" | "findForUpdate" = "find",
): Promise<DeploymentRow> => {
  const row = ref.includes("\0")
    ? undefined
    : await deploymentStore(call.db)[how](call.projectTenant, columnOf(ref), ref)
  if (!row) throw fault("deployment_not_found", { id: ref.slice(0, 64) })
  return row
}

const checkLabels = ({ labels = {} }: DeployInput) => {
  const entries = Object.entries(labels)
  if (entries.length > 64) throw fault("invalid_parameter", { reason: "labels: more than 64" })
  if (entries.flat().some(text => text.includes("\0") || !text.isWellFormed()))
    throw fault("invalid_parameter", { reason: "labels cannot hold null characters" })
}

/** Those who ask for more than before wait for each other, and see what the others got. */
const readScale = async (
  call: Call,
  input: Scale,
  before: DeploymentRow | undefined,
): Promise<Required<Scale>> => {
  const min_instances = input.min_instances ?? before?.min_instances ?? 1
  const max_instances = input.max_instances ?? Math.max(before?.max_instances ?? 1, min_instances)
  if (min_instances > max_instances)
    throw fault("invalid_parameter", {
      reason: `min_instances: ${min_instances} is more than max_instances, ${max_instances}`,
    })
  const others = await deploymentStore(call.db).lockInstances(call.projectTenant, before?.id)
  const was = before && before.min_instances > 0 ? before.max_instances : 0
  const most = min_instances > 0 ? max_instances : 0
  if (most > was && others + most > INSTANCES_MAX)
    throw fault("plan_limit_reached", {
      limit: INSTANCES_MAX,
      resources: "instances of a project's deployments",
    })
  return { min_instances, max_instances }
}

const STARTS = { status: "DEPLOYING", status_reason: null } as const
const STOPS = { status: "STOPPED", status_reason: null } as const

const changeHandlers = (needs: HandlerNeeds) => {
  const { changes, platformEvents, hosts, installation, serving } = needs

  const shown = async (call: Call, id: string) => {
    await changes.invalidate(call.db, DEPLOYMENT_TOPIC, id)
    const row = await require(call, id)
    call.describe({ targets: [auditTarget(row)] })
    return toDeployment(row, installation)
  }

  const addVersion = async (
    call: Call,
    of: { readonly deploymentId: string; readonly number: number },
    input: DeployInput,
    before: DeploymentRow | undefined,
  ) => {
    const version_id = newId()
    const { deploymentId: deployment_id, number } = of
    const config = readConfig(needs, input, before)
    const { image, image_digest, kind, command, args, ports, vcpus, memory_mb, ...rest } = config
    const { restart_policy, max_retries, health_port, health_path, health_interval_seconds } = rest
    const { health_timeout_seconds, health_grace_seconds, unhealthy_threshold } = rest
    const env = await readEnv(needs.box, version_id, input, before, call)
    await deploymentStore(call.db).insertVersion({
      ...{ organization_id: call.organization.id, deployment_id, version_id, number },
      ...{ version_status: "DEPLOYING", version_reason: null, deployed_at: call.now },
      ...{ image, image_digest, kind, command, args, ports, vcpus, memory_mb, restart_policy },
      ...{ max_retries, health_port, health_path, health_interval_seconds, health_timeout_seconds },
      ...{ health_grace_seconds, unhealthy_threshold, ...env },
    })
  }

  const add = async ({ name, ...input }: Named, call: Call) => {
    const store = deploymentStore(call.db)
    const owner = call.projectTenant
    const scale = await readScale(call, input, undefined)
    if ((await store.count(owner)) >= DEPLOYMENTS_MAX)
      throw fault("plan_limit_reached", { limit: DEPLOYMENTS_MAX, resources: "deployments" })
    const { memory_mb } = readConfig(needs, input, undefined)
    // Whether there is room is known better now than when nobody listens any more.
    if (scale.min_instances > 0) hosts.reserve({ memoryBytes: memory_mb * MB })[Symbol.dispose]()
    const id = newId()
    await store.insert({
      ...{ id, organization_id: owner.organizationId, project_id: owner.projectId, name },
      ...{ host_label: labelOf({ id, name }), labels: JSON.stringify(input.labels ?? {}) },
      ...{ is_public: input.public ?? false, ...scale, newest_version: 1, version: 1, generation: 1 },
      ...{ ready_version: null, ready_generation: null, failed_generation: null, failed_reason: null },
      ...{ ...(scale.min_instances > 0 ? STARTS : STOPS), ready_instances: 0, host_id: hosts.id },
      ...{ created_at: call.now, updated_at: call.now },
    })
    await addVersion(call, { deploymentId: id, number: 1 }, input, undefined)
    await platformEvents.emit(call.db, {
      ...{ ...owner, type: "deployment.created", data: { deployment_id: id, name } },
    })
    return shown(call, id)
  }

  const change = async (input: DeployInput, before: DeploymentRow, call: Call) => {
    const store = deploymentStore(call.db)
    const scale = await readScale(call, input, before)
    const isNew = isNewVersion(input)
    const version = isNew ? before.newest_version + 1 : before.version
    if (isNew) await addVersion(call, { deploymentId: before.id, number: version }, input, before)
    const isChanged = isNew || scale.min_instances !== before.min_instances
    await store.update(before, {
      ...{ ...scale, updated_at: call.now },
      ...(isNew && { newest_version: version, version, generation: before.generation + 1 }),
      ...(isChanged && (scale.min_instances > 0 ? STARTS : STOPS)),
      ...(input.labels && { labels: JSON.stringify(input.labels) }),
      ...(input.public !== undefined && { is_public: input.public }),
    })
    if (isNew)
      await store.prune(before, version - DEPLOYMENT_VERSIONS_KEPT, [version, before.ready_version ?? 0])
    return shown(call, before.id)
  }

  const deploy = async (given: Named, call: Call) => {
    checkLabels(given)
    const store = deploymentStore(call.db)
    // Two who deploy the same name at once wait for each other here.
    await store.lockInstances(call.projectTenant, undefined)
    const before = await store.findForUpdate(call.projectTenant, "name", given.name)
    const { name: _, ...input } = given
    return before ? change(input, before, call) : add(given, call)
  }

  /** Has a version run anew, in the place of what runs. */
  const renew = async (before: DeploymentRow, version: number, call: Call) => {
    await deploymentStore(call.db).update(before, {
      ...{ version, generation: before.generation + 1, updated_at: call.now },
      ...(before.min_instances > 0 && STARTS),
    })
  }

  return {
    create: (input: Named, call: Call) =>
      hosts.orElsewhere({ memoryBytes: (input.memory_mb ?? 0) * MB }, () => deploy(input, call)),

    async scale({ id: ref, ...input }: One & Scale, call: Call) {
      return change(input, await require(call, ref, "findForUpdate"), call)
    },

    async delete({ id: ref }: One, call: Call) {
      const row = await require(call, ref, "findForUpdate")
      await deploymentStore(call.db).delete(row)
      await serving.logs.remove(call.db, row)
      await changes.invalidate(call.db, DEPLOYMENT_TOPIC, row.id)
      call.describe({ targets: [auditTarget(row)] })
      return { id: row.id, deleted: true }
    },

    async restart({ id: ref }: One, call: Call) {
      const row = await require(call, ref, "findForUpdate")
      await renew(row, row.version, call)
      return shown(call, row.id)
    },

    async rollback({ id: ref, version }: One & { version: number }, call: Call) {
      const row = await require(call, ref, "findForUpdate")
      const found = await deploymentStore(call.db).findVersion(row, version)
      const refuse = (what: string) => fault("invalid_parameter", { reason: `version: ${version} ${what}` })
      if (!found) throw refuse("is no version of this deployment")
      if (found.version_status !== "READY") throw refuse("has never been ready")
      await renew(row, version, call)
      await platformEvents.emit(call.db, {
        ...{ organizationId: row.organization_id, projectId: row.project_id },
        ...{ type: "deployment.rolled_back", data: { deployment_id: row.id, name: row.name } },
      })
      return shown(call, row.id)
    },
  }
}

type LogInput = Input<(typeof areas.deployments.specs)["logs"]>

const readHandlers = ({ runtime, serving, installation }: HandlerNeeds) => {
  /** Instances of this process by their place. */
  const own = (deploymentId: string): ReadonlyMap<string, Instance> =>
    new Map(
      serving
        .instances()
        .flatMap(one => (one.place && one.spec.serviceId === deploymentId ? [[one.place.id, one]] : [])),
    )

  return {
    async list(input: Paged, call: Call) {
      const { rows, total } = await deploymentStore(call.db).list(call.projectTenant, pageOf(input))
      return page({ rows: rows.map(row => toDeployment(row, installation)), total }, input)
    },

    async get({ id }: One, call: Call) {
      return toDeployment(await require(call, id), installation)
    },

    async versions({ id, ...input }: One & Paged, call: Call) {
      const row = await require(call, id)
      const { rows, total } = await deploymentStore(call.db).listVersions(row, pageOf(input))
      return page({ rows: rows.map(one => toVersion(one, row)), total }, input)
    },

    async instances({ id, ...input }: One & Paged, call: Call) {
      const row = await require(call, id)
      const since = new Date(call.now.getTime() - STOPPED_SHOWN_MS)
      const { rows, total } = await instanceStore(call.db).list(row, since, pageOf(input))
      const here = own(row.id)
      const shown = await Promise.all(
        rows.map(async one => {
          const live = here.get(one.id)
          const usage = live && (await runtime.stats(live.id).catch(() => undefined))
          const now = live && { in_flight_requests: live.inFlight, requests: live.served }
          return toInstance({ ...one, ...now }, usage)
        }),
      )
      return page({ rows: shown, total }, input)
    },

    async logs({ id, ...input }: LogInput, call: Call) {
      return readLogPage(serving.logs, await require(call, id), input)
    },
  }
}

export const deploymentHandlers = (needs: HandlerNeeds) => ({
  ...changeHandlers(needs),
  ...readHandlers(needs),
})

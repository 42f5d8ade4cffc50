import {
  type areas,
  type Input,
  page,
  pageOf,
  plans,
  RUN_INSTANCES_DEFAULT,
  RUN_METRICS_WINDOW_SECONDS,
  RUN_REVISIONS_KEPT,
  RUN_SERVICES_MAX,
} from "@svc/contract"
import type { Call } from "../../kernel/call.ts"
import type { Changes } from "../../kernel/db/changes.ts"
import { isUniqueViolation } from "../../kernel/db/database.ts"
import { fault } from "../../kernel/fault.ts"
import { newId } from "../../kernel/id.ts"
import type { Jobs } from "../../kernel/jobs/jobs.ts"
import type { RuntimePort } from "../../ports/runtime/port.ts"
import type { Hosts } from "../../services/hosts/hosts.ts"
import type { Instance } from "../../services/serving/instance.ts"
import { readLogPage } from "../../services/serving/log-pages.ts"
import type { Serving } from "../../services/serving/serving.ts"
import { labelOf } from "../../services/serving/urls.ts"
import { DEPLOY_QUEUE, type DeployJob } from "./deploying.ts"
import {
  type DeployInput,
  type DeploymentNeeds,
  isNewRevision,
  readDeployment,
  writeRevision,
} from "./deployment.ts"
import { columnOf, SERVICE_TOPIC } from "./directory.ts"
import { summarize } from "./figures.ts"
import { instanceStore } from "./instance-store.ts"
import { type Installation, toInstance, toRevision, toService } from "./payloads.ts"
import { type ServiceRow, serviceStore } from "./store.ts"
import { ALL_TO_LATEST, readRevisionRef, readTraffic, servedNumbers } from "./traffic.ts"

export interface HandlerNeeds extends DeploymentNeeds {
  readonly changes: Changes
  readonly jobs: Pick<Jobs, "enqueue">
  readonly hosts: Pick<Hosts, "id" | "orElsewhere">
  readonly runtime: RuntimePort
  readonly serving: Pick<Serving, "instances" | "waiting" | "logs">
  readonly installation: Installation
  /** Writes figures that are not written yet. */
  readonly flush: () => Promise<void>
}

/** Stopped instances are shown for so long. */
export const STOPPED_SHOWN_MS = 3_600_000

interface One {
  readonly id: string
}
interface Paged {
  readonly limit?: number
  readonly offset?: number
}

const auditTarget = ({ id, name }: Pick<ServiceRow, "id" | "name">) => ({ type: "run_service", id, name })

/** Throws `service_not_found`. */
const require = async (
  call: Call,
  ref: string,
  how: "find" | "findForUpdate" = "find",
): Promise<ServiceRow> => {
  const row = ref.includes("\0")
    ? undefined
    : await serviceStore(call.db)[how](call.projectTenant, columnOf(ref), ref)
  if (!row) throw fault("service_not_found", { id: ref.slice(0, 64) })
  return row
}

/** Those who ask for more than before wait for each other, and see what the others got. */
const checkKept = async (call: Call, { min_instances = 0 }: DeployInput, before: ServiceRow | undefined) => {
  if (min_instances <= (before?.min_instances ?? 0)) return
  const limit = plans[call.organization.plan].kept_instances
  const others = await serviceStore(call.db).lockKept(call.projectTenant, before?.id)
  if (others + min_instances > limit)
    throw fault("plan_limit_reached", { limit, resources: "instances that a project's services keep" })
}

const checkCounts = (min: number, max: number) => {
  if (min > max)
    throw fault("invalid_parameter", { reason: `min_instances: ${min} is more than max_instances, ${max}` })
}

const checkLabels = ({ labels = {} }: DeployInput) => {
  const entries = Object.entries(labels)
  if (entries.length > 64) throw fault("invalid_parameter", { reason: "labels: more than 64" })
  if (entries.flat().some(text => text.includes("\0") || !text.isWellFormed()))
    throw fault("invalid_parameter", { reason: "labels cannot hold null characters" })
}

/** The number of a revision that has been ready. Throws `invalid_parameter`. */
const readyNumber = async (call: Call, service: ServiceRow, ref: number | string): Promise<number> => {
  const named = readRevisionRef(service.name, ref)
  const store = serviceStore(call.db)
  const row =
    named &&
    ("id" in named
      ? await store.findRevision(service, "revision_id", named.id)
      : await store.findRevision(service, "number", named.number))
  const refuse = (what: string) =>
    fault("invalid_parameter", { reason: `revision: ${String(ref).slice(0, 64)} ${what}` })
  if (!row) throw refuse("is no revision of this service")
  if (row.status !== "READY") throw refuse("is not ready")
  return row.number
}

const trafficOf = async (call: Call, service: ServiceRow, { traffic }: DeployInput) =>
  traffic && readTraffic(traffic, ref => readyNumber(call, service, ref))

const changeHandlers = (needs: HandlerNeeds) => {
  const { changes, jobs, hosts, installation } = needs

  const announce = (call: Call, id: string) => changes.invalidate(call.db, SERVICE_TOPIC, id)

  const deploy = async (call: Call, serviceId: string, revisionId: string) => {
    const payload: DeployJob = { organizationId: call.organization.id, serviceId, revisionId }
    await jobs.enqueue(call.db, { queue: DEPLOY_QUEUE, tenantId: call.organization.id, payload })
  }

  const shown = async (call: Call, id: string) => {
    const row = await require(call, id)
    call.describe({ targets: [auditTarget(row)] })
    return toService(row, installation)
  }

  const create = async ({ name, ...input }: DeployInput & { name: string }, call: Call) => {
    const store = serviceStore(call.db)
    const owner = call.projectTenant
    checkLabels(input)
    const { min_instances = 0, max_instances = Math.max(RUN_INSTANCES_DEFAULT, min_instances) } = input
    checkCounts(min_instances, max_instances)
    if ((await store.count(owner)) >= RUN_SERVICES_MAX)
      throw fault("plan_limit_reached", { limit: RUN_SERVICES_MAX, resources: "run services" })
    await checkKept(call, input, undefined)
    if (input.traffic)
      await readTraffic(input.traffic, async ref => {
        throw fault("invalid_parameter", {
          reason: `traffic: ${String(ref).slice(0, 64)} is no revision of this service`,
        })
      })
    const [id, revisionId] = [newId(), newId()]
    const deployment = await readDeployment(needs, revisionId, input, undefined, call)
    const traffic =
      input.traffic?.map(({ percent, tag = null }) => ({ revision: null, percent, tag })) ?? ALL_TO_LATEST
    await store
      .insert({
        ...{ id, organization_id: owner.organizationId, project_id: owner.projectId, name },
        ...{ host_label: labelOf({ id, name }), labels: JSON.stringify(input.labels ?? {}) },
        ...{ is_public: input.public ?? false, min_instances, max_instances },
        ...{ revision: 1, ready_revision: null, traffic: JSON.stringify(traffic) },
        ...{ created_at: call.now, updated_at: call.now },
      })
      .catch(error => {
        throw isUniqueViolation(error, "services_name")
          ? fault("name_taken", { resource: "service", name })
          : error
      })
    await writeRevision(needs, call, { serviceId: id, revisionId, number: 1 }, deployment)
    await deploy(call, id, revisionId)
    await announce(call, id)
    return shown(call, id)
  }

  const addRevision = async (input: DeployInput, before: ServiceRow, call: Call): Promise<number> => {
    const revisionId = newId()
    const number = before.revision + 1
    const deployment = await readDeployment(needs, revisionId, input, before, call)
    await writeRevision(needs, call, { serviceId: before.id, revisionId, number }, deployment)
    await deploy(call, before.id, revisionId)
    return number
  }

  const update = async ({ id: ref, ...input }: DeployInput & { id: string }, call: Call) => {
    const before = await require(call, ref, "findForUpdate")
    const store = serviceStore(call.db)
    checkLabels(input)
    const min_instances = input.min_instances ?? before.min_instances
    const max_instances = input.max_instances ?? Math.max(before.max_instances, min_instances)
    checkCounts(min_instances, max_instances)
    await checkKept(call, input, before)
    const given = await trafficOf(call, before, input)
    const isNew = isNewRevision(input)
    const revision = isNew ? await addRevision(input, before, call) : before.revision
    const traffic = given ?? (isNew ? ALL_TO_LATEST : before.traffic)
    await store.update(before, {
      ...{ revision, min_instances, max_instances, traffic: JSON.stringify(traffic), updated_at: call.now },
      ...(input.labels && { labels: JSON.stringify(input.labels) }),
      ...(input.public !== undefined && { is_public: input.public }),
    })
    if (isNew)
      await store.prune(
        before,
        revision - RUN_REVISIONS_KEPT,
        servedNumbers({ ...before, revision, traffic }),
      )
    await announce(call, before.id)
    return shown(call, before.id)
  }

  /** Where services run is any host's matter that runs them, and so is what can be deployed. */
  const anywhere = { memoryBytes: 0 }
  return {
    create: (input: Parameters<typeof create>[0], call: Call) =>
      hosts.orElsewhere(anywhere, () => create(input, call)),
    update: (input: Parameters<typeof update>[0], call: Call) =>
      hosts.orElsewhere(anywhere, () => update(input, call)),

    async delete({ id: ref }: One, call: Call) {
      const row = await require(call, ref, "findForUpdate")
      await serviceStore(call.db).delete(row)
      await needs.serving.logs.remove(call.db, row)
      await announce(call, row.id)
      call.describe({ targets: [auditTarget(row)] })
      return { id: row.id, deleted: true }
    },

    async rollback({ id: ref, revision }: One & { revision: number | string }, call: Call) {
      const before = await require(call, ref, "findForUpdate")
      const number = await readyNumber(call, before, revision)
      const traffic = [{ revision: number, percent: 100, tag: null }]
      await serviceStore(call.db).update(before, { traffic: JSON.stringify(traffic), updated_at: call.now })
      await announce(call, before.id)
      return shown(call, before.id)
    },
  }
}

type LogInput = Input<(typeof areas.run.specs)["logs"]>

const readHandlers = ({ hosts, runtime, serving, installation, flush }: HandlerNeeds) => {
  const own = (serviceId: string): ReadonlyMap<string, Instance> =>
    new Map(serving.instances().flatMap(one => (one.spec.serviceId === serviceId ? [[one.id, one]] : [])))

  return {
    async list(input: Paged, call: Call) {
      const { rows, total } = await serviceStore(call.db).list(call.projectTenant, pageOf(input))
      return page({ rows: rows.map(row => toService(row, installation)), total }, input)
    },

    async get({ id }: One, call: Call) {
      return toService(await require(call, id), installation)
    },

    async revisions({ id, ...input }: One & Paged, call: Call) {
      const service = await require(call, id)
      const { rows, total } = await serviceStore(call.db).listRevisions(service, pageOf(input))
      return page({ rows: rows.map(row => toRevision(row, service)), total }, input)
    },

    async instances({ id, ...input }: One & Paged, call: Call) {
      const service = await require(call, id)
      const since = new Date(call.now.getTime() - STOPPED_SHOWN_MS)
      const { rows, total } = await instanceStore(call.db).list(service, since, pageOf(input))
      const here = own(service.id)
      const shown = await Promise.all(
        rows.map(async row => {
          const live = here.get(row.id)
          const usage = live && (await runtime.stats(row.id).catch(() => undefined))
          const now = live && { in_flight_requests: live.inFlight, requests: live.served }
          return toInstance({ ...row, ...now }, usage)
        }),
      )
      return page({ rows: shown, total }, input)
    },

    async logs({ id, ...input }: LogInput, call: Call) {
      return readLogPage(serving.logs, await require(call, id), input)
    },

    async metrics({ id }: One, call: Call) {
      const service = await require(call, id)
      const here = own(service.id)
      const elsewhere = (await instanceStore(call.db).listRunning(service)).filter(
        ({ host_id }) => host_id !== hosts.id,
      )
      const all = [
        ...[...here.values()].map(({ status, inFlight }) => ({ status: String(status), inFlight })),
        ...elsewhere.map(({ status, in_flight_requests: inFlight }) => ({ status, inFlight })),
      ]
      return {
        service_id: service.id,
        revision: service.ready_revision,
        healthy_instances: all.filter(({ status }) => status === "RUNNING").length,
        total_instances: all.length,
        in_flight_requests: all.reduce((sum, { inFlight }) => sum + inFlight, 0),
        waiting_requests: serving.waiting(service.id),
        timestamp: call.now.toISOString(),
      }
    },

    async requestMetrics({ id }: One, call: Call) {
      const service = await require(call, id)
      await flush()
      const since = new Date(call.now.getTime() - RUN_METRICS_WINDOW_SECONDS * 1000)
      return summarize(await instanceStore(call.db).listFigures(service, since), RUN_METRICS_WINDOW_SECONDS)
    },
  }
}

export const runHandlers = (needs: HandlerNeeds) => ({ ...changeHandlers(needs), ...readHandlers(needs) })

import { areas } from "@svc/contract"
import { createForwarding } from "../../kernel/edges/forwarding.ts"
import { every, stopAll } from "../../kernel/every.ts"
import { implement } from "../../kernel/implement.ts"
import { provide } from "../../kernel/token.ts"
import type { Instance } from "../../services/serving/instance.ts"
import { createOtherNames } from "../../services/serving/other-names.ts"
import { createRoute } from "../../services/serving/routing.ts"
import type { RevisionSpec } from "../../services/serving/spec.ts"
import { runServiceTarget } from "../domains/offers.ts"
import { createDeploying, DEPLOY_MS_MAX, DEPLOY_QUEUE, type DeployJob } from "./deploying.ts"
import { createDirectory, readKnown, SERVICE_TOPIC } from "./directory.ts"
import { createDomainTarget } from "./domain-target.ts"
import { createFigures } from "./figures.ts"
import { createFind } from "./finding.ts"
import { type HandlerNeeds, runHandlers, STOPPED_SHOWN_MS } from "./handlers.ts"
import { instanceStore } from "./instance-store.ts"
import type { Needs } from "./needs.ts"
import { createRecorder } from "./recorder.ts"
import { serviceUrlsOf } from "./settings.ts"
import { createSpecs } from "./specs.ts"
import { stateOf } from "./state.ts"
import { serviceStore } from "./store.ts"

const handlers = implement(areas.run, runHandlers)

const TEND_EVERY_MS = 5_000
const PRUNE_EVERY_MS = 600_000
const FIGURES_KEPT_MS = 3_600_000
/** Services of one installation that keep instances while nothing is requested. */
const KEPT_MAX = 100

const jobOf = ({ id: revisionId, serviceId, organizationId }: RevisionSpec): DeployJob => ({
  ...{ organizationId, serviceId, revisionId },
})

const open = async (needs: Needs) => {
  const { database, changes, clock, log, hosts } = needs
  const { db } = database
  const store = serviceStore(db)
  const specOf = createSpecs({ ...needs, db })
  const recorder = createRecorder({ db, log, hostId: hosts.id, nowMs: clock.now })
  const record = (of: RevisionSpec, status: "READY" | "FAILED", reason: string | null) =>
    void deploying
      .note(jobOf(of), status, reason)
      .catch(error => log.error({ err: error, revision: of.id }, "recording the state of a revision failed"))
  // What ran here before has ended with the process that ran it.
  await instanceStore(db).endOf([hosts.id], "the platform was restarted", new Date(clock.now()))
  const serving = await needs.serving.open({
    ...{ name: "run-services", hostname: "service", noun: "the program" },
    changed(instance) {
      recorder.changed(instance)
      if (instance.status === "RUNNING") record(instance.spec, "READY", null)
    },
    ended: recorder.ended,
    failed: (spec, reason) => record(spec, "FAILED", reason),
  })
  const deploying = createDeploying({ ...needs, specOf, serving })
  needs.images.keep(store.listDigests)
  const figures = createFigures(clock.now)
  const flush = async () => {
    for (const row of figures.take(hosts.id)) await instanceStore(db).putFigures(row)
  }
  const directory = createDirectory(db, changes, specOf)
  return { specOf, recorder, serving, deploying, figures, flush, directory }
}

/** Keeps what runs here as it should be: instances that are kept, and none of what is not served any more. */
const createTending = (needs: Needs, { specOf, serving }: Awaited<ReturnType<typeof open>>) => {
  const { database, clock, meters } = needs
  const store = serviceStore(database.db)
  let meteredMs = clock.now()

  const retire = async () => {
    const ids = [...new Set(serving.services())]
    if (ids.length === 0) return
    const known = await Promise.all(
      (await store.listByIds(ids)).map(row => readKnown(database.db, specOf, row)),
    )
    const served = new Set(
      known.flatMap(({ revisions }) => [...revisions.values()].map(({ spec }) => spec.id)),
    )
    serving.retire(({ id, serviceId }) => !ids.includes(serviceId) || served.has(id))
  }

  const keep = async () => {
    const rows = await store.listKept(KEPT_MAX)
    const known = await Promise.all(rows.map(row => readKnown(database.db, specOf, row)))
    serving.keep(
      known.flatMap(({ service, revisions }) =>
        [...revisions.values()]
          .filter(({ row }) => row.status === "READY")
          .map(({ spec }) => ({ spec, instances: service.min_instances })),
      ),
    )
  }

  const meter = () => {
    const nowMs = clock.now()
    for (const { spec, startedMs } of serving.instances()) {
      const quantity = Math.max(0, nowMs - Math.max(startedMs, meteredMs)) / 3_600_000
      const { organizationId, projectId } = spec
      meters.count({ organizationId, projectId, metric: "service_hours", quantity, at: new Date(nowMs) })
    }
    meteredMs = nowMs
  }

  return {
    retire,
    async tend() {
      meter()
      await retire()
      await keep()
    },
  }
}

export const start = async (services: Needs) => {
  const { database, changes, clock, jobs, log, metrics, runtime, hosts, relay, settings } = services
  const urls = serviceUrlsOf(settings, services.baseUrl)
  const opened = await open(services)
  const { serving, recorder, deploying, figures, flush, directory } = opened
  const tending = createTending(services, opened)
  const instances = instanceStore(database.db)
  changes.subscribe(SERVICE_TOPIC, () => {
    tending.retire().catch(error => log.warn({ err: error }, "ending replaced instances failed; will retry"))
  })
  jobs.define<DeployJob>({
    ...{ name: DEPLOY_QUEUE, concurrency: 8, perTenantConcurrency: 4 },
    ...{ timeoutMs: DEPLOY_MS_MAX, retries: [5_000, 15_000, 60_000], run: deploying.run },
  })
  jobs.schedule({
    name: "run.prune",
    every: PRUNE_EVERY_MS,
    async run() {
      await serviceStore(database.db).removeOrphans()
      const nowMs = clock.now()
      await instances.prune(new Date(nowMs - STOPPED_SHOWN_MS), new Date(nowMs - FIGURES_KEPT_MS))
    },
  })
  const works = [
    every(clock, TEND_EVERY_MS, tending.tend, { log, failure: "tending run services failed; will retry" }),
    every(
      clock,
      TEND_EVERY_MS,
      async () => {
        await flush()
        for (const instance of serving.instances()) if (isBusy(instance)) recorder.changed(instance)
        await instances.endOf(await hosts.gone(), "its host was lost", new Date(clock.now()))
      },
      { log, failure: "recording run services failed; will retry" },
    ),
  ]
  metrics.collect(() => [
    gauge("svc_run_instances", "Instances of run services in this process.", serving.instances().length),
    gauge(
      "svc_run_requests_pending",
      "Requests to run services that wait for an instance.",
      serving.waiting(),
    ),
  ])
  const names = createOtherNames(urls)
  const gate = createForwarding({
    claims: ({ headers }) => urls?.claims(headers.host) === true,
    scheme: urls?.scheme ?? (new URL(services.baseUrl).protocol === "https:" ? "https" : "http"),
    relay,
    route: createRoute({
      ...{ serving, hosts, stopping: services.stopping, note: figures.note },
      find: createFind({ hostOf: names.hostOf, directory, keys: services.keys, nowMs: clock.now }),
    }),
  })
  return {
    provides: [
      provide(
        runServiceTarget,
        createDomainTarget(database.db, ({ key }, asked) => names.answer(gate, key, asked)),
      ),
    ],
    operations: handlers({
      ...{ ...services, urls, serving, flush },
      installation: { isolation: runtime.capabilities.isolation, urls },
    } satisfies HandlerNeeds),
    state: () => stateOf(runtime, urls),
    gate,
    async [Symbol.asyncDispose]() {
      await stopAll(works)
      await serving[Symbol.asyncDispose]()
      await recorder.settled()
      await flush().catch(error => log.warn({ err: error }, "writing figures of run services failed"))
    },
  }
}

/** What others are told of it changes all the time. */
const isBusy = ({ status, inFlight }: Instance): boolean => status === "RUNNING" && inFlight > 0

const gauge = (name: string, help: string, value: number) => ({
  ...{ name, help, type: "gauge" as const },
  samples: [{ value }],
})

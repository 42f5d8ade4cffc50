import type { IncomingMessage } from "node:http"
import { areas } from "@svc/contract"
import { createForwarding } from "../../kernel/edges/forwarding.ts"
import { every, stopAll } from "../../kernel/every.ts"
import { implement } from "../../kernel/implement.ts"
import { provide } from "../../kernel/token.ts"
import { createOtherNames } from "../../services/serving/other-names.ts"
import { createRoute } from "../../services/serving/routing.ts"
import type { Serving } from "../../services/serving/serving.ts"
import { deploymentTarget } from "../domains/offers.ts"
import { createDirectory, DEPLOYMENT_TOPIC } from "./directory.ts"
import { createDomainTarget } from "./domain-target.ts"
import { createFind } from "./finding.ts"
import { deploymentHandlers, STOPPED_SHOWN_MS } from "./handlers.ts"
import { instanceStore } from "./instance-store.ts"
import { createKeeper, type Keeper } from "./keeper.ts"
import type { Needs } from "./needs.ts"
import { deploymentUrlsOf } from "./settings.ts"
import { createSpecs } from "./specs.ts"
import { stateOf } from "./state.ts"
import { deploymentStore } from "./store.ts"

const handlers = implement(areas.deployments, deploymentHandlers)

const TEND_EVERY_MS = 5_000
const PRUNE_EVERY_MS = 600_000

const open = async (needs: Needs) => {
  const { database, clock, hosts } = needs
  const { db } = database
  const specOf = createSpecs({ ...needs, db })
  // What ran here before has ended with the process that ran it.
  await instanceStore(db).endOf([hosts.id], "the platform was restarted", new Date(clock.now()))
  let keeper: Keeper | undefined
  const stir = () => void keeper?.stir()
  const serving = await needs.serving.open({
    ...{ name: "deployments", hostname: "instance", noun: "the program" },
    ...{ changed: stir, ended: stir, shifted: stir },
  })
  keeper = createKeeper({ ...needs, specOf, serving, hostId: hosts.id, nowMs: clock.now })
  needs.images.keep(deploymentStore(db).listDigests)
  return { specOf, serving, keeper }
}

/** What an instance takes while it is up. */
const createMeter = ({ meters, clock }: Needs, serving: Pick<Serving, "instances">) => {
  let meteredMs = clock.now()
  return () => {
    const nowMs = clock.now()
    for (const { spec, startedMs } of serving.instances()) {
      const quantity = Math.max(0, nowMs - Math.max(startedMs, meteredMs)) / 3_600_000
      const { organizationId, projectId } = spec
      meters.count({ organizationId, projectId, metric: "compute_hours", quantity, at: new Date(nowMs) })
    }
    meteredMs = nowMs
  }
}

const tendingOf = (needs: Needs, keeper: Keeper, meter: () => void) => {
  const { database, clock, hosts, runtime } = needs
  const store = deploymentStore(database.db)
  return async () => {
    meter()
    const gone = await hosts.gone()
    await instanceStore(database.db).endOf(gone, "its host was lost", new Date(clock.now()))
    if (runtime.capabilities.driver !== "none") await store.claim(hosts.id, gone)
    await keeper.stir()
  }
}

const routeOf = (needs: Needs, { serving, specOf }: Awaited<ReturnType<typeof open>>) => {
  const { database, changes, keys, clock, hosts, relay, stopping, baseUrl } = needs
  const urls = deploymentUrlsOf(needs.settings, baseUrl)
  const names = createOtherNames(urls)
  const directory = createDirectory(database.db, changes, specOf)
  const find = createFind({ hostOf: names.hostOf, directory, serving, hosts, keys, nowMs: clock.now })
  const route = createRoute({ find, serving, hosts, stopping, note: () => undefined })
  const claims = ({ headers }: IncomingMessage) => urls?.claims(headers.host) === true
  const scheme = new URL(baseUrl).protocol === "https:" ? "https" : "http"
  const gate = createForwarding({ claims, scheme, relay, route })
  const target = createDomainTarget(database.db, ({ key }, asked) => names.answer(gate, key, asked))
  return { urls, gate, target }
}

export const start = async (services: Needs) => {
  const { database, changes, clock, jobs, log, metrics, runtime } = services
  const opened = await open(services)
  const { serving, keeper } = opened
  const { urls, gate, target } = routeOf(services, opened)
  changes.subscribe(DEPLOYMENT_TOPIC, () => void keeper.stir())
  jobs.schedule({
    name: "deployments.prune",
    every: PRUNE_EVERY_MS,
    async run() {
      await deploymentStore(database.db).removeOrphans()
      await instanceStore(database.db).prune(new Date(clock.now() - STOPPED_SHOWN_MS))
    },
  })
  const tend = tendingOf(services, keeper, createMeter(services, serving))
  const work = every(clock, TEND_EVERY_MS, tend, { log, failure: "tending deployments failed; will retry" })
  metrics.collect(() => [
    {
      ...{ name: "svc_deployment_instances", help: "Instances of deployments in this process." },
      ...{ type: "gauge" as const, samples: [{ value: serving.instances().length }] },
    },
  ])
  void keeper.stir()
  return {
    provides: [provide(deploymentTarget, target)],
    operations: handlers({
      ...{ ...services, serving },
      installation: { isolation: runtime.capabilities.isolation, urls },
    }),
    state: () => stateOf(runtime),
    gate,
    async [Symbol.asyncDispose]() {
      await stopAll([work])
      await serving[Symbol.asyncDispose]()
      await keeper.stir()
    },
  }
}

import { join } from "node:path"
import { areas } from "@svc/contract"
import { every, stopAll } from "../../kernel/every.ts"
import { implement } from "../../kernel/implement.ts"
import { provide } from "../../kernel/token.ts"
import { openCodeFolders } from "../../services/serving/code-folders.ts"
import { functionTarget } from "../domains/offers.ts"
import { createAsyncInvocations } from "./async-invocations.ts"
import { createFunctionCaller } from "./caller.ts"
import { createDirectory, FUNCTION_TOPIC } from "./directory.ts"
import { createDomainTarget } from "./domain-target.ts"
import { createFleet } from "./fleet.ts"
import { type FunctionHandlerNeeds, functionHandlers } from "./handlers.ts"
import { type InvocationHandlerNeeds, invocationHandlers } from "./invocation-handlers.ts"
import { createInvoker } from "./invoker.ts"
import { shareOut } from "./keeping.ts"
import { functionKind } from "./kind.ts"
import type { Needs } from "./needs.ts"
import { functionCaller } from "./offers.ts"
import { PRUNE_EVERY_MS, pruneFunctions, removeOrphans } from "./pruning.ts"
import { createRecorder } from "./recorder.ts"
import { createRuntimes } from "./runtimes.ts"
import { createStarter } from "./starter.ts"
import { functionStore } from "./store.ts"
import { type UrlHandlerNeeds, urlHandlers } from "./url-handlers.ts"

const handlers = implement(
  areas.functions,
  (needs: FunctionHandlerNeeds & InvocationHandlerNeeds & UrlHandlerNeeds) => ({
    ...functionHandlers(needs),
    ...invocationHandlers(needs),
    ...urlHandlers(needs),
  }),
)

const KEEP_EVERY_MS = 5_000
/** Functions of one installation that keep instances while nothing is invoked. */
const KEPT_MAX = 100
const CODE_UNUSED_MS = 3_600_000

const open = async (needs: Needs) => {
  const { database, changes, clock, log, hosts } = needs
  const { db } = database
  const folders = await openCodeFolders(join(needs.installation.dataDir, "functions"), clock.now)
  const recorder = createRecorder(needs)
  const runtimes = createRuntimes(needs.runtime)
  const fleet = createFleet({
    ...{ folders, clock, log, starter: createStarter({ ...needs, kind: functionKind, folders }) },
    print: ({ organizationId, functionId }, { invocationId, atMs, stream, message }) =>
      recorder.line({
        ...{ organization_id: organizationId, function_id: functionId },
        ...{ invocation_id: invocationId, at: new Date(atMs), stream, message },
      }),
    loaded: ({ functionId, version }, problem) =>
      void functionStore(db)
        .noteLoaded(functionId, version, problem)
        .catch(error => log.error({ err: error }, "recording the state of a function failed")),
  })
  hosts.onPressure(fleet.giveUp)
  changes.subscribe(FUNCTION_TOPIC, id => {
    if (id !== undefined) fleet.forget(id)
  })
  needs.images.keep(functionStore(db).listDigests)
  const invoker = createInvoker({ ...needs, db, fleet, recorder, runtimes })
  return { folders, recorder, runtimes, fleet, invoker, directory: createDirectory(db, changes) }
}

export const start = async (services: Needs) => {
  const { database, changes, clock, jobs, log, metrics, runtime, hosts, baseUrl } = services
  const opened = await open(services)
  const { fleet, folders, recorder, invoker, directory } = opened
  const { capabilities } = runtime
  const asynchronous = createAsyncInvocations({ ...services, invoker })
  jobs.schedule({
    name: "functions.prune",
    every: PRUNE_EVERY_MS,
    async run() {
      await removeOrphans(database.db, changes)
      await pruneFunctions(database.db, clock.now())
    },
  })
  const keep = async () => {
    const shares = shareOut(await functionStore(database.db).listKept(KEPT_MAX), hosts.capacity.memoryBytes)
    fleet.keep(
      await Promise.all(
        shares.map(async ({ row, instances }) => ({ spec: await invoker.specOf(row), instances })),
      ),
    )
  }
  const keepOrLog = () =>
    keep().catch(error =>
      log.error({ err: error }, "starting provisioned function instances failed; will retry"),
    )
  const works = [
    every(clock, KEEP_EVERY_MS, keep, {
      log,
      failure: "starting provisioned function instances failed; will retry",
    }),
    every(clock, PRUNE_EVERY_MS, () => folders.sweep(clock.now() - CODE_UNUSED_MS), {
      log,
      failure: "deleting unused code of functions failed; will retry",
    }),
  ]
  metrics.collect(() => {
    const { instances, resting, queued } = fleet.counts()
    return [
      gauge("svc_function_instances", "Instances of functions in this process.", instances),
      gauge("svc_function_instances_frozen", "Of them those whose processes are stopped.", resting),
      gauge("svc_function_invocations_pending", "Invocations that wait for an instance.", queued),
    ]
  })
  return {
    provides: [
      provide(functionCaller, createFunctionCaller(directory, invoker)),
      provide(functionTarget, createDomainTarget(database.db)),
    ],
    operations: handlers({
      ...{ ...services, ...opened, asynchronous, baseUrl, deployed: keepOrLog },
      installation: {
        ...{ baseUrl, isolation: capabilities.isolation },
        network: capabilities.network === "none" ? "none" : "public",
      },
    }),
    async [Symbol.asyncDispose]() {
      await stopAll(works)
      await fleet[Symbol.asyncDispose]()
      await recorder[Symbol.asyncDispose]()
    },
  }
}

const gauge = (name: string, help: string, value: number) => ({
  ...{ name, help, type: "gauge" as const },
  samples: [{ value }],
})

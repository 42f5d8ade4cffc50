import { readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { BUILD_TIMEOUT_SECONDS_MAX, BUILDS_KEPT_DAYS } from "@svc/contract"
import { createBases } from "./engine/bases.ts"
import { openStepCache } from "./engine/cache.ts"
import { buildHandlers } from "./handlers.ts"
import type { Needs } from "./needs.ts"
import { RUN_QUEUE, type RunPayload } from "./requests.ts"
import { createRunner } from "./runner.ts"
import { pruneBuilds } from "./store.ts"

const DAY_MS = 86_400_000
const PRUNE_EVERY_MS = 3_600_000
const MIB = 2 ** 20
const CANCEL_TOPIC = "builds.cancelled"
/** Beyond the longest build, which ends by itself. */
const RUN_MS_MAX = (BUILD_TIMEOUT_SECONDS_MAX + 300) * 1000
/** After the death of a process: at once. */
const RETRIES_MS = [1_000, 1_000]

export const start = async (needs: Needs) => {
  const { settings, changes, clock, database, jobs, images, registry } = needs
  const host = new URL(needs.baseUrl).host
  const directory = join(needs.installation.dataDir, "builds")
  const work = join(directory, "work")
  // Of builds that a crash ended: each begins anew.
  for (const name of await readdir(work).catch(() => []))
    await rm(join(work, name), { recursive: true, force: true })
  const runner = createRunner({
    ...{ ...needs, host, directory: work },
    machine: {
      ...{ runtime: needs.runtime, hosts: needs.hosts },
      settings: {
        vcpus: settings.buildVcpus,
        memoryBytes: settings.buildMemoryMb * MIB,
        diskBytes: settings.buildDiskMb * MIB,
      },
    },
    cache: await openStepCache(join(directory, "cache"), settings.buildCacheMb * MIB),
    bases: createBases({
      ...{ images, registry, host, directory: join(directory, "bases"), now: clock.now },
      bytesMax: settings.buildCacheMb * MIB,
    }),
  })
  changes.subscribe(CANCEL_TOPIC, id => {
    if (id !== undefined) runner.stop(id)
  })
  jobs.define<RunPayload>({
    name: RUN_QUEUE,
    concurrency: settings.buildsAtOnce,
    perTenantConcurrency: Math.max(1, settings.buildsAtOnce - 1),
    timeoutMs: RUN_MS_MAX,
    retries: RETRIES_MS,
    run: runner.run,
    onDead: ({ payload }) => runner.giveUp(payload),
  })
  jobs.schedule({
    name: "builds.prune",
    every: PRUNE_EVERY_MS,
    run: () => pruneBuilds(database.db, new Date(clock.now() - BUILDS_KEPT_DAYS * DAY_MS)),
  })
  return {
    operations: buildHandlers({
      ...{ ...needs, host },
      cancelled: (call, id) => changes.invalidate(call.db, CANCEL_TOPIC, id),
    }),
  }
}

/**
 * Runs builds: a job each. What its steps have made is kept as they end, so that one whose process died goes on from there
 * when it begins again.
 */
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import type { BackgroundMeters } from "../../core/meters/meters.ts"
import type { PlatformEvents } from "../../core/platform-events/platform-events.ts"
import type { SecretBox } from "../../core/secrets/secret-box.ts"
import type { Clock } from "../../kernel/clock.ts"
import type { Database } from "../../kernel/db/database.ts"
import { every } from "../../kernel/every.ts"
import { Fault } from "../../kernel/fault.ts"
import type { Job, JobContext } from "../../kernel/jobs/jobs.ts"
import type { Logger } from "../../kernel/log.ts"
import { type Offer, provided } from "../../kernel/offer.ts"
import type { Outbound } from "../../kernel/outbound/outbound.ts"
import type { BlobPort } from "../../ports/blob/port.ts"
import { PortError } from "../../ports/port-error.ts"
import { ImageError } from "../../services/images/image-error.ts"
import type { Images } from "../../services/images/images.ts"
import type { ProjectImages } from "../registry/offers.ts"
import { BuildError } from "./build-error.ts"
import { prepareContext, unpackUpload } from "./context.ts"
import { buildImage } from "./engine/build.ts"
import type { StepCache } from "./engine/cache.ts"
import type { MachineNeeds } from "./engine/machine.ts"
import { type Pushed, pushImage } from "./engine/push.ts"
import type { Bases } from "./engine/types.ts"
import { createFetcher } from "./fetcher.ts"
import { checkOut } from "./git/checkout.ts"
import { type BuildLog, createBuildLog } from "./log-writer.ts"
import { createMask } from "./masking.ts"
import { imageNameOf, imageRefOf } from "./payloads.ts"
import { type Args, argsContext, type RunPayload, tokenContext } from "./requests.ts"
import { type BuildChange, type BuildRow, buildStore, UNFINISHED } from "./store.ts"

export interface RunnerNeeds {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
  readonly box: SecretBox
  readonly blob: BlobPort
  readonly meters: BackgroundMeters
  readonly platformEvents: PlatformEvents
  readonly outbound: Outbound
  readonly images: Images
  readonly registry: Offer<ProjectImages>
  readonly machine: MachineNeeds
  readonly cache: StepCache
  readonly bases: Bases
  readonly host: string
  /** Where builds work; each has a folder. */
  readonly directory: string
}

const TICK_MS = 1_000
const MINUTE_MS = 60_000
const STEP_LENGTH_MAX = 300

interface Given {
  readonly log: BuildLog
  readonly mask: (text: string) => string
  /** Opens its repository. */
  readonly token: string | undefined
  readonly folder: string
  readonly signal: AbortSignal
}

/** Why a build stops before it is done. */
class Stopped extends Error {
  override readonly name = "Stopped"
  readonly status: "TIMEOUT" | "CANCELLED"

  constructor(status: "TIMEOUT" | "CANCELLED", message: string) {
    super(message)
    this.status = status
  }
}

export const createRunner = (needs: RunnerNeeds) => {
  const { database, clock, box, blob, meters, platformEvents, directory } = needs
  const { db } = database
  const store = buildStore(db)
  /** Builds under way here. */
  const live = new Map<string, AbortController>()
  const now = () => new Date(clock.now())

  const argsOf = async ({ organization_id, id, build_args }: BuildRow): Promise<Args> =>
    JSON.parse(await box.open(organization_id, argsContext(id), build_args)) as Args

  /** Ends it, and tells whom it concerns; nothing happens where it is over already. */
  const finish = async (row: BuildRow, change: BuildChange & Pick<BuildRow, "status">) => {
    const { organization_id: organizationId, project_id: projectId, id } = row
    const type = change.status === "SUCCESS" ? "build.succeeded" : "build.failed"
    const image = imageRefOf(needs.host, { ...row, ...change })
    await database.transaction(async tx => {
      const ended = { ...change, auth_token: null, finished_at: now() }
      if (!(await buildStore(tx).advance(projectId, id, ended, now()))) return
      await platformEvents.emit(tx, { organizationId, projectId, type, data: { build_id: id, image } })
    })
  }

  const tokenOf = async ({ organization_id, id, auth_token }: BuildRow): Promise<string | undefined> =>
    auth_token === null ? undefined : await box.open(organization_id, tokenContext(id), auth_token)

  const repositoryOf = async (
    row: BuildRow & { readonly repository: string },
    { token, say, folder, signal }: Given & { readonly say: (text: string) => void },
  ): Promise<string> => {
    const { repository, branch, commit_sha: commit } = row
    say(`fetching ${repository}${branch === null ? "" : ` at ${branch}`}`)
    const root = join(folder, "context")
    const found = await checkOut(
      {
        ...{ outbound: needs.outbound, wanted: { repository, branch, commit, token }, say },
        ...{ contextPath: row.context_path, packFile: join(folder, "pack"), root },
      },
      signal,
    )
    await rm(join(folder, "pack"))
    // A build that begins again is one of the same commit.
    const change = { commit_sha: found.commit, branch: found.branch }
    await store.advance(row.project_id, row.id, change, now())
    return root
  }

  const contextOf = async (row: BuildRow, folder: string, signal: AbortSignal): Promise<string> => {
    const upload = await store.findUpload(row.project_id, row.id)
    if (!upload) throw new BuildError("the uploaded folder is not there any more")
    return await unpackUpload(
      { blob, unpack: needs.images.unpack },
      { owner: row.id, address: upload.blob },
      folder,
      signal,
    )
  }

  const build = async (row: BuildRow, args: Args, given: Given): Promise<Pushed> => {
    const { log, mask, folder, signal } = given
    const { organization_id: organizationId, project_id: projectId } = row
    const counted = { steps: 0, cached: 0 }
    const say = (text: string) => log.line(counted.steps, "system", text)
    const { repository } = row
    const root =
      repository === null
        ? await contextOf(row, folder, signal)
        : await repositoryOf({ ...row, repository }, { ...given, say })
    const { tree, dockerfile, detected } = await prepareContext(root, row.dockerfile_path)
    if (detected !== undefined) {
      say(`no Dockerfile: this is a folder of the kind ${detected}, and is built as if it had this one:`)
      for (const line of dockerfile.split("\n")) say(`  ${line}`)
    }
    const image = await buildImage({
      ...{ tenant: { organizationId, projectId }, tree, dockerfile, folder, signal, mask },
      ...{ args: new Map(Object.entries(args)), noCache: row.no_cache, target: row.target ?? undefined },
      ...{ cache: needs.cache, bases: needs.bases, machine: needs.machine, unpack: needs.images.unpack },
      now: () => clock.now(),
      fetcher: createFetcher(needs.outbound, needs.images.unpack, signal),
      print: (stream, line) => log.line(counted.steps, stream, line),
      step(text) {
        counted.steps += 1
        say(`step ${counted.steps}: ${text.replaceAll("\n", " ").slice(0, STEP_LENGTH_MAX)}`)
      },
      cached() {
        counted.cached += 1
        say("  as before (cached)")
      },
    })
    say(`pushing ${imageNameOf(row)}`)
    const place = { organizationId, projectId, repository: row.image_repository }
    const pushed = await pushImage(await provided(needs.registry), place, row.image_tag, image, signal)
    const figures = { cached_steps: counted.cached, total_steps: counted.steps }
    await store.advance(projectId, row.id, figures, now())
    say(`pushed ${imageNameOf(row)} as ${pushed.digest}`)
    return pushed
  }

  /** In words for whoever started it; undefined for what is the platform's own fault. */
  const reasonOf = (error: unknown): string | undefined =>
    error instanceof BuildError || error instanceof ImageError || error instanceof Fault
      ? error.message
      : error instanceof PortError
        ? `the installation could not do it: ${error.message}`
        : undefined

  const attempt = async (row: BuildRow, isAgain: boolean, signal: AbortSignal): Promise<void> => {
    const folder = join(directory, row.id)
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const args = await argsOf(row)
    const token = await tokenOf(row)
    const mask = createMask(args, token === undefined ? [] : [token, ...token.split(":")])
    const log = await createBuildLog({ db, clock, mask }, row.project_id, row.id)
    if (isAgain)
      log.line(
        0,
        "system",
        "the server stopped during this build; it begins again, with the steps that were done",
      )
    try {
      const { digest, bytes } = await build(row, args, { log, mask, token, folder, signal })
      await log.flush()
      await finish(row, { status: "SUCCESS", image_digest: digest, image_size_bytes: bytes })
    } catch (error) {
      const stopped: unknown = signal.aborted ? signal.reason : error
      // The platform stops, and the job runs again.
      if (signal.aborted && !(stopped instanceof Stopped)) throw error
      const known = stopped instanceof Stopped ? stopped.message : reasonOf(stopped)
      if (known === undefined) needs.log.error({ err: stopped, build: row.id }, "a build failed unexpectedly")
      const reason = mask(known ?? "the build failed for a reason of the server's own")
      log.line(0, "system", reason)
      await log.flush().catch(() => undefined)
      await finish(row, {
        status: stopped instanceof Stopped ? stopped.status : "FAILURE",
        status_reason: reason,
      })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  const dropUpload = async ({ project_id, id }: BuildRow) => {
    const upload = await store.findUpload(project_id, id)
    if (!upload) return
    await store.removeUpload(project_id, id)
    await blob.remove(id, [upload.blob])
  }

  const run = async (
    { payload, attempt: number }: Job<RunPayload>,
    { signal }: JobContext,
  ): Promise<void> => {
    const row = await store.find(payload.projectId, payload.buildId)
    if (!row) return
    if (!UNFINISHED.some(status => status === row.status)) return await dropUpload(row)
    const { organization_id: organizationId, project_id: projectId, id } = row
    const startedMs = clock.now()
    const begins = { status: "WORKING", started_at: now() } as const
    if (!(await store.advance(projectId, id, begins, now()))) return await dropUpload(row)
    const data = { build_id: id, image: null }
    await platformEvents.emit(db, { organizationId, projectId, type: "build.started", data })
    const controller = new AbortController()
    const abort = () => controller.abort(signal.reason)
    signal.addEventListener("abort", abort, { once: true })
    live.set(id, controller)
    const late = new Stopped("TIMEOUT", `it took longer than ${row.timeout_seconds} seconds`)
    const ticker = every(clock, TICK_MS, () => {
      if (clock.now() - startedMs >= row.timeout_seconds * 1000) controller.abort(late)
    })
    try {
      await attempt(row, number > 1, controller.signal)
      await dropUpload(row)
    } finally {
      ticker[Symbol.dispose]()
      live.delete(id)
      signal.removeEventListener("abort", abort)
      const quantity = (clock.now() - startedMs) / MINUTE_MS
      meters.count({ organizationId, projectId, metric: "build_minutes", quantity, at: now() })
      await needs.cache
        .collect()
        .catch(error => needs.log.warn({ err: error }, "tidying the cache of builds failed; will retry"))
    }
  }

  return {
    run,
    stop: (id: string) => live.get(id)?.abort(new Stopped("CANCELLED", "it was cancelled")),
    /** For one that no process has brought to its end, in several attempts. */
    async giveUp({ projectId, buildId }: RunPayload): Promise<void> {
      const row = await store.find(projectId, buildId)
      if (!row) return
      const reason = "the server stopped during the build, several times"
      await finish(row, { status: "FAILURE", status_reason: reason })
      await dropUpload(row)
    },
  }
}

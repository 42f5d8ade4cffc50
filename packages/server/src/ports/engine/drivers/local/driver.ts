import { existsSync } from "node:fs"
import { chown, mkdir, rm } from "node:fs/promises"
import { dirname, join } from "node:path"
import { chooseAccount } from "../../../../kernel/db/embedded/account.ts"
import { PortError } from "../../../port-error.ts"
import type {
  BranchedFrom,
  EngineEvents,
  EnginePort,
  RecoveryPoint,
  RolePasswords,
  VolumeCredentials,
  VolumeRef,
} from "../../port.ts"
import { whileUp } from "./admin.ts"
import { createBases } from "./bases.ts"
import { copyHead, copyPoint, rebuild as rebuildVolume, settle } from "./branching.ts"
import { detectConfinement } from "./confine/detect.ts"
import { detectResourceGroups } from "./confine/limits.ts"
import { createVolumeMemory } from "./confine/memory.ts"
import { readControlFile } from "./control-file.ts"
import { canReflink, copyTree, syncFileSystem } from "./copy.ts"
import { createDeferral } from "./deferral.ts"
import { bytesIn } from "./disk-bytes.ts"
import { asPortError } from "./failures.ts"
import { createHistory } from "./history.ts"
import { madeWhole } from "./images.ts"
import { inheritedBase } from "./inherit.ts"
import { inspectVolume, lastPosition, newestCommit } from "./inspection.ts"
import { createLayout } from "./layout.ts"
import { removeLeftovers } from "./leftovers.ts"
import { openRecords, type VolumeRecord } from "./records.ts"
import { createRoles } from "./roles.ts"
import { SOCKET_PORT } from "./settings.ts"
import { createTemplates, TEMPLATE_IMAGE } from "./template.ts"
import { createVersions, type ProgramFolders } from "./versions.ts"
import { createStarts, createVolume, type Host, type Volume } from "./volume.ts"
import { createArchiver } from "./wal/archiver.ts"

export interface LocalEngineOptions {
  readonly dataDir: string
  /** As whom servers run where each cannot have a user of its own. */
  readonly runAs?: string | undefined
  /** Bin folders of an operator's own PostgreSQL. */
  readonly programs?: ProgramFolders
  /** Where root keeps what its servers' users cannot reach elsewhere. */
  readonly systemDir?: string
  /** Where templates are kept, when several engines share them. */
  readonly templatesDir?: string | undefined
  /** Resources of tier `dedicated`: a control group (cgroup v2) that we may write to, and what each volume gets. */
  readonly dedicated?:
    | { readonly parentDir: string; readonly memoryBytes: number; readonly cpus: number }
    | undefined
  /** Memory of each server of the other tiers; half of it is the most that one session gets. Default 1024. */
  readonly memoryMb?: number | undefined
  readonly log: (line: string) => void
}

/** Sessions, their parallel workers and PostgreSQL's own processes. */
const DEDICATED_PROCESSES_MAX = 512

const MEMORY_MB_DEFAULT = 1024

const openGroups = async ({ dedicated, log }: LocalEngineOptions): Promise<Host["dedicated"]> => {
  if (!dedicated) return undefined
  const found = await detectResourceGroups(dedicated.parentDir)
  if (found.groups) {
    const { memoryBytes, cpus } = dedicated
    return { groups: found.groups, limits: { memoryBytes, cpus, processesMax: DEDICATED_PROCESSES_MAX } }
  }
  log(`there is no tier dedicated: ${found.reason}`)
  return undefined
}

/** How long an image may wait for its log, which is behind by milliseconds. */
const ARCHIVED_WITHIN_MS = 15_000

/** PostgreSQL on this machine: a server for each volume that is awake. */
export const openLocalEngine = async (options: LocalEngineOptions): Promise<EnginePort> => {
  const { dataDir, systemDir = "/var/lib/svc", log } = options
  await using opened = new AsyncDisposableStack()
  const account = chooseAccount({ runAs: options.runAs, dataDir, cluster: join(dataDir, "postgres") })
  const layout = createLayout({ dataDir, systemDir, account, templatesDir: options.templatesDir })
  const stagingDir = account ? systemDir : dataDir
  const versions = createVersions({ folders: options.programs ?? {}, account, stagingDir, log })
  const confinement = await detectConfinement({ log, account, hiddenDirs: [dataDir, dirname(layout.root)] })
  const templates = await createTemplates({
    ...{ templatesDir: layout.templatesDir, programs: versions.programs, account, log },
    socketDirOf: version => layout.socketDir(60_000 + version),
  })
  const records = await openRecords(layout)
  const history = createHistory({ layout, records, templates })
  const archiver = opened.use(createArchiver(log))
  const listeners = new Set<EngineEvents>()
  let isClosing = false
  const host: Host = {
    ...{ layout, versions, confinement, archiver, adminPassword: templates.adminPassword, log },
    starts: createStarts(),
    dedicated: await openGroups(options),
    memory: opened.use(
      createVolumeMemory({
        root: layout.root,
        bytes: (options.memoryMb ?? MEMORY_MB_DEFAULT) * 2 ** 20,
        dedicatedBytes: options.dedicated?.memoryBytes,
        log,
      }),
    ),
    demandOpen() {
      if (isClosing) throw new PortError("unavailable", "the engine is closing")
    },
    stopped(volumeId) {
      for (const listener of listeners) listener.stopped(volumeId)
    },
  }
  const bases = createBases(host, records)
  const roles = createRoles(host.adminPassword)
  const volumes = new Map<string, Volume>()
  const copies = (await canReflink(layout.root)) ? "reflink" : "copy"
  await removeLeftovers(layout, records, log)

  const volumeOf = (record: VolumeRecord): Volume => {
    const known = volumes.get(record.id) ?? createVolume(host, record)
    volumes.set(record.id, known)
    return known
  }
  const rebuild = (volume: Volume) => rebuildVolume(host, history, volume)
  const deferral = opened.use(await createDeferral({ layout, records, rebuild, log }))
  const get = async ({ id }: Pick<VolumeRef, "id">): Promise<Volume> => {
    host.demandOpen()
    const record = await records.get(id)
    const volume = volumeOf(record)
    await deferral.settle(volume, record)
    return volume
  }

  /** The record of a volume that is being made; saved only when it is there. */
  const awake = async (ref: Pick<VolumeRef, "id">): Promise<Volume> => {
    const volume = await get(ref)
    await volume.wake()
    return volume
  }

  const writing = async (ref: VolumeRef, work: (volume: Volume) => Promise<void>): Promise<void> => {
    const volume = await get(ref)
    if (volume.isReadOnly) return volume.whileWritable(() => work(volume))
    await whileUp(async () => work(await awake(ref)))
  }

  const draft = ({ id, pgVersion, tier }: VolumeRef): VolumeRecord => {
    if (!versions.available.includes(pgVersion))
      throw new PortError("refused", `PostgreSQL ${pgVersion} is not installed here`)
    return { id, pgVersion, tier, slot: records.takeSlot(id), bases: [] }
  }

  /** Without one a point takes longer to restore; whatever was asked for does not fail for it. */
  const newImage = (volume: Volume): Promise<void> =>
    bases.takeWhenDue(volume).catch(error => log(`${volume.record.id}: no image yet: ${error}`))

  /** Shared and isolated volumes are packed the same way; a history begins in the background. */
  const beginHistory = (volume: Volume) =>
    void bases.take(volume).catch(error => log(`${volume.record.id}: no image yet: ${error}`))

  /** What an attempt of an earlier process left, its log above all, must not become a part of the new volume. */
  const clear = async (id: string) => {
    await rm(layout.volumeDir(id), { recursive: true, force: true })
    await rm(layout.recordDir(id), { recursive: true, force: true })
    await mkdir(layout.walDir(id), { recursive: true, mode: 0o700 })
  }

  const createFresh = async (ref: VolumeRef, credentials: VolumeCredentials) => {
    const record = draft(ref)
    const volume = volumeOf(record)
    const { owner } = volume
    const template = await templates.dataDir(ref.pgVersion)
    await clear(ref.id)
    await madeWhole(layout.volumeDir(ref.id), async folder => {
      await mkdir(folder, { mode: 0o700 })
      if (owner) await chown(folder, owner.uid, owner.gid)
      await copyTree(template, join(folder, "data"), { owner, isStill: true })
    })
    await volume.wake()
    await roles.setPasswords(volume, credentials)
    const { redo, timeline } = await readControlFile(template)
    const base = {
      name: TEMPLATE_IMAGE,
      redo,
      consistent: redo,
      timeline,
      consistentAt: new Date().toISOString(),
    }
    await syncFileSystem(layout.root)
    await records.save({ ...record, bases: [base] })
  }

  const branchOf = async (
    source: Volume,
    ref: VolumeRef,
    point: RecoveryPoint,
    credentials: VolumeCredentials,
    passwords: RolePasswords,
  ): Promise<BranchedFrom> => {
    const record = draft(ref)
    const target = volumeOf(record)
    await clear(ref.id)
    const known = passwords.asIn && (await roles.verifiers(await awake(passwords.asIn)))
    const copying = { host, source, target, history }
    const { bootId } = deferral
    const defer = bootId !== undefined
    const copied = await (point.kind === "head" ? copyHead(copying, defer) : copyPoint(copying, point, defer))
    const from = { lsn: copied.lsn, time: copied.time }
    if (copied.beginning) await settle(host, target)
    await roles.setPasswords(target, credentials)
    await roles.settleOthers(target, { known, others: passwords.others })
    const parted = { volumeId: source.record.id, lsn: from.lsn, time: from.time.toISOString() }
    if (copied.beginning) {
      const bases = [inheritedBase(copied.beginning, from)]
      const unsynced = bootId === undefined ? {} : { unsyncedSince: bootId }
      await records.save({ ...record, from: parted, bases, ...unsynced })
      deferral.sync(target)
    } else {
      await records.save({ ...record, from: parted })
      beginHistory(target)
    }
    return from
  }

  const removeFiles = async (id: string) => {
    await rm(layout.volumeDir(id), { recursive: true, force: true, maxRetries: 3 })
    // Last: until then its number is taken, and with it the user who owned the files.
    await records.remove(id)
    volumes.delete(id)
  }

  const destroy = async ({ id }: VolumeRef) => {
    const volume = volumes.get(id) ?? ((await records.find(id)) && (await get({ id })))
    if (!volume) return removeFiles(id)
    await volume.end(async () => {
      await host.dedicated?.groups.remove(id)
      await rm(volume.socketDir, { recursive: true, force: true })
      await removeFiles(id)
    })
  }

  /** Whatever a failed attempt left is gone when the caller hears of the failure. */
  const orNothing = async <Result>(ref: VolumeRef, make: () => Promise<Result>): Promise<Result> => {
    try {
      return await make()
    } catch (error) {
      await destroy(ref).catch(cause => log(`${ref.id}: ${cause}`))
      throw asPortError(error)
    }
  }

  /** Two who make the same volume would take each other's files away. */
  const making = new Map<string, Promise<unknown>>()
  const once = async <Result>(ref: VolumeRef, make: () => Promise<Result>): Promise<Result> => {
    host.demandOpen()
    if (making.has(ref.id)) throw new PortError("unavailable", "the volume is being made already")
    const made = orNothing(ref, make).finally(() => making.delete(ref.id))
    making.set(ref.id, made)
    return made
  }

  const endpointOf = ({ socketDir }: Volume, wakeMs: number) => ({
    host: socketDir,
    port: SOCKET_PORT,
    wakeMs,
  })

  const resources = opened.move()
  return {
    capabilities: {
      driver: "local",
      versions: versions.available,
      tiers: host.dedicated ? ["shared", "isolated", "dedicated"] : ["shared", "isolated"],
      copies,
      isolation: confinement.isolation,
      network: confinement.network,
      verifiers: true,
      readOnlyVolumes: true,
    },
    async health() {
      return existsSync(layout.volumesDir) ? { ok: true } : { ok: false, reason: "its folder is gone" }
    },
    subscribe(events) {
      listeners.add(events)
      return { [Symbol.dispose]: () => void listeners.delete(events) }
    },
    async create(ref, credentials) {
      if (await records.find(ref.id)) return
      await once(ref, () => createFresh(ref, credentials))
    },
    async wake(ref, signal) {
      const volume = await get(ref)
      if (volume.state === "active") return endpointOf(volume, 0)
      const startedMs = performance.now()
      await volume.wake(signal)
      return endpointOf(volume, Math.round(performance.now() - startedMs))
    },
    async suspend(ref) {
      const volume = await get(ref)
      if ((await volume.suspend()) && !volume.isReadOnly) await newImage(volume)
    },
    async branch(source, target, point, credentials, passwords = { others: "cleared" }) {
      const known = await records.find(target.id)
      if (known?.from?.volumeId === source.id) return { lsn: known.from.lsn, time: new Date(known.from.time) }
      if (known) throw new PortError("refused", "the copy exists already, of something else")
      if (point.kind === "time" && point.time.getTime() > Date.now())
        throw new PortError("refused", "the time lies in the future")
      const from = await get(source)
      return once(target, () => branchOf(from, target, point, credentials, passwords))
    },
    async setCredentials(ref, credentials) {
      await writing(ref, volume => roles.setPasswords(volume, credentials))
    },
    async restoreAccess(ref, credentials) {
      await writing(ref, volume => roles.restoreAccess(volume, credentials))
    },
    async verifierOf(ref, role) {
      return whileUp(async () => roles.verifierOf(await awake(ref), role))
    },
    async window(ref) {
      const volume = await get(ref)
      const [oldest] = await history.usable(ref.id)
      // Of a history that is behind, the newest commit in it is what can be promised.
      const latest =
        volume.protection === "asynchronous"
          ? ((await newestCommit(layout.walDir(ref.id)))?.time ?? null)
          : new Date()
      return {
        earliest: oldest ? new Date(oldest.consistentAt) : null,
        latest,
        latestLsn: volume.follower?.flushedLsn ?? (await lastPosition(layout, ref.id)),
        protection: volume.protection,
      }
    },
    async prune(ref, before, bytesMax = Number.POSITIVE_INFINITY) {
      const volume = await get(ref)
      if (volume.state === "active" && !volume.isReadOnly) await newImage(volume)
      // A new image and a shorter list of them must not overwrite each other's record.
      await volume.alone(() => history.prune(ref.id, before))
      if ((await history.bytes(ref.id)) <= bytesMax) return
      if (!volume.isReadOnly)
        await bases.take(volume).catch(error => log(`${ref.id}: no image yet: ${error}`))
      // An image is of use once the log is there from its beginning on.
      const newest = (await records.get(ref.id)).bases.at(-1)
      if (newest) await volume.follower?.flushedTo(newest.consistent, ARCHIVED_WITHIN_MS)
      await volume.alone(() => history.shorten(ref.id, bytesMax))
    },
    async size(ref) {
      await get(ref)
      const historyBytes = await history.bytes(ref.id)
      const volumeBytes = await bytesIn(layout.volumeDir(ref.id))
      const logBytes = await bytesIn(join(layout.dataDir(ref.id), "pg_wal"))
      const dataBytes = Math.max(0, volumeBytes - logBytes)
      return { dataBytes, physicalBytes: historyBytes + volumeBytes, historyBytes }
    },
    async setReadOnly(ref, readOnly) {
      const volume = await get(ref)
      if (volume.isReadOnly === readOnly) return
      await volume.setReadOnly(readOnly, async () =>
        records.save({ ...(await records.get(ref.id)), readOnly }),
      )
    },
    async whileWritable(ref, task) {
      const volume = await get(ref)
      return volume.whileWritable(() => task(endpointOf(volume, 0)))
    },
    async inspect(ref) {
      const volume = volumes.get(ref.id)
      return volume?.state === "active" ? inspectVolume(volume, host.adminPassword) : undefined
    },
    destroy,
    running: () =>
      [...volumes.values()]
        .filter(({ state }) => state !== "idle")
        .map(({ record, state, protection, follower }) => ({
          id: record.id,
          state,
          protection,
          walLagBytes: follower?.lagBytes ?? null,
          loggedLsn: follower?.flushedLsn ?? null,
        })),
    async [Symbol.asyncDispose]() {
      isClosing = true
      await Promise.all([...volumes.values()].map(volume => volume.suspend()))
      await Promise.allSettled(making.values())
      await resources.disposeAsync()
    },
  }
}

import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { chown, mkdir, readFile, rm } from "node:fs/promises"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { createMutex, createSemaphore, type Semaphore } from "../../../../kernel/concurrency/semaphore.ts"
import { type Account, spawnAs } from "../../../../kernel/db/embedded/account.ts"
import { programOf } from "../../../../kernel/db/embedded/binaries.ts"
import { clearLeftovers } from "../../../../kernel/db/embedded/leftovers.ts"
import { CHILD_ENVIRONMENT } from "../../../../kernel/db/embedded/processes.ts"
import { PortError } from "../../../port-error.ts"
import type { RecoveryWindow, VolumeState } from "../../port.ts"
import { ADMIN_ROLE, asAdmin } from "./admin.ts"
import type { Confinement } from "./confine/detect.ts"
import type { Limits, ResourceGroups } from "./confine/limits.ts"
import type { VolumeMemory } from "./confine/memory.ts"
import { asPortError } from "./failures.ts"
import type { Layout } from "./layout.ts"
import type { VolumeRecord } from "./records.ts"
import { type ServerProcess, startServerProcess } from "./server-process.ts"
import { ARCHIVER_NAME, instanceSettings, SOCKET_PORT } from "./settings.ts"
import type { Versions } from "./versions.ts"
import type { Archiver, WalFollower } from "./wal/archiver.ts"

/** What volumes share. */
export interface Host {
  readonly layout: Layout
  readonly versions: Versions
  readonly confinement: Confinement
  readonly archiver: Archiver
  readonly starts: Semaphore
  /** What volumes of tier `dedicated` have for themselves; undefined where there is no such tier. */
  readonly dedicated: { readonly groups: ResourceGroups; readonly limits: Limits } | undefined
  readonly memory: VolumeMemory
  readonly adminPassword: string
  readonly log: (line: string) => void
  /** Throws once the engine is being closed: a server that starts then would outlive it. */
  demandOpen(): void
  /** A server ended by itself. */
  stopped(volumeId: string): void
}

/** Starting is work for a processor; more at once only make each slower. */
const STARTS_AT_ONCE = Math.max(2, availableParallelism() * 2)
const STARTS_WAITING_MAX = 1000

export const createStarts = (): Semaphore =>
  createSemaphore(STARTS_AT_ONCE, {
    waitingMax: STARTS_WAITING_MAX,
    full: () => new PortError("unavailable", "too many databases are waiting to start"),
  })

/** How long commits wait for an archiver that is gone, before they go on without it. */
const ASYNCHRONOUS_AFTER_MS = 5_000
/** After a server has ended, its archiver needs no longer than a write to disk. */
const LAST_WAL_MS = 10_000

interface Running {
  readonly server: ServerProcess
  /** Undefined where nothing is written. */
  readonly follower: WalFollower | undefined
}

export interface Recovery {
  /** Where replay ends. */
  readonly settings: readonly string[]
  /** False: the server's own file of settings says whether it waits for the disk, which is meant to change. */
  readonly waitsForDisk: boolean
}

const ORDINARY: Recovery = { settings: [], waitsForDisk: true }

/** What of a volume's record never changes. */
export type VolumeIdentity = Pick<VolumeRecord, "id" | "pgVersion" | "tier" | "slot">

/** One PostgreSQL cluster of this host: at rest, or a server with its archiver. */
export interface Volume {
  readonly record: VolumeIdentity
  readonly state: VolumeState
  readonly socketDir: string
  readonly owner: Account | undefined
  readonly follower: WalFollower | undefined
  readonly protection: RecoveryWindow["protection"]
  /** No session writes; what the engine itself writes, it writes by `whileWritable`. */
  readonly isReadOnly: boolean
  /** Starts the server unless it runs; callers at the same time share the start. */
  wake(signal?: AbortSignal): Promise<void>
  /** Starts a server that first replays its log to a point. */
  recover(start: Recovery): Promise<void>
  /** Tells whether a server ran. */
  suspend(): Promise<boolean>
  /** Stops the server, and does `work` before anybody can start it again. */
  end(work: () => Promise<void>): Promise<void>
  /** Stops the server, and calls `save` before it can start again, in the other way. */
  setReadOnly(wanted: boolean, save: () => Promise<void>): Promise<void>
  /** Runs `work` on a server of its own that writes. */
  whileWritable<Result>(work: () => Promise<Result>): Promise<Result>
  /** Runs `work` while nothing else starts, stops or copies this volume. */
  alone<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Whether the server was last told that commits wait for the archive. */
const wasSynchronous = async (dataDir: string): Promise<boolean> => {
  const settings = await readFile(join(dataDir, "postgresql.auto.conf"), "utf8").catch(() => "")
  return settings.includes(`synchronous_standby_names = '${ARCHIVER_NAME}'`)
}

const STANDBY = "standby.signal"

/** As the volume's own user: we might be root, and do not write in a folder that is somebody else's. */
const setStandby = async (dataDir: string, owner: Account | undefined, wanted: boolean): Promise<void> => {
  const path = join(dataDir, STANDBY)
  if (existsSync(path) === wanted) return
  const options = { ...spawnAs(owner), env: CHILD_ENVIRONMENT, cwd: "/" }
  await promisify(execFile)(wanted ? "touch" : "rm", [path], options)
}

export const ownerOf = (host: Pick<Host, "confinement">, { slot }: VolumeIdentity): Account | undefined =>
  host.confinement.ownerOf(slot)

export const createVolume = (host: Host, record: VolumeIdentity & Pick<VolumeRecord, "readOnly">): Volume => {
  const { layout, confinement } = host
  const { id } = record
  const dataDir = layout.dataDir(id)
  const socketDir = layout.socketDir(record.slot)
  const owner = ownerOf(host, record)
  const mutex = createMutex()
  let state: VolumeState = "idle"
  let running: Running | undefined
  let starting: Promise<void> | undefined
  let synchronous = true
  let readOnly = record.readOnly ?? false
  /** The server runs for the engine alone. */
  let isPrivate = false
  /** Until then the archiver of a server that ended by itself may still write. */
  let closed: Promise<void> = Promise.resolve()

  /** By the server itself: we might be root, and do not write in a folder that is somebody else's. */
  const setSynchronous = (wanted: boolean): Promise<void> =>
    asAdmin({ socketDir, password: host.adminPassword }, async client => {
      await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${wanted ? ARCHIVER_NAME : ""}'`)
      await client.query("SELECT pg_reload_conf()")
    })

  /** Commits wait for the archiver as long as there is hope that it comes back. */
  const watchArchiver = (server: ServerProcess, follower: WalFollower) => {
    let later: NodeJS.Timeout | undefined
    let wanted = synchronous
    const switches = createMutex()
    const apply = async () => {
      const next = wanted
      if (synchronous === next || running?.server !== server) return
      try {
        await setSynchronous(next)
        synchronous = next
        host.log(`${id}: commits ${next ? "wait for" : "go on without"} the archive`)
      } catch (error) {
        // A disk that is full, for instance, has no room for the setting either.
        host.log(`${id}: ${error}`)
        switchLater(wanted)
      }
    }
    const switchTo = (next: boolean) => {
      wanted = next
      void switches.run(apply)
    }
    const switchLater = (next: boolean) => {
      clearTimeout(later)
      later = setTimeout(switchTo, ASYNCHRONOUS_AFTER_MS, next).unref()
    }
    const onState = (now: WalFollower["state"]) => {
      clearTimeout(later)
      if (now === "streaming") switchTo(true)
      else switchLater(false)
    }
    follower.onState(onState)
    onState(follower.state)
    void server.exited.then(() => clearTimeout(later))
  }

  const prepare = async () => {
    await closed
    await clearLeftovers(dataDir, socketDir, host.log)
    // The folder may have been another volume's, whose lock file names a process that is a stranger's by now.
    await rm(socketDir, { recursive: true, force: true })
    await mkdir(socketDir, { recursive: true, mode: 0o700 })
    if (owner) await chown(socketDir, owner.uid, owner.gid)
    synchronous = await wasSynchronous(dataDir)
  }

  const start = async (recovery: Recovery, writes: boolean): Promise<void> => {
    state = "starting"
    try {
      await prepare()
      await setStandby(dataDir, owner, !writes)
      const binaries = await host.versions.programs(record.pgVersion)
      const { pgVersion: version, tier } = record
      const settings = instanceSettings({ version, tier, socketDir, readOnly: !writes, recovery })
      const args = ["-D", dataDir, ...settings.flatMap(setting => ["-c", setting])]
      const place = {
        slot: record.slot,
        volumeDir: layout.volumeDir(id),
        socketDir,
        programsDir: binaries.native,
        processMemoryBytes: host.memory.ofProcess(tier),
      }
      const command = confinement.command(place, programOf(binaries, "postgres"), args)
      const server = await startServerProcess(command, {
        log: line => host.log(`${id}: ${line}`),
        spawned: async pid => {
          if (tier === "dedicated") await host.dedicated?.groups.admit(id, pid, host.dedicated.limits)
          else await host.memory.admit(id, pid)
        },
      })
      const follower = writes ? follow() : undefined
      running = { server, follower }
      state = "active"
      if (follower) watchArchiver(server, follower)
      void server.exited.then(() => ended(server, follower))
    } catch (error) {
      state = "idle"
      throw asPortError(error)
    }
  }

  const follow = () =>
    host.archiver.follow({
      ...{ volumeId: id, socketDir, port: SOCKET_PORT, user: ADMIN_ROLE, password: host.adminPassword },
      walDir: layout.walDir(id),
    })

  /** A server that ends while it is wanted has crashed, or was killed. */
  const ended = async (server: ServerProcess, follower: WalFollower | undefined) => {
    if (running?.server !== server || state === "stopping") return
    running = undefined
    state = "idle"
    closed = follower?.stop() ?? Promise.resolve()
    await closed
    await host.memory.release(id)
    host.stopped(id)
  }

  const stop = async (): Promise<boolean> => {
    if (!running) return false
    const { server, follower } = running
    state = "stopping"
    await server.stop()
    // A server that was shut down in order has handed over its log; one that was killed closed the connection.
    if (follower) {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, LAST_WAL_MS)
      await Promise.race([follower.ended, late.promise])
      clearTimeout(timer)
      await follower.stop()
    }
    await host.memory.release(id)
    running = undefined
    state = "idle"
    return true
  }

  const protection = () =>
    running?.follower === undefined
      ? "at_rest"
      : synchronous && running.follower.state === "streaming"
        ? "synchronous"
        : "asynchronous"

  const startShared = (recovery: Recovery, signal: AbortSignal | undefined) => {
    starting ??= mutex
      .run(async () => {
        if (running !== undefined) return
        host.demandOpen()
        await host.starts.run(() => start(recovery, !readOnly || recovery !== ORDINARY))
      })
      .finally(() => {
        starting = undefined
      })
    return abandonable(starting, signal)
  }

  return {
    record,
    socketDir,
    owner,
    get state() {
      // Who wants it meanwhile waits as for any start.
      return isPrivate ? "starting" : state
    },
    get isReadOnly() {
      return readOnly
    },
    get follower() {
      return running?.follower
    },
    get protection() {
      return protection()
    },
    async wake(signal) {
      if (isPrivate || state !== "active") await startShared(ORDINARY, signal)
    },
    recover: recovery => startShared(recovery, undefined),
    suspend: () => mutex.run(stop),
    setReadOnly: (wanted, save) =>
      mutex.run(async () => {
        await stop()
        await save()
        readOnly = wanted
      }),
    whileWritable: work =>
      mutex.run(async () => {
        await stop()
        host.demandOpen()
        isPrivate = true
        try {
          await host.starts.run(() => start(ORDINARY, true))
          return await work()
        } finally {
          await stop()
          isPrivate = false
        }
      }),
    end: work =>
      mutex.run(async () => {
        await stop()
        await work()
      }),
    alone: mutex.run,
  }
}

/** A caller may stop waiting; what it waited for goes on for the others. */
const abandonable = async (work: Promise<void>, signal: AbortSignal | undefined): Promise<void> => {
  if (!signal) return work
  const gone = Promise.withResolvers<never>()
  const leave = () => gone.reject(new PortError("unavailable", "the caller stopped waiting"))
  if (signal.aborted) leave()
  signal.addEventListener("abort", leave, { once: true })
  try {
    await Promise.race([work, gone.promise])
  } finally {
    signal.removeEventListener("abort", leave)
  }
}

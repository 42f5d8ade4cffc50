import { setTimeout as delay } from "node:timers/promises"
import { newId } from "../../kernel/id.ts"
import type { Logger } from "../../kernel/log.ts"
import type {
  Command,
  Exit,
  Guest,
  GuestProcess,
  Mount,
  Root,
  RuntimePort,
} from "../../ports/runtime/port.ts"
import type { Hosts } from "../hosts/hosts.ts"
import type { CodeFolders } from "./code-folders.ts"

/** Why a program is no more. */
export interface ProgramEnd {
  readonly type: string
  readonly message: string
  readonly stack: string | null
}

/** What the workloads of an area are called. */
export interface WorkloadKind {
  readonly hostname: string
  /** For messages: "the function". */
  readonly noun: string
}

export interface WorkloadNeeds {
  readonly kind: WorkloadKind
  readonly runtime: RuntimePort
  readonly hosts: Pick<Hosts, "reserve">
  readonly folders: CodeFolders
  readonly log: Logger
}

export interface Room {
  readonly memoryMb: number
  readonly vcpus: number
  /** Takes no other's place on the host. */
  readonly isSpare: boolean
}

/** What runs in a workload. */
export interface Program extends Omit<Command, "terminal"> {
  readonly root: Root
  readonly mounts: readonly Mount[]
  /** A folder of its own that it sees read-only, filled before it starts or after; left out: it has none. */
  readonly files?: { readonly at: string; fill?(folder: string): Promise<void> }
}

/** A workload of this process with one program in it. */
export interface Workload {
  /** What it sees as its code; undefined where it has none. */
  readonly folder: string | undefined
  readonly guest: Guest
  readonly process: GuestProcess
  readonly isResting: boolean
  /** Stops all its processes until it is woken. Does nothing where the host cannot. */
  rest(): void
  /** What is sent to processes that are stopped reaches them once they go on. */
  wake(): void
  /** What it used of a processor; undefined when it does not tell in time. */
  cpuMs(): Promise<number | undefined>
  /** Resolves once it is gone with all it had, with the reason. */
  readonly ended: Promise<ProgramEnd>
  /** Ends it now; the error is what `ended` gives. */
  end(reason: ProgramEnd): void
  /** Ends it, and gives up its place on the host without waiting for that. */
  giveUp(): void
}

/** Room for /tmp and what the function writes. */
const DISK_BYTES = 512 * 2 ** 20
const PROCESSES_MAX = 256
/** A workload that uses all it may is slow to tell. */
const CPU_ASKED_MS_MAX = 500

export const crash = (message: string): ProgramEnd => ({ type: "Crash", message, stack: null })
export const outOfMemory = ({ noun }: WorkloadKind, memoryMb: number): ProgramEnd => ({
  type: "OutOfMemory",
  message: `${noun} needed more than its ${memoryMb} MB of memory`,
  stack: null,
})

const describeExit = (exit: Exit | undefined): ProgramEnd => {
  if (!exit) return crash("the instance ended")
  return crash(
    exit.signal === null
      ? `the process ended with code ${exit.code}`
      : `the process was ended by ${exit.signal}`,
  )
}

const createRest = (guest: Guest, isAble: boolean) => {
  let stopped: Promise<unknown> | undefined
  return {
    isResting: () => stopped !== undefined,
    rest() {
      // A workload that has ended is heard of otherwise.
      if (isAble) stopped ??= guest.freeze().catch(() => undefined)
    },
    wake() {
      const was = stopped
      stopped = undefined
      was?.then(() => guest.thaw()).catch(() => undefined)
    },
  }
}

interface Own {
  readonly id: string
  readonly folder: string | undefined
  readonly guest: Guest
  readonly process: GuestProcess
  readonly reserved: Disposable
  readonly release: () => Promise<void>
}

const attend = ({ kind, runtime, log }: WorkloadNeeds, { memoryMb }: Room, own: Own): Workload => {
  const { id, folder, guest, process, reserved, release } = own
  const { isResting, rest, wake } = createRest(guest, runtime.capabilities.freeze)
  let reason: ProgramEnd | undefined

  const end = (why: ProgramEnd) => {
    reason ??= why
    wake()
    process.kill("SIGKILL")
  }
  const killsFor = async (): Promise<number> =>
    (await runtime.stats(id).catch(() => undefined))?.outOfMemoryKills ?? 0
  const finish = async (): Promise<ProgramEnd> => {
    const exit = await process.exited.catch(() => undefined)
    const wasKilled = exit?.signal === "SIGKILL" && reason === undefined
    const kills = wasKilled ? await killsFor() : 0
    await runtime.stop(id, 0)
    const why = await guest.ended
    await release()
    if (reason) return reason
    return why === "out_of_memory" || kills > 0 ? outOfMemory(kind, memoryMb) : describeExit(exit)
  }

  return {
    ...{ folder, guest, process, rest, wake, end },
    get isResting() {
      return isResting()
    },
    async cpuMs() {
      const late = delay(CPU_ASKED_MS_MAX, undefined, { ref: false })
      const told = runtime.stats(id).then(
        ({ cpuMs }) => cpuMs,
        () => undefined,
      )
      return Promise.race([told, late])
    },
    ended: finish().catch(error => {
      log.error({ err: error, workload: id }, "stopping an instance failed")
      return reason ?? crash("the instance ended")
    }),
    giveUp() {
      end(crash("its place is needed"))
      reserved[Symbol.dispose]()
    },
  }
}

/** Starts a workload and its program. Throws `no_host_capacity`, or a PortError. */
export const startWorkload = async (
  needs: WorkloadNeeds,
  room: Room,
  { root, mounts, files, ...command }: Program,
): Promise<Workload> => {
  const { kind, runtime, hosts, folders, log } = needs
  const { memoryMb, vcpus, isSpare } = room
  const id = newId()
  const memoryBytes = memoryMb * 2 ** 20
  const reserved = hosts.reserve({ memoryBytes, ...(isSpare && { spare: true }) })
  let folder: string | undefined
  const release = async () => {
    await runtime.destroy(id)
    if (folder !== undefined) await folders.remove(folder)
    reserved[Symbol.dispose]()
  }
  try {
    if (files) {
      folder = await folders.make(id)
      await files.fill?.(folder)
    }
    const isAlone = runtime.capabilities.network === "none"
    const guest = await runtime.start({
      ...{ id, hostname: kind.hostname, root, vcpus, memoryBytes, processesMax: PROCESSES_MAX },
      disk: { kind: "memory", bytes: DISK_BYTES },
      network: isAlone ? { mode: "none" } : { mode: "filtered", allow: null, deny: [] },
      mounts: [...mounts, ...(folder === undefined || !files ? [] : [{ source: folder, target: files.at }])],
    })
    const process = await guest.exec(command)
    // What breaks a stream ends the process, and that is what is heard of.
    for (const stream of [process.stdin, process.stdout, process.stderr]) stream.on("error", () => undefined)
    return attend(needs, room, { id, folder, guest, process, reserved, release })
  } catch (error) {
    await release().catch(failure =>
      log.error(
        { err: failure, workload: id },
        "removing a failed instance failed; workload orphaned until the next start",
      ),
    )
    throw error
  }
}

/** One running program of a revision. */
import type { Duplex } from "node:stream"
import { PortError } from "../../ports/port-error.ts"
import type { CodeFolders } from "./code-folders.ts"
import { answering, awaitReady, lasting, listening, type Probe } from "./probe.ts"
import { type InstanceEnd, type Launch, type RevisionSpec, StartError } from "./spec.ts"
import { crash, type ProgramEnd, startWorkload, type Workload, type WorkloadNeeds } from "./workload.ts"

export type InstanceStatus = "STARTING" | "RUNNING" | "UNHEALTHY" | "STOPPING"

/** An instance's place among those that are kept: who restarts has the same. */
export interface Place {
  readonly id: string
  readonly restarts: number
}

export interface Instance {
  readonly id: string
  /** Undefined where instances follow requests. */
  readonly place: Place | undefined
  readonly spec: RevisionSpec
  readonly startedMs: number
  readonly status: InstanceStatus
  readonly inFlight: number
  /** Requests that it was given. */
  readonly served: number
  readonly idleSinceMs: number
  readonly ended: Promise<InstanceEnd>
  /** Counts as a request until it is disposed of. */
  take(): Lease
  /** Gets no more requests, and ends once it has none. */
  retire(): void
  /** Looks whether it is healthy, where it is time to. */
  check(): void
  /** Ends now, and gives up its place on the host without waiting for that. */
  giveUp(): void
}

/** A request's hold on an instance. */
export interface Lease extends Disposable {
  readonly instance: Instance
  /** To the port of its requests, or to another. */
  connect(port?: number): Promise<Duplex>
}

export interface InstanceNeeds extends WorkloadNeeds {
  readonly folders: CodeFolders
  readonly nowMs: () => number
  readonly observe: InstanceObserver
}

export interface InstanceObserver {
  /** Its status has changed, or it is new. */
  changed(instance: Instance): void
  ended(instance: Instance, end: InstanceEnd): void
  printed(instance: Instance, stream: "stdout" | "stderr", chunk: Buffer): void
}

/** What is told of a program's output when it fails. */
const OUTPUT_KEPT = 2_048
/** How long a program may take to end by itself. */
const STOP_MS_MAX = 10_000

const start = async (
  needs: InstanceNeeds,
  { memoryMb, vcpus }: RevisionSpec,
  { files, ...program }: Launch,
  isSpare: boolean,
): Promise<Workload> => {
  try {
    return await startWorkload(
      needs,
      { memoryMb, vcpus, isSpare },
      {
        ...program,
        ...(files && {
          files: {
            at: files.at,
            fill: (folder: string) => needs.folders.fill(folder, files.sha256, files.read),
          },
        }),
      },
    )
  } catch (error) {
    if (!(error instanceof PortError && error.kind === "refused")) throw error
    const [name] = program.argv
    throw new StartError(`the program ${name} or the directory ${program.cwd} does not exist`, true)
  }
}

const describe = async (
  { process }: Workload,
  why: ProgramEnd,
  isExpected: boolean,
): Promise<InstanceEnd> => {
  const exit = await process.exited.catch(() => undefined)
  return {
    ...{ reason: why.message, exitCode: exit?.code ?? null },
    ...{ outOfMemory: why.type === "OutOfMemory", isExpected },
  }
}

const probeOf = (workload: Workload, { health, port: own }: RevisionSpec): Probe => {
  const port = health.port ?? own
  if (port === null) return lasting()
  return health.path === null
    ? listening(workload, port)
    : answering(workload, port, health.path, health.timeoutMs)
}

class RunningInstance implements Instance {
  readonly id: string
  readonly place: Place | undefined
  readonly spec: RevisionSpec
  readonly startedMs: number
  readonly ended: Promise<InstanceEnd>
  status: InstanceStatus = "STARTING"
  inFlight = 0
  served = 0
  idleSinceMs: number
  readonly #workload: Workload
  readonly #needs: InstanceNeeds
  readonly #probe: Probe
  #isExpected = false
  #output = ""
  #failures = 0
  #checkedMs: number
  #isChecking = false

  constructor(needs: InstanceNeeds, spec: RevisionSpec, workload: Workload, place: Place | undefined) {
    const nowMs = needs.nowMs()
    this.#needs = needs
    this.#workload = workload
    this.spec = spec
    this.id = workload.guest.id
    this.place = place
    this.startedMs = nowMs
    this.idleSinceMs = nowMs
    this.#checkedMs = nowMs
    this.#probe = probeOf(workload, spec)
    workload.process.stdin.end()
    for (const stream of ["stdout", "stderr"] as const) {
      workload.process[stream].on("data", (chunk: Buffer) => {
        this.#output = (this.#output + chunk.toString("latin1")).slice(-OUTPUT_KEPT)
        needs.observe.printed(this, stream, chunk)
      })
    }
    this.ended = workload.ended.then(why => describe(workload, why, this.#isExpected))
    void this.ended.then(end => needs.observe.ended(this, end))
    needs.observe.changed(this)
  }

  /** Resolves once it is healthy. Throws a StartError. */
  async awaitHealthy(): Promise<void> {
    const { health } = this.spec
    const port = health.port ?? this.spec.port
    const timer = setTimeout(() => {
      const what = health.path === null ? `listen on port ${port}` : `answer GET ${health.path}`
      this.#workload.end(crash(`it did not ${what} within ${Math.round(health.graceMs / 1000)} s`))
    }, health.graceMs)
    const isReady = await awaitReady(this.#workload, this.#probe)
    clearTimeout(timer)
    if (!isReady) {
      const end = await this.ended
      throw new StartError(this.describeEnd(end), false, end)
    }
    this.#become("RUNNING")
  }

  /** With the last of what it printed. */
  describeEnd({ reason }: InstanceEnd): string {
    const output = Buffer.from(this.#output, "latin1").toString().replaceAll("\0", "").trim()
    return output === "" ? reason : `${reason}; its last output:\n${output}`
  }

  #become(status: InstanceStatus) {
    if (this.status === "STOPPING" || this.status === status) return
    this.status = status
    this.#needs.observe.changed(this)
  }

  take(): Lease {
    this.inFlight += 1
    this.served += 1
    let isHeld = true
    return {
      instance: this,
      connect: async (port = this.spec.port ?? undefined) => {
        if (port === undefined) throw new Error("it has no port")
        return this.#workload.guest.connect(port)
      },
      [Symbol.dispose]: () => {
        if (!isHeld) return
        isHeld = false
        this.inFlight -= 1
        this.idleSinceMs = this.#needs.nowMs()
        if (this.inFlight === 0 && this.#isExpected) this.#stop()
      },
    }
  }

  retire() {
    if (this.#isExpected) return
    this.#isExpected = true
    this.#become("STOPPING")
    if (this.inFlight === 0) this.#stop()
  }

  /** Asks the program to end, and ends it when it does not. */
  #stop() {
    this.#workload.process.kill("SIGTERM")
    const timer = setTimeout(() => this.#workload.end(crash("it was stopped")), STOP_MS_MAX)
    void this.ended.then(() => clearTimeout(timer))
  }

  check() {
    const { health } = this.spec
    const nowMs = this.#needs.nowMs()
    const isDue = nowMs - this.#checkedMs >= health.intervalMs
    // One that serves right now has no need to prove it to who only looks at its port.
    const isBusy = health.path === null && this.inFlight > 0
    if (!isDue || this.#isChecking || this.#isExpected || isBusy) return
    this.#checkedMs = nowMs
    this.#isChecking = true
    void this.#probe().then(isHealthy => {
      this.#isChecking = false
      this.#failures = isHealthy ? 0 : this.#failures + 1
      if (this.#failures < health.unhealthyThreshold) return
      this.#become("UNHEALTHY")
      this.#workload.end(crash(`its health check failed ${this.#failures} times one after the other`))
    })
  }

  giveUp() {
    this.#isExpected = true
    this.#become("STOPPING")
    this.#workload.giveUp()
  }
}

export interface StartOptions {
  /** Takes no other's place on the host. */
  readonly isSpare: boolean
  readonly place?: Place
  /** It is not wanted any more. */
  readonly signal?: AbortSignal
}

/** Starts one; it is there once it is healthy. Throws a StartError, `no_host_capacity` or a PortError. */
export const startInstance = async (
  needs: InstanceNeeds,
  spec: RevisionSpec,
  { isSpare, place, signal }: StartOptions,
): Promise<Instance & Pick<RunningInstance, "describeEnd">> => {
  const launch = await spec.open()
  if (signal?.aborted) throw new StartError("it is not wanted any more")
  const workload = await start(needs, spec, launch, isSpare)
  const instance = new RunningInstance(needs, spec, workload, place)
  const leave = () => instance.giveUp()
  signal?.addEventListener("abort", leave)
  if (signal?.aborted) leave()
  try {
    await instance.awaitHealthy()
  } finally {
    signal?.removeEventListener("abort", leave)
  }
  return instance
}

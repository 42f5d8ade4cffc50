/** Speech of the embedded engine: a process that starts at first use, speaks one text at a time, and ends when idle. */
import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { fault } from "../../../../kernel/fault.ts"
import { SPEECH_PACKAGE, type SpeechAnswer, type SpeechOrder, type SpeechTask } from "./messages.ts"

export interface Speech extends AsyncDisposable {
  readonly isInstalled: boolean
  /** The running process, if there is one. */
  readonly pid: number | undefined
  speak(organizationId: string, task: SpeechTask): Promise<Uint8Array>
}

export interface SpeechOptions {
  readonly isInstalled?: boolean
  readonly idleMs?: number
  readonly timeoutMs?: number
  readonly secondsMax?: number
}

const PROGRAM = fileURLToPath(import.meta.resolve("./program.ts"))
const IDLE_MS = 60_000
/** Ten minutes of speech take some seconds to make. */
const TIMEOUT_MS = 60_000
const SECONDS_MAX = 600
const MEMORY_MB_MAX = 256
const WAITING_MAX = 32
const WAITING_OF_ONE_MAX = 4

interface Queued {
  readonly organizationId: string
  readonly task: SpeechTask
  readonly settle: (answer: SpeechAnswer) => void
}

const isInstalledHere = (): boolean => {
  try {
    import.meta.resolve(SPEECH_PACKAGE)
    return true
  } catch {
    return false
  }
}

const unavailable = (reason: string, headers: Readonly<Record<string, string>>) =>
  fault("all_providers_exhausted", { reason }, { headers })

const forkProgram = (): ChildProcess =>
  fork(PROGRAM, [], {
    // Our own environment and options hold the platform's secrets, and are of no use there.
    env: {},
    execArgv: [`--max-old-space-size=${MEMORY_MB_MAX}`],
    serialization: "advanced",
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  })

export const createSpeech = ({
  isInstalled = isInstalledHere(),
  idleMs = IDLE_MS,
  timeoutMs = TIMEOUT_MS,
  secondsMax = SECONDS_MAX,
}: SpeechOptions = {}): Speech => {
  const waiting: Queued[] = []
  let child: ChildProcess | undefined
  let current: Queued | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const finish = (answer: SpeechAnswer) => {
    clearTimeout(timer)
    const done = current
    current = undefined
    done?.settle(answer)
  }

  /** It gets no more tasks, and its late replies are dropped. */
  const end = (reason: string) => {
    child?.kill("SIGKILL")
    child = undefined
    finish({ broken: reason })
  }

  const start = (): ChildProcess => {
    const started = forkProgram()
    const ended = () => {
      if (child !== started) return
      child = undefined
      finish({ broken: "the speech process ended" })
      dispatch()
    }
    started.on("message", (answer: SpeechAnswer) => {
      if (child !== started) return
      finish(answer)
      dispatch()
    })
    started.once("error", ended)
    started.once("exit", ended)
    started.unref()
    started.channel?.unref()
    return started
  }

  const dispatch = () => {
    if (current || isClosed) return
    clearTimeout(timer)
    current = waiting.shift()
    if (!current) {
      timer = setTimeout(end, idleMs, "it was idle")
      timer.unref()
      return
    }
    child ??= start()
    timer = setTimeout(() => {
      end(`it took longer than ${timeoutMs / 1000} seconds`)
      dispatch()
    }, timeoutMs)
    timer.unref()
    // Where it cannot be sent the process has ended, which is handled as such.
    child.send({ ...current.task, secondsMax } satisfies SpeechOrder, () => undefined)
  }

  const checkQueue = (organizationId: string) => {
    const own = waiting.filter(queued => queued.organizationId === organizationId)
    if (waiting.length >= WAITING_MAX || own.length >= WAITING_OF_ONE_MAX)
      throw unavailable("too many texts are waiting to be read aloud", { "retry-after": "1" })
  }

  return {
    isInstalled,
    get pid() {
      return child?.pid
    },
    async speak(organizationId, task) {
      if (!isInstalled)
        throw unavailable(
          `no upstream for speech is configured, and the optional package ${SPEECH_PACKAGE} is not installed; install it, or set SVC_AI_UPSTREAMS or SVC_AI_URL`,
          { "x-should-retry": "false" },
        )
      checkQueue(organizationId)
      const answer = await new Promise<SpeechAnswer>(settle => {
        waiting.push({ organizationId, task, settle })
        dispatch()
      })
      if ("refused" in answer) throw fault("invalid_parameter", { reason: answer.refused })
      if ("broken" in answer)
        throw unavailable(`the embedded speech engine failed: ${answer.broken}`, { "retry-after": "1" })
      return answer.bytes
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      end("the platform stops")
      for (const queued of waiting.splice(0)) queued.settle({ broken: "the platform stops" })
    },
  }
}

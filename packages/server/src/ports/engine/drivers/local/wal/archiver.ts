import type { Lsn } from "../../../port.ts"
import type { FollowerState, ToReceiver, WalSource } from "./messages.ts"
import { formatLsn, parseLsn } from "./position.ts"
import { createThread } from "./thread.ts"

export interface WalFollower {
  readonly state: FollowerState
  /** Everything before it is on the archive's disk; null before anything was received. */
  readonly flushedLsn: Lsn | null
  /** Bytes that the server is known to have written beyond that; null before anything was received. */
  readonly lagBytes: number | null
  /** Resolves true once everything up to `lsn` is on disk, false after `timeoutMs`, or when the follower is stopped. */
  flushedTo(lsn: Lsn, timeoutMs: number): Promise<boolean>
  onState(listener: (state: FollowerState) => void): void
  /**
   * Resolves when the server has shut down or is gone (nothing listens any more), and everything it sent is on disk. A
   * server that starts again under the same follower is followed again, and its end is not told.
   */
  readonly ended: Promise<void>
  /** Ends the connection. Resolves when everything received is on disk and no file is written any more. */
  stop(): Promise<void>
}

/** Archives the log of volumes, all in one thread of its own. */
export interface Archiver extends AsyncDisposable {
  /** Follows until stopped, through broken connections, restarts of the server and deaths of the thread. */
  follow(source: WalSource): WalFollower
}

interface Followed {
  readonly source: WalSource
  readonly positions: BigInt64Array
  readonly requests: Map<number, { readonly position: bigint; readonly reached: (isOnDisk: boolean) => void }>
  readonly ended: PromiseWithResolvers<void>
  readonly stopped: PromiseWithResolvers<void>
  readonly listeners: ((state: FollowerState) => void)[]
  state: FollowerState
  stopping: boolean
}

const enter = (followed: Followed, state: FollowerState) => {
  if (followed.state === state) return
  followed.state = state
  for (const listener of followed.listeners) listener(state)
}

const followMessage = (follower: number, { source, positions }: Followed): ToReceiver => ({
  ...{ kind: "follow", follower, source, positions },
})

const flushedPosition = ({ positions }: Followed): bigint => Atomics.load(positions, 0)

const createFollowed = (source: WalSource): Followed => ({
  ...{ source, state: "connecting", stopping: false, requests: new Map(), listeners: [] },
  positions: new BigInt64Array(new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT)),
  ended: Promise.withResolvers<void>(),
  stopped: Promise.withResolvers<void>(),
})

/** Notes a request, which the thread's answer settles, or the time. */
const noteRequest = (
  { requests }: Followed,
  request: number,
  position: bigint,
  timeoutMs: number,
): Promise<boolean> =>
  new Promise(resolve => {
    const reached = (isOnDisk: boolean) => {
      clearTimeout(timer)
      requests.delete(request)
      resolve(isOnDisk)
    }
    const timer = setTimeout(reached, timeoutMs, false)
    requests.set(request, { position, reached })
  })

/** All that a new thread has to know of a follower. */
const introduce = (follower: number, followed: Followed): readonly ToReceiver[] => [
  followMessage(follower, followed),
  ...[...followed.requests].map(([request, { position }]) => ({
    ...{ kind: "await" as const, follower, request, position },
  })),
]

const toFollower = (
  followed: Followed,
  { flushedTo, stop }: Pick<WalFollower, "flushedTo" | "stop">,
): WalFollower => ({
  get state() {
    return followed.state
  },
  get flushedLsn() {
    const position = flushedPosition(followed)
    return position === 0n ? null : formatLsn(position)
  },
  get lagBytes() {
    const position = flushedPosition(followed)
    if (position === 0n) return null
    // Of the segment that is read anew after a reconnection, more may be on disk than was asked for.
    return Math.max(0, Number(Atomics.load(followed.positions, 1) - position))
  },
  flushedTo,
  onState: listener => void followed.listeners.push(listener),
  ended: followed.ended.promise,
  stop,
})

/** Starts no thread before the first `follow`. `log` gets a line for what an operator should know. */
export const createArchiver = (log: (line: string) => void): Archiver => {
  const followers = new Map<number, Followed>()
  let lastNumber = 0

  const forget = (follower: number) => {
    const followed = followers.get(follower)
    if (!followed) return
    followers.delete(follower)
    for (const { reached } of followed.requests.values()) reached(false)
    followed.ended.resolve()
    followed.stopped.resolve()
  }

  const thread = createThread({
    isNeeded: () => followers.size > 0,
    greeting() {
      for (const followed of followers.values()) enter(followed, "connecting")
      return [...followers].flatMap(([follower, followed]) => introduce(follower, followed))
    },
    received(message) {
      if (message.kind === "log") return log(message.line)
      const followed = followers.get(message.follower)
      if (!followed) return
      if (message.kind === "state") enter(followed, message.state)
      else if (message.kind === "reached") followed.requests.get(message.request)?.reached(true)
      else if (message.kind === "ended") followed.ended.resolve()
      else forget(message.follower)
    },
    died(reason) {
      log(`the thread that archives the log has died: ${reason}`)
      for (const [follower, followed] of followers) {
        if (followed.stopping) forget(follower)
        else enter(followed, "failed")
      }
    },
  })

  const stop = async (follower: number, followed: Followed): Promise<void> => {
    if (!followed.stopping) {
      followed.stopping = true
      if (thread.isRunning()) thread.tell({ kind: "stop", follower })
      else forget(follower)
    }
    await followed.stopped.promise
  }

  const follow = (source: WalSource): WalFollower => {
    const follower = ++lastNumber
    const followed = createFollowed(source)
    followers.set(follower, followed)
    // A thread that starts now is greeted with this one too.
    if (thread.isRunning()) thread.tell(followMessage(follower, followed))
    else thread.ensure()
    return toFollower(followed, {
      async flushedTo(lsn, timeoutMs) {
        const position = parseLsn(lsn)
        if (flushedPosition(followed) >= position) return true
        if (!followers.has(follower)) return false
        const request = ++lastNumber
        const answer = noteRequest(followed, request, position, timeoutMs)
        thread.tell({ kind: "await", follower, request, position })
        return answer
      },
      stop: () => stop(follower, followed),
    })
  }

  return {
    follow,
    async [Symbol.asyncDispose]() {
      await Promise.all([...followers].map(([follower, followed]) => stop(follower, followed)))
      await thread[Symbol.asyncDispose]()
    },
  }
}

import { PortError } from "../../../../port-error.ts"
import { formatLsn } from "./position.ts"
import type { ReplicationConnection, StreamEnd } from "./replication.ts"
import type { SegmentWriter } from "./segment-writer.ts"
import type { LogPlace } from "./start-plan.ts"

/** What may wait for the disk; more than that waits in the socket, and then in the server. */
const WAITING_BYTES_MAX = 1024 ** 2

/** Log on its way to disk. What comes while a write is under way goes together, in one write and one sync. */
interface WriteQueue {
  readonly flushed: bigint
  readonly isFull: boolean
  /** Takes a copy. Refuses what does not follow on what came before. */
  add(position: bigint, log: Buffer): void
  /** Settles when everything added is on disk, or writing has failed. */
  drained(): Promise<void>
}

const createWriteQueue = (options: {
  readonly writer: SegmentWriter
  readonly start: bigint
  readonly onFlushed: (position: bigint) => void
  /** Nothing is written any more after this. */
  readonly onFailed: (error: unknown) => void
}): WriteQueue => {
  const { writer, start, onFlushed, onFailed } = options
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let received = start
  let flushed = start
  let writing: Promise<void> | undefined
  let isBroken = false

  const fail = (error: unknown) => {
    isBroken = true
    onFailed(error)
  }

  const write = async (): Promise<void> => {
    while (waitingBytes > 0) {
      const [batch, bytes] = [waiting, waitingBytes]
      waiting = []
      waitingBytes = 0
      await writer.append(flushed, batch)
      flushed += BigInt(bytes)
      onFlushed(flushed)
    }
    writing = undefined
  }

  return {
    get flushed() {
      return flushed
    },
    get isFull() {
      return waitingBytes > WAITING_BYTES_MAX
    },
    add(position, log) {
      if (isBroken) return
      if (position !== received) {
        const message = `the server went on at ${formatLsn(position)}, not at ${formatLsn(received)}`
        return fail(new PortError("unavailable", message))
      }
      waiting.push(Buffer.from(log))
      waitingBytes += log.length
      received += BigInt(log.length)
      // After the messages that came in the same read, so that they are one write.
      writing ??= Promise.resolve().then(write).catch(fail)
    },
    drained: async () => writing,
  }
}

/**
 * Takes the log of a timeline from a place on, writes it and confirms what is on disk. Settles when the timeline or the
 * stream has ended and everything received is on disk; rejects when the connection or a write failed.
 */
export const receiveTimeline = async (options: {
  readonly connection: ReplicationConnection
  readonly writer: SegmentWriter
  readonly from: LogPlace
  /** Where the server's log ended before the stream began. */
  readonly serverEnd: bigint
  readonly onFlushed: (position: bigint) => void
  /** Where the server's log ends by now. */
  readonly onServerEnd: (position: bigint) => void
  /** Called once: everything that the server had on its disk is on ours. */
  readonly onCaughtUp: () => void
}): Promise<StreamEnd> => {
  const { connection, writer, from, onFlushed, onServerEnd, onCaughtUp } = options
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  let { serverEnd } = options
  let isCaughtUp = false
  let isPaused = false

  const noteProgress = () => {
    if (isCaughtUp || queue.flushed < serverEnd) return
    isCaughtUp = true
    onCaughtUp()
  }
  const queue = createWriteQueue({
    ...{ writer, start: from.position, onFailed: failed.reject },
    onFlushed(position) {
      stream.confirm(position)
      onFlushed(position)
      noteProgress()
      if (isPaused) stream.resume()
      isPaused = false
    },
  })
  const stream = connection.stream(from.timeline, from.position, {
    received(position, log, end) {
      serverEnd = end
      onServerEnd(end)
      queue.add(position, log)
      if (!queue.isFull || isPaused) return
      isPaused = true
      stream.pause()
    },
    heard(wantsReply) {
      if (wantsReply) stream.confirm(queue.flushed)
      noteProgress()
    },
  })
  void stream.timelineOver.then(async () => {
    await queue.drained()
    stream.acceptEnd()
  })
  try {
    return await Promise.race([stream.ended, failed.promise])
  } finally {
    await queue.drained()
  }
}

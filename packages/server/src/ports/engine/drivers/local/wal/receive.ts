import { PortError } from "../../../../port-error.ts"
import { formatLsn } from "./position.ts"
import type { LogStream, ReplicationConnection, StreamEnd, StreamReader } from "./replication.ts"
import type { SegmentWriter } from "./segment-writer.ts"
import type { LogPlace } from "./start-plan.ts"

/** What may wait for the disk; more than that waits in the socket, and then in the server. */
const WAITING_BYTES_MAX = 1024 ** 2

/** Log that has come and is not on disk yet, and what is known of the server's end. */
interface Progress {
  waiting: Buffer[]
  waitingBytes: number
  received: bigint
  flushed: bigint
  serverEnd: bigint
  paused: boolean
}

/**
 * Takes the log of a timeline from a place on, writes it and confirms what is on disk. Messages that come while a write
 * is under way go to disk together, in one write and one sync. Settles when the timeline or the stream has ended and
 * everything received is on disk; rejects when the connection or a write failed.
 */
export const receiveTimeline = async (options: {
  readonly connection: ReplicationConnection
  readonly writer: SegmentWriter
  readonly from: LogPlace
  /** Where the server's log ended before the stream began. */
  readonly serverEnd: bigint
  readonly onFlushed: (position: bigint) => void
  /** Called once: everything that the server had on its disk is on ours. */
  readonly onCaughtUp: () => void
}): Promise<StreamEnd> => {
  const { connection, writer, from, onFlushed, onCaughtUp } = options
  const start = from.position
  const progress: Progress = {
    serverEnd: options.serverEnd,
    ...{ waiting: [], waitingBytes: 0, received: start, flushed: start, paused: false },
  }
  const failed = Promise.withResolvers<never>()
  failed.promise.catch(() => undefined)
  let writing: Promise<void> | undefined
  let caughtUp = false

  const noteProgress = () => {
    if (caughtUp || progress.flushed < progress.serverEnd) return
    caughtUp = true
    onCaughtUp()
  }

  const write = async (): Promise<void> => {
    while (progress.waitingBytes > 0) {
      const { waiting, waitingBytes } = progress
      progress.waiting = []
      progress.waitingBytes = 0
      await writer.append(progress.flushed, waiting)
      progress.flushed += BigInt(waitingBytes)
      stream.confirm(progress.flushed)
      onFlushed(progress.flushed)
      noteProgress()
      if (progress.paused) stream.resume()
      progress.paused = false
    }
  }

  const startWriting = () => {
    // After the messages that came in the same read, so that they are one write.
    writing ??= Promise.resolve()
      .then(write)
      .catch(failed.reject)
      .finally(() => {
        writing = undefined
      })
  }

  const reader: StreamReader = {
    received(position, log, serverEnd) {
      if (position !== progress.received) {
        const expected = formatLsn(progress.received)
        failed.reject(
          new PortError("unavailable", `the server went on at ${formatLsn(position)}, not at ${expected}`),
        )
        return
      }
      progress.serverEnd = serverEnd
      progress.waiting.push(Buffer.from(log))
      progress.waitingBytes += log.length
      progress.received += BigInt(log.length)
      if (progress.waitingBytes > WAITING_BYTES_MAX && !progress.paused) {
        progress.paused = true
        stream.pause()
      }
      startWriting()
    },
    heard(wantsReply) {
      if (wantsReply) stream.confirm(progress.flushed)
      noteProgress()
    },
  }

  const stream: LogStream = connection.stream(from.timeline, start, reader)
  void stream.timelineOver.then(async () => {
    await writing
    stream.acceptEnd()
  })
  try {
    return await Promise.race([stream.ended, failed.promise])
  } finally {
    await writing
  }
}

/** The thread that archives the log of all volumes, so that the platform's own work does not delay commits. */
import { parentPort } from "node:worker_threads"
import { followSource } from "./following.ts"
import type { FromReceiver, ToReceiver } from "./messages.ts"

interface Followed {
  readonly positions: BigInt64Array
  readonly waiting: Map<number, bigint>
  stop(): Promise<void>
}

if (!parentPort) throw new Error("the receiver runs as a thread")
const port = parentPort
const followed = new Map<number, Followed>()
const tell = (message: FromReceiver) => port.postMessage(message)

const follow = ({ follower, source, positions }: ToReceiver & { kind: "follow" }) => {
  const waiting = new Map<number, bigint>()
  let timeline = 0
  const { stop } = followSource(source, {
    state: state => tell({ kind: "state", follower, state }),
    ended: () => tell({ kind: "ended", follower }),
    log: line => tell({ kind: "log", line: `${source.volumeId}: ${line}` }),
    serverEnd: position => void Atomics.store(positions, 1, position),
    flushed(on, position) {
      // A connection begins again at the beginning of a segment, of which more may be on disk already.
      if (on === timeline && position <= Atomics.load(positions, 0)) return
      timeline = on
      Atomics.store(positions, 0, position)
      for (const [request, awaited] of waiting) {
        if (awaited > position) continue
        waiting.delete(request)
        tell({ kind: "reached", follower, request })
      }
    },
  })
  followed.set(follower, { positions, waiting, stop })
}

port.on("message", (message: ToReceiver) => {
  const { kind, follower } = message
  if (kind === "follow") return follow(message)
  const known = followed.get(follower)
  if (kind === "await") {
    if (!known) return
    if (Atomics.load(known.positions, 0) >= message.position)
      return tell({ kind: "reached", follower, request: message.request })
    known.waiting.set(message.request, message.position)
    return
  }
  followed.delete(follower)
  void (known?.stop() ?? Promise.resolve()).then(() => tell({ kind: "stopped", follower }))
})

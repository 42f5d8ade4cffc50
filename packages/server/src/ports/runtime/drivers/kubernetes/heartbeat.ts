/** Where frames for the agent are written, with a word now and then that says that the platform is there still. */
import { Writable } from "node:stream"
import { frameOf } from "../../guest/frames.ts"
import { HEARTBEAT_MS } from "./manifests.ts"

/** A type that agents do not know, and so pass over. */
const ALIVE = 0

/** Each chunk is a whole frame or several, so nothing comes between parts of one. */
export const withHeartbeat = (input: Writable): Writable => {
  const beat = () => {
    if (!input.destroyed && input.writableLength === 0) input.write(frameOf(ALIVE, 0))
  }
  const timer = setInterval(beat, HEARTBEAT_MS)
  timer.unref()
  const kept = new Writable({
    highWaterMark: input.writableHighWaterMark,
    write: (chunk: Buffer, _encoding, done) => void input.write(chunk, done),
    destroy(error, done) {
      clearInterval(timer)
      input.destroy()
      done(error)
    },
  })
  input.on("close", () => kept.destroy())
  return kept.on("error", () => undefined)
}

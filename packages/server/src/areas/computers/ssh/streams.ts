/** Bytes between ssh channels and workloads, with back-pressure both ways. */
import type { Readable, Writable } from "node:stream"
import type { ServerChannel } from "ssh2"
import type { Output, Write } from "./channel-writer.ts"

/** Resolves when the source has ended, however it did. */
export const sendAll = async (source: Readable, output: Output, write: Write): Promise<void> => {
  try {
    for await (const chunk of source) await write(output, chunk as Buffer)
  } catch {
    // How it ended is told by whoever wrote it.
  }
}

/** The client's bytes, and their end. What nobody takes any more is dropped. */
export const receiveAll = (channel: ServerChannel, target: Writable, gone: AbortSignal): void => {
  const drop = () => void channel.resume()
  target.on("error", () => undefined)
  target.once("close", drop)
  channel.on("data", (chunk: Buffer) => {
    if (gone.aborted || target.destroyed || target.writableEnded || target.write(chunk)) return
    channel.pause()
    target.once("drain", drop)
  })
  channel.once("end", () => target.end())
  gone.addEventListener("abort", () => {
    drop()
    target.end()
  })
}

/** What goes out over one ssh channel. */
import type { Socket } from "node:net"
import type { ServerChannel } from "ssh2"

export type Output = "stdout" | "stderr"

/** Resolves when the client has room for more; at once when the channel is closed, which drops what is written. */
export type Write = (output: Output, chunk: Buffer) => Promise<void>

/** Makes writers wait for a connection whose client reads less than its channels would let us send. */
export const createTransport = (socket: Socket) => {
  let waiting: PromiseWithResolvers<void> | undefined
  const release = () => {
    waiting?.resolve()
    waiting = undefined
  }
  socket.on("drain", release).on("close", release)
  return {
    async ready(): Promise<void> {
      if (!socket.writableNeedDrain || socket.destroyed) return
      waiting ??= Promise.withResolvers()
      await waiting.promise
    },
  }
}

export type Transport = ReturnType<typeof createTransport>

/** What ssh2 1.17 keeps of a write that waited, and would send again when the other output waits next. */
interface Waited {
  _chunk?: Buffer | undefined
  _chunkErr?: Buffer | undefined
  _chunkcb?: unknown
  _chunkcbErr?: unknown
}

const forgetWaited = (channel: ServerChannel & Waited): void => {
  channel._chunk = undefined
  channel._chunkErr = undefined
  channel._chunkcb = undefined
  channel._chunkcbErr = undefined
}

/** One write at a time: when both outputs wait for the client, ssh2 wakes only one of them. */
export const createWriter = (channel: ServerChannel, transport: Transport, gone: AbortSignal): Write => {
  let last = Promise.resolve()
  let release: (() => void) | undefined
  gone.addEventListener("abort", () => release?.())
  // One that closes while somebody writes is told by the signal.
  channel.on("error", () => undefined)
  channel.stderr.on("error", () => undefined)

  const write = async (output: Output, chunk: Buffer): Promise<void> => {
    await transport.ready()
    if (gone.aborted) return
    await new Promise<void>(resolve => {
      release = resolve
      const target = output === "stdout" ? channel : channel.stderr
      target.write(chunk, () => resolve())
    })
    forgetWaited(channel)
  }
  return (output, chunk) => {
    last = last.then(() => write(output, chunk))
    return last
  }
}

import type { Duplex } from "node:stream"

/**
 * Takes exactly so many bytes from a paused stream and leaves the rest in it; undefined when it ends, fails or is
 * destroyed before they are there.
 */
export const readBytes = (stream: Duplex, bytes: number): Promise<Buffer | undefined> =>
  new Promise(resolve => {
    const settle = (taken: Buffer | undefined) => {
      stream.off("readable", attempt)
      stream.off("end", fail)
      stream.off("error", fail)
      stream.off("close", fail)
      resolve(taken)
    }
    const fail = () => settle(undefined)
    const attempt = () => {
      const taken: Buffer | null = stream.read(bytes)
      // At its end a stream hands out what it has, were it too little.
      if (taken !== null) settle(taken.length === bytes ? taken : undefined)
    }
    if (stream.destroyed || stream.readableEnded) return resolve(undefined)
    stream.on("readable", attempt)
    stream.on("end", fail)
    stream.on("error", fail)
    stream.on("close", fail)
    attempt()
  })
